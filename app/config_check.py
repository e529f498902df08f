"""What a configuration asks for, held against itself and this machine before anything is begun.

Purpose: refuse bounds that do not fit each other, a token, a certificate or a voice that is not there. Knows: which
settings belong together. Does not know: engines, sockets.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from app import security
from app.config import Config, ConfigError
from app.services import bundles_of
from app.voices import VoiceModel, VoiceTable
from engines.voice_files import voice_info


def check_sizes(config: Config) -> None:
    """Bounds that concern several settings. Raises `ConfigError`."""
    for name, pool in (("text", config.text), ("audio", config.audio)):
        if pool.max_waiting < config.server.max_contexts:
            raise ConfigError(
                f"{name}.max_waiting is {pool.max_waiting}, less than server.max_contexts "
                f"({config.server.max_contexts}): contexts under way could be refused; raise it"
            )


def check(config: Config) -> None:
    """All that can be told from the file and what it names, but the voices. Raises `ConfigError`."""
    check_sizes(config)
    security.open_guard(config)
    security.open_tls(config)


def check_voices(config: Config) -> None:
    """Whether its voices are there, by what their bundles say of themselves. Raises `SpeechError`."""
    models = [
        SimpleNamespace(info=voice_info(Path(bundle))) for bundle in bundles_of(config)
    ]  # the table reads no more
    VoiceTable(cast("list[VoiceModel]", models), config.voice.speaker, config.voice.language)
