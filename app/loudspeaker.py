"""One voice at a time on one loudspeaker.

Purpose: a line in front of a sound device, shared by all `speak` of a user: who has its place plays, the others wait;
`now` asks the one who plays to end, and goes before those who wait. Places are locks on files, so they end with the
process, however it ends. Knows: file locks, signals. Does not know: sound.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from app.sink import SinkError
from app.threads import in_thread

_TRIES: Final = 100
_TRY_S: Final = 0.01
_NAME: Final = re.compile(r"[^\w.-]+")


class Loudspeaker:
    """The line in front of one device; `async with` waits for the place."""

    def __init__(self, device: str | None, *, now: bool, directory: Path | None = None) -> None:
        directory = directory or _directory()
        name = _NAME.sub("_", device or "default")[:80]
        self._stem = directory / f"speakd-{os.getuid()}-{name}"
        self._now = now
        self._asked = False
        self._files: list[IO[str]] = []

    async def __aenter__(self) -> Loudspeaker:
        await in_thread("line", self._wait)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def try_take(self) -> bool:
        """Take the place if nobody has it, else ask for it where that is wished; for those who cannot block."""
        if not self._files:
            self._files += [self._open("place"), self._open("urgent")]
        place, urgent = self._files
        try:
            fcntl.flock(urgent, (fcntl.LOCK_EX if self._now else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            if self._now and not self._asked:
                self._asked = True
                self._interrupt(place)
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not self._now:
                fcntl.flock(urgent, fcntl.LOCK_UN)
            return False
        self._sign(place, urgent)
        return True

    def leave(self) -> None:
        """Give the place to the next; idempotent."""
        for file in self._files:
            file.close()
        self._files.clear()

    def _wait(self) -> None:
        """Blocks until the place is ours."""
        place, urgent = self._open("place"), self._open("urgent")
        self._files += [place, urgent]
        if self._now:
            fcntl.flock(urgent, fcntl.LOCK_EX)
            self._interrupt(place)
            fcntl.flock(place, fcntl.LOCK_EX)
        else:
            with self._open("line") as line:
                fcntl.flock(line, fcntl.LOCK_EX)  # of those who wait for the place, only the first knocks
                self._knock(place, urgent)
        self._sign(place, urgent)

    @staticmethod
    def _sign(place: IO[str], urgent: IO[str]) -> None:
        """The place is ours: say so, and let the next urgent one knock."""
        fcntl.flock(urgent, fcntl.LOCK_UN)
        place.truncate(0)
        place.write(str(os.getpid()))
        place.flush()

    def _knock(self, place: IO[str], urgent: IO[str]) -> None:
        while True:
            fcntl.flock(place, fcntl.LOCK_EX)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(urgent, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            fcntl.flock(place, fcntl.LOCK_UN)  # somebody urgent is coming: after you
            fcntl.flock(urgent, fcntl.LOCK_SH)
            fcntl.flock(urgent, fcntl.LOCK_UN)

    def _interrupt(self, place: IO[str]) -> None:
        """Ask the one who plays to end, if there is one."""
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            place.seek(0)
            owner = place.read(20)
            place.seek(0)
            if owner:
                with contextlib.suppress(ValueError, ProcessLookupError, PermissionError):
                    os.kill(int(owner), signal.SIGTERM)
                return
            time.sleep(_TRY_S)  # it has its place, and is about to write its name down

    def _open(self, what: str) -> IO[str]:
        path = Path(f"{self._stem}-{what}.lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SinkError(
                f"cannot take a place in the line for the sound device, '{path}': {error.strerror}"
            ) from error
        return os.fdopen(descriptor, "r+", encoding="ascii")


def _directory() -> Path:
    """The user's own directory; another's, which `su` leaves in the environment, or one that is gone, is of no use."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(own if own and os.access(own, os.W_OK | os.X_OK) else tempfile.gettempdir())
