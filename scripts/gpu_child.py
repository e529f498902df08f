"""A process that measures, and what `scripts/gpu_check` hears of it.

Purpose: start one, hand on each JSON line as it comes, end it at its limit, and never wait for what does not die: a
process inside a driver's call may ignore even SIGKILL. Does not know: what is measured. Needs Python 3.10 and nothing
else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

_FALL_S: Final = 2.0
"""To die when it is killed, and for the last it wrote to be read."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended."""

    code: int | None
    """Its exit code; None where it had to be stopped."""
    complaint: str
    """The last line it wrote to standard error."""

    @property
    def fault(self) -> str:
        """What to tell of an exit code that is not 0."""
        return f"exit code {self.code}: {self.complaint}"


def follow(words: Sequence[str], limit_s: float, hear: Callable[[dict[str, Any]], object], *, apart: bool) -> Ended:
    """Run a command for at most `limit_s` seconds; `hear` is called with each JSON object it prints on a line.

    `apart`: it gets a session of its own, and whatever it left running is killed with it. Raises `OSError` where it
    cannot be started. However this ends, the process was killed, and what it had printed was heard.
    """
    child = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=apart
    )
    assert child.stdout is not None
    assert child.stderr is not None
    complaints: deque[str] = deque(maxlen=200)
    readers = [
        threading.Thread(target=_read, args=(child.stdout, lambda lines: _hear(lines, hear)), daemon=True),
        threading.Thread(target=_read, args=(child.stderr, complaints.extend), daemon=True),
    ]
    code = None
    try:
        for reader in readers:
            reader.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(limit_s)
    finally:
        _kill(child, apart=apart)
        for reader in readers:
            if reader.is_alive():  # a signal's exception may come before it was started
                reader.join(_FALL_S)
    said = (text.strip() for text in reversed(list(complaints)))
    return Ended(code, next((text for text in said if text), "no word of why"))


def _kill(child: subprocess.Popen[str], *, apart: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if apart:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_FALL_S)


def _read(stream: IO[str], use: Callable[[Iterable[str]], object]) -> None:
    with stream:
        use(stream)


def _hear(lines: Iterable[str], hear: Callable[[dict[str, Any]], object]) -> None:
    for text in lines:
        try:
            row = json.loads(text)
        except ValueError:
            continue  # a library's own chatter
        if isinstance(row, dict):
            hear(row)
