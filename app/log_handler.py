"""Lines of the log on their way to stderr, which may be a pipe that nobody reads just now.

Purpose: `StderrHandler`: the event loop must not wait because a pager stands still, somebody pressed Ctrl-S, or the
journal hangs. Lines that stderr has no room for are kept, so many bytes of them, and go out before the next line that
finds room; beyond that they are counted, and their number is said. Knows: pipes, Python's logging. Does not know: what
lines look like.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import time
from collections import deque
from typing import Final, TextIO

_HELD_BYTES: Final = 1 << 20
_AT_ONCE: Final = 4096
"""What a pipe that has room takes without waiting (PIPE_BUF)."""
_LAST_S: Final = 0.2
"""For what is still held when the process ends."""


class StderrHandler(logging.Handler):
    """Writes to a stream's descriptor, and never waits but in `close`."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream: Final = stream
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._lost = 0
        self._descriptor: int | None = None
        self._room = select.poll()
        with contextlib.suppress(OSError, ValueError):  # a stream that a test put there
            self._descriptor = stream.fileno()
            self._room.register(self._descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or keep it; see `logging.Handler`."""
        try:
            line = self.format(record) + "\n"
        except Exception:
            self.handleError(record)
            return
        if self._descriptor is None:
            self.stream.write(line)
            return
        self._write(self._descriptor)
        if self._lost and not self._lines:
            lost, self._lost = self._lost, 0
            self._keep(self._about_lost(lost))
        self._keep(line)
        self._write(self._descriptor)

    def close(self) -> None:
        """Write what is held, for a moment."""
        until = time.monotonic() + _LAST_S
        with self.lock or contextlib.nullcontext():
            while self._lines and self._descriptor is not None and (left_s := until - time.monotonic()) > 0:
                self._write(self._descriptor, 1000.0 * left_s)
        super().close()

    def _keep(self, line: str) -> None:
        data = line.encode("utf-8", "backslashreplace")
        if self._lines and self._bytes + len(data) > _HELD_BYTES:
            self._lost += 1
            return
        self._lines.append(data)
        self._bytes += len(data)

    def _write(self, descriptor: int, patience_ms: float = 0.0) -> None:
        """What there is room for."""
        while self._lines and self._room.poll(patience_ms):
            line = self._lines.popleft()
            self._bytes -= len(line)
            try:
                rest = line[os.write(descriptor, line[:_AT_ONCE]) :]
            except BlockingIOError:  # whoever shares this pipe told it not to wait
                rest = line
            except OSError:  # a full disk, a reader that has left: this line is gone, and there is nowhere to say so
                continue
            if rest:
                self._lines.appendleft(rest)
                self._bytes += len(rest)
            if rest == line:
                return

    def _about_lost(self, lost: int) -> str:
        text = f"{lost} lines of this log were lost, since nobody took them"
        return self.format(logging.LogRecord("speakd", logging.WARNING, __file__, 0, text, None, None)) + "\n"
