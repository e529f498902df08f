"""Who touches which bytes in no order: a detector of races beside the stand-in for a GPU.

Purpose: keep a clock of every stream and every thread, hand it on where CUDA puts one thing before another, remember
who last read and who last wrote which bytes, and tell of every two that conflict while neither comes before the other,
whichever happened to be first. Knows: vector clocks. Does not know: what the memory holds, when work is really done,
what orders the host's threads (`tests.host_races`).
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import defaultdict
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

_GRAIN = 4
"""Bytes that are not told apart: the narrowest thing that anybody hands on by itself has as many."""
Clock = dict[int, int]
"""By actor (a stream or a thread), how much of what it did comes before."""
Times = npt.NDArray[np.int32]
"""When each grain of a buffer was last read, or written, by the clock of whoever did."""
_ACTORS = itertools.count()
_LOCK = threading.Lock()


class Region(NamedTuple):
    """Bytes: rows `pitch` apart, in blocks `block_pitch` apart."""

    start: int
    width: int
    rows: int = 1
    pitch: int = 0
    blocks: int = 1
    block_pitch: int = 0

    @property
    def last(self) -> int:
        """Where the last row begins."""
        return self.start + (self.rows - 1) * self.pitch + (self.blocks - 1) * self.block_pitch


class Moment(NamedTuple):
    """Something that is done, and what comes before it."""

    actor: int
    clock: Clock
    what: str


class _Host(threading.local):
    """The present thread."""

    def __init__(self) -> None:
        self.actor = next(_ACTORS)
        self.clock: Clock = {self.actor: 1}

    def take(self, clock: Clock) -> None:
        with _LOCK:
            _join(self.clock, clock)

    def give(self, clock: Clock) -> None:
        with _LOCK:
            _join(clock, self.clock)
        self.clock[self.actor] += 1


HOST = _Host()


class Races:
    """Of one device, which lets one thread at a time put something on a stream."""

    found: ClassVar[list[str] | None] = None
    """By all devices; None where nobody looks."""

    def __init__(self) -> None:
        self._streams: dict[int, tuple[int, Clock]] = {}
        self._events: dict[int, Clock] = defaultdict(dict)
        self._buffers: dict[int, tuple[int, dict[tuple[bool, int], Times]]] = {}
        self._newest: dict[tuple[int, bool, int], int] = defaultdict(int)
        """The last of each of these times."""
        self._what: dict[tuple[int, int], str] = {}

    def buffer(self, start: int, size_bytes: int) -> None:
        """There is memory."""
        self._buffers[start] = -(-size_bytes // _GRAIN), {}

    def enqueue(self, stream: int, what: str) -> Moment:
        """Something is put on a stream: it comes after what is there, and after what its thread has done or knows."""
        actor, clock = self._stream(stream)
        HOST.give(clock)
        clock[actor] += 1
        return Moment(actor, dict(clock), what)

    def record(self, event: int, stream: int) -> None:
        """As CUDA's."""
        self._events[event] = dict(self.enqueue(stream, "").clock)

    def wait(self, stream: int, event: int) -> None:
        """As CUDA's."""
        _join(self._stream(stream)[1], self._events[event])

    def synchronize(self, event: int) -> None:
        """As CUDA's."""
        HOST.take(self._events[event])

    def synchronize_all(self) -> None:
        """Every stream."""
        for _, clock in self._streams.values():
            HOST.take(clock)

    def host_touches(self, start: int, region: Region, *, writes: bool) -> None:
        """The present thread reads or writes bytes of the buffer that begins at `start`."""
        if self.found is not None:
            HOST.clock[HOST.actor] += 1
            self.touch(start, region, Moment(HOST.actor, HOST.clock, _caller()), writes=writes)

    def touch(self, start: int, region: Region, moment: Moment, *, writes: bool) -> None:
        """Bytes of the buffer that begins at `start` are read or written."""
        if self.found is None:
            return
        size, marks = self._buffers[start]
        now = moment.clock[moment.actor]
        with _LOCK:
            for (wrote, actor), times in marks.items():
                known = moment.clock.get(actor, 0)
                if actor != moment.actor and (wrote or writes) and self._newest[start, wrote, actor] > known:
                    latest = int(_view(times, start, region).max(initial=0))
                    if latest > known:
                        other = f"{self._what[actor, latest]} {'wrote' if wrote else 'read'}"
                        place = f"at {region.start - start} of {size * _GRAIN} bytes"
                        does = f"{moment.what} {'writes' if writes else 'reads'}"
                        self.found.append(f"{does} what {other}, and neither comes first ({place})")
            key = writes, moment.actor
            if key not in marks:
                marks[key] = np.zeros(size, np.int32)
            _view(marks[key], start, region)[...] = now
            newest = (start, *key)
            self._newest[newest] = max(now, self._newest[newest])
            self._what[moment.actor, now] = moment.what

    def _stream(self, stream: int) -> tuple[int, Clock]:
        if stream not in self._streams:
            actor = next(_ACTORS)
            self._streams[stream] = actor, {actor: 0}
        return self._streams[stream]


def _join(clock: Clock, other: Clock) -> None:
    for actor, time in other.items():
        clock[actor] = max(clock.get(actor, 0), time)


def _view(times: Times, start: int, region: Region) -> Times:
    """The part of what stands for a buffer that stands for a region of it."""
    first = (region.start - start) // _GRAIN
    width = -(-(region.start - start + region.width) // _GRAIN) - first
    if region.rows * region.blocks == 1:
        return times[first : first + width]
    assert region.pitch % _GRAIN == region.block_pitch % _GRAIN == 0
    shape, pitches = (region.blocks, region.rows, width), (region.block_pitch, region.pitch, _GRAIN)
    part: Times = np.ndarray(shape, np.int32, times, first * _GRAIN, pitches)  # items are as wide as grains
    return part


def _caller() -> str:
    """Where the host is."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename.endswith(("_races.py", "fake_cuda.py")):
        frame = frame.f_back
    return f"the host in {frame.f_code.co_name}"
