"""Where log lines go decides what they look like."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from structlog.testing import capture_logs

from app import logs
from app.context import ContextReport
from app.daemon import Daemon
from app.listening import Listening
from app.protocol_errors import ProtocolError
from engines.contract import End
from tests.daemon_rig import ServedFakeEngine, play, serving, settings

REPOSITORY = Path(__file__).parent.parent
SAY = """
import sys
import structlog
from app import logs
from app.context import ContextReport
from app.daemon import Daemon
from app.listening import Listening
from app.protocol_errors import ProtocolError
from engines.contract import End
from app.server_config import LogConfig
logs.set_up(LogConfig(format=sys.argv[1], level=sys.argv[2]))
structlog.stdlib.get_logger("speakd").warning("hello")
"""


def line(file: Path, stream: str, form: str = "auto", level: str = "info") -> str:
    """What is written into a file where JOURNAL_STREAM says this."""
    with file.open("w") as stderr:
        subprocess.run(
            [sys.executable, "-c", SAY, form, level], cwd=REPOSITORY, stderr=stderr, check=True, timeout=60,
            env={**os.environ, "JOURNAL_STREAM": stream},
        )  # fmt: skip
    return file.read_text()


def test_only_the_journal_gets_priorities_and_no_time(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.touch()
    place = file.stat()
    priority, said = line(file, f"{place.st_dev}:{place.st_ino}").split(">")
    assert priority == "<4"
    assert json.loads(said) == {"event": "hello", "level": "warning"}
    said = line(file, f"{place.st_dev}:{place.st_ino + 1}")
    assert json.loads(said).keys() == {"event", "level", "timestamp"}


def test_people_get_words_where_they_wish_so(tmp_path: Path) -> None:
    said = line(tmp_path / "log", "", "console")
    assert "[warning" in said
    assert said.rstrip().endswith("hello")


def test_what_is_below_the_level_is_not_said(tmp_path: Path) -> None:
    assert line(tmp_path / "log", "", level="error") == ""
    assert line(tmp_path / "log", "", level="warning") != ""


def test_a_context_that_failed_is_a_warning_that_says_why_and_its_text_is_told_only_when_wished() -> None:
    report = ContextReport(
        outcome=End.ERROR, error=ProtocolError("engine_failed", "the device coughed", "a"), voice="ada",
        encoding="wav", segments=1, characters=2, frames=3, audio_ms=240.4, first_audio_ms=None, engine_ms=12.34,
        wall_ms=300.6, listening=Listening(lambda: 0.0),
    )  # fmt: skip
    well = dataclasses.replace(report, outcome=End.END, error=None, first_audio_ms=20.26)
    with capture_logs() as log:
        logs.log_context("s", "a", report, None)
        logs.log_context("s", "b", well, "Hello")
    failed, spoken = log
    assert (failed["log_level"], failed["code"]) == ("warning", "engine_failed")
    assert (failed["error"], failed["first_audio_ms"]) == ("the device coughed", None)
    assert "text" not in failed
    assert (spoken["log_level"], spoken["text"], spoken["first_audio_ms"]) == ("info", "Hello", 20.3)
    assert not {"code", "error"} & spoken.keys()


def test_statistics_are_told_at_any_time_while_the_voices_are_being_opened_too() -> None:
    async def early(daemon: Daemon) -> None:
        daemon.write_statistics()

    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine(busy_s=0.12345), meanwhile=early) as daemon:
            daemon.write_statistics()

    with capture_logs() as log:
        play(scenario())
    opening, open_ = (entry for entry in log if entry["event"] == "statistics")
    assert (opening["sockets"], opening["engines"]) == (0, {})
    assert open_["engines"]["fake"]["busy_s"] == 0.123
