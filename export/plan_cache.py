"""The directory of plans, as whoever builds one must treat it.

Purpose: one build at a time, finished plans renamed into place, leftovers and replaced plans removed, and what builds
teach each other kept: TensorRT's timing cache and the time they took.
Knows: files. Does not know: how engines are built; what a plan is stands in `engines.plan_files`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

import msgspec

from engines.plan_files import Plan, folder_stem, plans, plans_of_older_programs
from engines.plan_set import PlanKey
from export.errors import BuildError, StoppedError

_BUILDING: Final = ".building."
_OLD: Final = ".old."
_TIMING: Final = "timing."
_HISTORY: Final = "builds.json"
_FAILED: Final = "failed."
_KEPT_BUILDS: Final = 32
_LOOK_EVERY_S: Final = 0.1
GUESS_S: Final = 120.0
GUESS_S_PER_MB: Final = 0.3
"""A guess for a device that has not built anything yet, by the size of the checkpoint; no build was measured yet."""


class BuildRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A build that succeeded."""

    device: str
    tensorrt: str
    precision: str
    frame: str
    slots: int
    checkpoint_bytes: int
    seconds: float


class PlanCache:
    """A directory of plans, made when it is missing. Raises `BuildError` where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BuildError(
                f"cannot make the plan directory {folder} ({error.strerror}); choose another with --cache"
            ) from error

    @contextmanager
    def alone(self, waiting: Callable[[], None], stopping: Callable[[], bool]) -> Iterator[None]:
        """Nobody else builds here meanwhile; `waiting` is called where somebody does, until he is done.

        Raises `StoppedError` when it is to stop by then.
        """
        with (self.folder / ".lock").open("w") as file:
            if not _locked(file):
                waiting()
                while not _locked(file):  # a call that waits itself would go on waiting after Ctrl-C
                    if stopping():
                        raise StoppedError
                    time.sleep(_LOOK_EVERY_S)
            self._clean()
            yield

    @contextmanager
    def workshop(self) -> Iterator[Path]:
        """A directory for a plan in the making, gone afterwards unless it was published."""
        folder = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=self.folder))
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, made: Path, name: str) -> Path:
        """Rename a finished plan to its name, safely on the disk; one of that name that was there goes afterwards."""
        for path in (*made.iterdir(), made):
            _to_disk(path)
        target, old = self.folder / name, self.folder / f"{_OLD}{name}"
        if target.exists():
            target.rename(old)
        made.rename(target)
        _to_disk(self.folder)
        shutil.rmtree(old, ignore_errors=True)
        return target

    def remove_replaced(self, new: Plan) -> list[Path]:
        """Remove what a new plan of this machine replaces: plans of its voice of the same precision, and those that
        nothing here can load any more. Plans of other voices and other precisions stay, and so does what is known of
        their failures. Returns what was removed."""
        gone = list(plans_of_older_programs(self.folder))
        for plan in plans(self.folder):
            same_voice = new.about.voice == plan.about.voice or new.about.key.bundle == plan.about.key.bundle
            loadable = msgspec.structs.replace(plan.about.key, precision=new.about.key.precision) == new.about.key
            other = loadable and plan.about.key.precision != new.about.key.precision
            if same_voice and not other and plan.folder != new.folder:
                gone.append(plan.folder)
        for folder in gone:
            shutil.rmtree(folder, ignore_errors=True)
        stale = [path for path in self.folder.glob(f"{_TIMING}*") if path != self.timing_file(new.about.key)]
        for path in (*stale, *self.folder.glob(f"{_FAILED}{folder_stem(new.about.key)}*")):
            path.unlink(missing_ok=True)
        return gone

    def failure(self, name: str) -> str | None:
        """Why the last build of a plan of this name failed, if it did."""
        try:
            return self.failure_file(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def failure_file(self, name: str) -> Path:
        """Where that is written."""
        return self.folder / f"{_FAILED}{name}"

    def remember_failure(self, name: str, reason: str) -> None:
        """For builders that nobody watches: what failed once is not tried at every start."""
        _replace(self.failure_file(name), reason.encode())

    def timing_file(self, key: PlanKey) -> Path:
        """Where TensorRT's timings of this library on this device are kept."""
        device = hashlib.sha256(key.device.encode()).hexdigest()[:8]
        return self.folder / f"{_TIMING}{key.tensorrt}-{key.architecture}-{device}"

    def record(self, built: BuildRecord) -> None:
        """Remember how long a build took."""
        kept = [*self._history(), built][-_KEPT_BUILDS:]
        _replace(self.folder / _HISTORY, msgspec.json.encode(kept))

    def expected_s(self, order: BuildRecord) -> tuple[float, bool]:
        """Seconds a build like `order` (its own are not read) will take, and whether that is a mere guess."""
        alike = [one for one in self._history() if one.device == order.device]
        if not alike:
            return GUESS_S + GUESS_S_PER_MB * order.checkpoint_bytes / 1e6, True

        def likeness(one: BuildRecord) -> tuple[bool, bool, bool]:
            return one.frame == order.frame, one.precision == order.precision, one.tensorrt == order.tensorrt

        best = max(reversed(alike), key=likeness)
        return best.seconds * max(order.checkpoint_bytes, 1) / max(best.checkpoint_bytes, 1), False

    def _history(self) -> list[BuildRecord]:
        try:
            return msgspec.json.decode((self.folder / _HISTORY).read_bytes(), type=list[BuildRecord])
        except (OSError, ValueError):  # also of what is no UTF-8
            return []

    def _clean(self) -> None:
        """Nobody else builds now, so unfinished directories belong to builds that died."""
        for path in self.folder.glob(f"{_OLD}*"):
            whole = path.with_name(path.name.removeprefix(_OLD))
            if not whole.exists():  # it died between two renames
                path.rename(whole)
        for path in self.folder.iterdir():
            if path.name.startswith((_BUILDING, _OLD)):
                shutil.rmtree(path, ignore_errors=True)


def _locked(file: TextIO) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replace(path: Path, content: bytes) -> None:
    """Best effort: what is lost here is an estimate."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(OSError):
        aside.write_bytes(content)
        aside.replace(path)
