"""`python -m export.train train|eval`: make a voice from nothing, or measure one."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import torch

from export.exporter import export_checkpoint
from export.train import measure, pipeline


def seconds(text: str) -> float:
    """A time such as `90s`, `25m`, `1.5h` in seconds."""
    found = re.fullmatch(r"([0-9.]+)\s*([smh]?)", text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 25m or 1.5h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "": 1}[found[2]]


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(prog="export.train", description="Train or measure a default voice.")
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="corpus, teacher, codec, codes, talker, checkpoint, bundle")
    train.add_argument("--budget", type=seconds, default=3600.0, help="time for all stages: 10m, 2h (default 1h)")
    train.add_argument(
        "--out", type=Path, default=Path(".cache/train_voice"), help="working folder, resumed if it exists"
    )
    train.add_argument("--speakers", default="anna,robert", help="comma-separated, of anna and robert")
    train.add_argument("--hours", type=float, default=20.0, help="most speech to synthesise")
    train.add_argument("--seed", type=int, default=1)
    train.add_argument("--threads", type=int, default=0, help="CPU threads (default: all)")
    check = commands.add_parser("eval", help="words right, ends, durations on unseen sentences")
    check.add_argument("--checkpoint", type=Path, default=Path("engines/voices/default/checkpoint"))
    check.add_argument("--speakers", default="", help="comma-separated (default: all of the checkpoint)")
    check.add_argument("--every", type=int, default=1, help="measure every n-th sentence only")
    check.add_argument("--open", action="store_true", help="also with the recogniser's own large vocabulary (slow)")
    check.add_argument("--temperature", type=float, default=0.0)
    check.add_argument("--penalty", type=float, default=1.0)
    check.add_argument("--auto", action="store_true", help="no language row")
    check.add_argument("--wavs", type=Path, default=None, help="keep the waveforms here")
    check.add_argument("--threads", type=int, default=0)
    chosen = parser.parse_args()
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    if chosen.command == "train":
        speakers = tuple(chosen.speakers.split(","))
        job = pipeline.Job(chosen.out, chosen.budget, speakers, chosen.seed, longest_hours=chosen.hours)
        directory = pipeline.run(job)
        export_checkpoint(directory, chosen.out / "bundle")
        print(f"bundle: {chosen.out / 'bundle'}")
    else:
        wishes = measure.Wishes(
            tuple(filter(None, chosen.speakers.split(","))), chosen.every, chosen.open, chosen.temperature,
            chosen.penalty, None if chosen.auto else "english", chosen.wavs,
        )  # fmt: skip
        print(measure.run(chosen.checkpoint, wishes))


if __name__ == "__main__":
    main()
