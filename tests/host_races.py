"""The host's side of `tests.stream_races`: what puts its threads in order, and what they do with shared memory.

Purpose: have the engine's threads hand on their clocks where one is meant to come after another (items in a ring, a
slot given back, a verdict; not that two happened to take one lock), watch every `SharedBlock`, and say what was found.
Knows: which calls hand something on. Does not know: streams.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from engines.cuda_memory import SharedBlock
from engines.ring import Ring
from engines.scheduler import Scheduler
from engines.utterance import LiveUtterance
from tests.stream_races import HOST, Clock, Races

_ORDERS: tuple[tuple[type, str, str], ...] = (
    (Ring, "write_nowait", "read_into"),
    (Scheduler, "admit", "seated"),
    (Scheduler, "leave", "admit"),
    (LiveUtterance, "judge", "again"),
    (LiveUtterance, "begin_again", "attempt"),
    (threading.Thread, "start", "run"),
    (threading.Thread, "run", "join"),
)
"""What was done before the first is done before what follows the second, of the same object."""


class Watched(np.ndarray[Any, Any]):
    """Memory that the host shares with a device, where it is seen what the host does with it; a view counts as read."""

    touched: Callable[[npt.NDArray[Any], bool], None] | None = None

    def __array_finalize__(self, made_of: object) -> None:
        self.touched = getattr(made_of, "touched", None)

    def __getitem__(self, key: Any) -> Any:
        return self._touch(key, writes=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._touch(key, writes=True)
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **named: Any) -> Any:
        plain = [each[...].view(np.ndarray) if isinstance(each, Watched) else each for each in inputs]
        for each in out:
            if isinstance(each, Watched):
                each._touch(..., writes=True)
        if out:
            named["out"] = tuple(np.asarray(each) for each in out)
        return getattr(ufunc, method)(*plain, **named)

    def fill(self, value: Any) -> None:
        self[...] = value

    def copy(self, *arguments: Any, **named: Any) -> Any:
        return self[...].view(np.ndarray).copy(*arguments, **named)

    def _touch(self, key: Any, *, writes: bool) -> Any:
        found = super().__getitem__(key)
        seen = found if isinstance(found, Watched) else self  # a number: it is somewhere in here
        if self.touched is not None and seen.size:
            self.touched(seen.view(np.ndarray), writes)
        return found


@contextmanager
def no_races() -> Iterator[list[str]]:
    """What devices made meanwhile find, which must be nothing in the end."""
    made, found = SharedBlock.__init__, list[str]()

    def init(self: SharedBlock, cuda: Any, *arguments: Any) -> None:
        made(self, cuda, *arguments)
        for name, array in self.arrays.items():
            watched = array.view(Watched)
            watched.touched = cuda.host_touches
            self.arrays[name] = watched

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Races, "found", found)
        patch.setattr(SharedBlock, "__init__", init)
        for kind, before, after in _ORDERS:
            channel = f"_{before}_{after}"
            patch.setattr(kind, before, _passing(kind.__dict__[before], channel, HOST.give))
            patch.setattr(kind, after, _passing(kind.__dict__[after], channel, HOST.take))
        yield found
    assert not found, f"{len(found)} races, the first of them: " + "; ".join(found[:5])


def _passing(member: Any, channel: str, passes: Callable[[Clock], None]) -> Any:
    """A method or property that hands a clock on, or takes it, before it does something and after."""
    if isinstance(member, property):
        return property(_passing(member.fget, channel, passes))

    @wraps(member)
    def passing(self: Any, *arguments: Any, **named: Any) -> Any:
        clock = vars(self).setdefault(channel, {})
        passes(clock)
        try:
            return member(self, *arguments, **named)
        finally:
            passes(clock)

    return passing
