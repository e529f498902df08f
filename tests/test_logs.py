"""Where log lines go decides what they look like."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
SAY = """
import structlog
from app import logs
from app.server_config import LogConfig
logs.set_up(LogConfig())
structlog.stdlib.get_logger("speakd").warning("hello")
"""


def line(file: Path, stream: str) -> str:
    """What is written into a file where JOURNAL_STREAM says this."""
    with file.open("w") as stderr:
        subprocess.run(
            [sys.executable, "-c", SAY], cwd=REPOSITORY, stderr=stderr, check=True, timeout=60,
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
