"""How far a build of engines is, and how long it will still take.

Purpose: put the stages of a build, and the nested phases TensorRT tells of, into one share that only grows; estimate
the time left. Knows: shares and a clock. Does not know: TensorRT, terminals, service managers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from export.errors import StoppedError


@dataclass(frozen=True, slots=True)
class BuildState:
    """What is told to whoever watches."""

    stage: str
    fraction: float
    """Of the whole build, 0 to 1."""
    remaining_s: float
    guessed: bool
    """Whether `remaining_s` began as a guess, not from builds before this one."""


class BuildProgress:
    """One build. `advance` may be called from any thread."""

    def __init__(
        self,
        watch: Callable[[BuildState], None],
        stopping: Callable[[], bool],
        expected_s: float,
        *,
        guessed: bool,
        clock: Callable[[], float],
    ) -> None:
        self._watch, self._stopping, self._clock = watch, stopping, clock
        self._expected_s, self._guessed = expected_s, guessed
        self._began, self._stage, self._base, self._share, self._done = clock(), "", 0.0, 0.0, 0.0
        self._lock = threading.Lock()

    def begin(self, stage: str, share: float) -> None:
        """The last stage is complete; the next takes `share` of the whole. Raises `StoppedError`."""
        with self._lock:
            self._base, self._share, self._done, self._stage = self._base + self._share, share, 0.0, stage
        self._tell()
        if self._stopping():
            raise StoppedError

    def advance(self, done: float) -> bool:
        """So much of the stage is done, 0 to 1, never less than before; returns whether to go on."""
        with self._lock:
            self._done = min(max(self._done, done), 1.0)
        self._tell()
        return not self._stopping()

    def go_on(self, done: float) -> None:
        """As `advance`. Raises `StoppedError` where it says not to go on."""
        if not self.advance(done):
            raise StoppedError

    @property
    def elapsed_s(self) -> float:
        """Since the build began."""
        return self._clock() - self._began

    def _tell(self) -> None:
        fraction = min(self._base + self._share * self._done, 1.0)
        elapsed_s = self.elapsed_s  # shares say little of time: TensorRT's first steps are its shortest
        remaining_s = max(self._expected_s - elapsed_s, (1.0 - fraction) * elapsed_s)
        self._watch(BuildState(self._stage, fraction, remaining_s, self._guessed))


class Phases:
    """TensorRT's phases, each inside another, as one share that only grows. May be called from any thread."""

    def __init__(self) -> None:
        self._open: dict[str, _Phase] = {}
        self._lock = threading.Lock()
        self._most = 0.0

    def start(self, name: str, parent: str | None, steps: int) -> None:
        """A phase of so many steps begins."""
        with self._lock:
            self._open[name] = _Phase(parent or None, max(steps, 1))

    def step(self, name: str, step: int) -> float:
        """Step number `step`, from 0, is complete; returns the share of all."""
        with self._lock:
            if name in self._open:
                self._open[name].done = step + 1
            return self._share()

    def finish(self, name: str) -> float:
        """The phase is over, whether or not all its steps were told."""
        with self._lock:
            phase = self._open.get(name)
            if phase is not None:
                phase.done = phase.steps
            share = self._share()
            self._open.pop(name, None)
            return share

    def _share(self) -> float:
        roots = [name for name, phase in self._open.items() if phase.parent not in self._open]
        self._most = max([self._most, *(self._share_of(name) for name in roots)])
        return self._most

    def _share_of(self, name: str) -> float:
        phase = self._open[name]
        inside = max((self._share_of(child) for child in self._children(name)), default=0.0)
        return min((phase.done + inside) / phase.steps, 1.0)

    def _children(self, name: str) -> list[str]:
        return [child for child, phase in self._open.items() if phase.parent == name and child != name]


@dataclass(slots=True)
class _Phase:
    parent: str | None
    steps: int
    done: int = 0
