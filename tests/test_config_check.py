"""Bounds and voices of a configuration, before anything is begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.config import Config, ConfigError
from app.config_check import check_sizes, check_voices
from engines.errors import SpeechError


def test_sizes_that_do_not_fit_are_named() -> None:
    def broken(**sections: Any) -> Config:
        return msgspec.convert(sections, Config)

    with pytest.raises(ConfigError, match=r"audio\.max_waiting is 3.*raise it"):
        check_sizes(broken(audio={"max_waiting": 3}))
    check_sizes(Config())


def test_a_voice_is_looked_for_among_those_that_are_there(tiny_bundle: Path) -> None:
    def naming(**voice: str) -> Config:
        return msgspec.convert({"voice": {"bundle": str(tiny_bundle), **voice}}, Config)

    check_voices(naming())
    check_voices(naming(language="english"))
    for wrong in ({"language": "klingon"}, {"speaker": "nobody"}, {"bundle": "/nowhere"}):
        with pytest.raises(SpeechError, match="|".join(wrong.values())):
            check_voices(naming(**wrong))
