"""The log's last step: a stderr that nobody reads holds nobody up, and takes what it can."""

from __future__ import annotations

import logging
import os
import pty
import termios
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from app.log_handler import StderrHandler

PIPE_BYTES = 1 << 16
LINE = "x" * 99


@dataclass
class Pipe:
    """One with a log that writes into it."""

    reader: int
    writer: int
    handler: StderrHandler

    def log(self, text: str) -> None:
        self.handler.handle(logging.LogRecord("speakd", logging.INFO, __file__, 0, text, None, None))

    def fill(self) -> None:
        os.write(self.writer, b"-" * (PIPE_BYTES - 1) + b"\n")

    def read(self) -> list[str]:
        return os.read(self.reader, 1 << 20).decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "w") as stream:
        handler = StderrHandler(stream)
        yield Pipe(reader, writer, handler)
        handler.close()


def test_a_line_is_there_at_once(pipe: Pipe) -> None:
    pipe.log("hello")
    assert pipe.read() == ["hello"]


def test_lines_that_find_no_room_go_out_before_the_next_that_does(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("one")
    pipe.log("two")
    assert pipe.read() == ["-" * (PIPE_BYTES - 1)]
    pipe.log("three")
    assert pipe.read() == ["one", "two", "three"]


def test_what_is_kept_is_bounded_and_what_is_lost_is_counted(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.log_handler._HELD_BYTES", 10 * 100)
    pipe.fill()
    for _ in range(15):
        pipe.log(LINE)
    pipe.read()
    pipe.log("again")
    assert pipe.read() == [LINE] * 10 + ["5 lines of this log were lost, since nobody took them", "again"]
    pipe.log("and on")
    assert pipe.read() == ["and on"]


def test_a_line_longer_than_the_pipe_waits_for_its_reader_in_pieces(pipe: Pipe) -> None:
    long = "y" * 3 * PIPE_BYTES
    pipe.log(long)
    taken = pipe.read()[0]
    assert len(taken) == PIPE_BYTES
    while len(taken) < len(long):
        pipe.log("next")
        taken += pipe.read()[0]
    assert taken == long


def test_what_is_held_at_the_end_is_written_if_somebody_reads(pipe: Pipe) -> None:
    pipe.fill()
    pipe.log("last")
    assert pipe.read() == ["-" * (PIPE_BYTES - 1)]
    pipe.handler.close()
    assert pipe.read() == ["last"]


def test_a_reader_that_left_is_no_trouble(pipe: Pipe) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, pipe.reader)  # the pipe's end is closed, its number lives on for the fixture
    os.close(null)
    pipe.log("nobody hears this")
    pipe.log("nor this")


def test_a_terminal_that_stands_still_holds_nobody_up() -> None:
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", buffering=0) as screen, os.fdopen(slave, "w") as terminal:
        handler = StderrHandler(terminal)
        termios.tcflow(slave, termios.TCOOFF)  # Ctrl-S
        for text in ("one", "two"):
            handler.handle(logging.LogRecord("speakd", logging.INFO, __file__, 0, text, None, None))
        termios.tcflow(slave, termios.TCOON)
        handler.close()
        shown = b""
        while len(shown.splitlines()) < 2 or not shown.endswith(b"\n"):
            shown += screen.read(1 << 10)
        assert shown.split() == [b"one", b"two"]
