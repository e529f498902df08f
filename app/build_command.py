"""`speakd build`: TensorRT plans for a voice, as the configuration wants them.

Purpose: from the configuration to the command line of `python -m export build`, which is a program of its own: it takes
much memory and may die of it, and nothing of it is needed to serve. Knows: that command's arguments. Does not know: how
plans are built.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from app.children import ROOT
from app.config import Config, load_config

_EXPORT: Final = (sys.executable, "-m", "export")


def build_words(config: Config, bundle: str) -> list[str]:
    """The command that builds the plan a daemon of this configuration wants for a bundle; to be begun in `ROOT`."""
    engine = config.engine
    return [
        *_EXPORT, "build", bundle, "--precision", engine.precision, "--slots", str(config.server.slots),
        "--positions", str(engine.positions), "--prefill-rows", str(engine.prefill_rows),
        "--codec-frames", str(engine.codec_chunk_frames), *_cache(config),
    ]  # fmt: skip


def run(arguments: Sequence[str]) -> NoReturn:
    """Become that program. Raises `ConfigError`."""
    parser = argparse.ArgumentParser(
        prog="speakd build",
        description="Build TensorRT engines for a voice on this device, or list those that are there. What is not said"
        " comes from the configuration, so that the daemon finds what it wants.",
        epilog="Further options are passed on: see `python -m export build --help`.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="the voice (default: [voice] bundle)")
    parser.add_argument("--checkpoint", type=Path, metavar="DIR", help="official checkpoint the bundle was made from")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="directory of plans (default: [engine] plans)")
    parser.add_argument("--list", action="store_true", help="show the plans that are there, and build nothing")
    options, further = parser.parse_known_args(arguments)
    config = load_config(options.config)
    bundle = str(options.bundle.resolve()) if options.bundle else ""
    if options.list:
        words = [*_EXPORT, "build", "--list", *([bundle] if bundle else []), *_cache(config)]
    else:
        words = build_words(config, bundle or config.voice.bundle)
    for name, place in (("--checkpoint", options.checkpoint), ("--cache", options.cache)):
        if place is not None:
            words += [name, str(place.resolve())]
    os.chdir(ROOT)
    os.execv(words[0], [*words, *further])


def _cache(config: Config) -> list[str]:
    """Where plans lie, if the configuration says."""
    return ["--cache", config.engine.plans] if config.engine.plans else []
