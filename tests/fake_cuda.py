"""A GPU's border without a GPU: CUDA's calls on memory of the host.

Purpose: drive the TensorRT side of the engine for real, with the same graphs, through the same two borders, and note
every call. Work put on a stream is done as early as it may be (at once), or as late as it may be (when somebody waits
for it): whoever passes both relies on nothing but the order of streams and events. What lies between the two is looked
at by `tests.stream_races`, which is told who reads and writes what. Touching memory that was not allocated is an error,
and so is allocating when set-up is over.
"""

from __future__ import annotations

import bisect
import ctypes
import itertools
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.cuda_api import CudaApi, DeviceInfo, Event, HostMemory, Sequence, Stream
from engines.errors import DeviceLostError
from tests.stream_races import Moment, Races, Region

ALIGNMENT = 256
POISON = 0xCB


@dataclass
class Work:
    """One thing on a stream."""

    act: Callable[[], None]
    what: str = ""
    ticket: int = 0
    """What is done with it, where it records an event."""
    after: int = 0
    """The ticket it waits for."""


@dataclass
class Call:
    """One call across the border."""

    what: str
    stream: int = 0
    event: int = 0
    about: tuple[Any, ...] = ()


@dataclass
class Recording:
    """What was put on a stream while it was recorded."""

    works: list[Work] = field(default_factory=list)


class FakeCuda(CudaApi):
    """See the module's text."""

    def __init__(self, *, eager: bool = True, integrated: bool = False) -> None:  # not the real one's
        self.device = DeviceInfo("Fake", "sm_00", integrated, 1 << 30)
        self.calls: list[Call] = []
        self.allocated: list[int] = []
        self.ready = False
        """Set-up is over."""
        self.fails: Callable[[str], bool] = lambda what: False
        self._eager, self._lock = eager, threading.RLock()
        self._handles = itertools.count(1)
        self._buffers: list[npt.NDArray[np.uint8]] = []
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        self._streams: dict[int, deque[tuple[Work, Moment]]] = defaultdict(deque)
        self._races = Races()
        self._now: Moment | None = None
        """When what is being done is done."""
        self._recordings: dict[int, Recording] = {}
        self._sequences: dict[int, Recording] = {}
        self._tickets = itertools.count(1)
        self._recorded: dict[int, int] = {}
        self._where: dict[int, int] = {}
        self._done: set[int] = set()

    # -- set-up -----------------------------------------------------------------------------------------------------

    def stream(self, *, urgent: bool) -> Stream:
        return Stream(self._handle("stream", urgent))

    def event(self) -> Event:
        return Event(self._handle("event"))

    def allocate(self, size_bytes: int) -> int:
        self._note("allocate", about=(size_bytes,))
        self.allocated.append(size_bytes)
        return self._buffer(size_bytes, 0)

    def allocate_host(self, size_bytes: int) -> HostMemory:
        self._note("allocate_host", about=(size_bytes,))
        address = self._buffer(size_bytes, POISON)
        return HostMemory(address, address if self.device.integrated else None)

    def upload(self, to: int, source: int, size_bytes: int) -> None:
        self._note("upload")
        self._host_touches(to, size_bytes, writes=True)
        ctypes.memmove(to, source, size_bytes)

    def begin_recording(self, stream: Stream) -> None:
        self._note("begin_recording", stream)
        assert stream not in self._recordings, "it is being recorded"
        self._recordings[stream] = Recording()

    def end_recording(self, stream: Stream) -> Sequence:
        handle = self._handle("end_recording")
        self._sequences[handle] = self._recordings.pop(stream)
        return Sequence(handle)

    def abandon_recording(self, stream: Stream) -> None:
        self._recordings.pop(stream, None)
        self._note("abandon_recording", stream)

    def settle(self) -> None:
        self._note("settle")
        self._wait_for_all()

    def end_work(self) -> None:
        self._note("end_work")
        self._wait_for_all()
        self._sequences.clear()

    def close(self) -> None:
        assert not self._recordings, "work is being recorded"
        self._note("close")
        self._sequences.clear()

    # -- work -------------------------------------------------------------------------------------------------------

    def launch(self, sequence: Sequence, stream: Stream) -> None:
        self._note("launch", stream, about=(int(sequence),))
        for work in self._sequences[sequence].works:
            self._put(stream, work)

    def copy(self, to: int, source: int, size_bytes: int, stream: Stream) -> None:
        self.copy_blocks(to, 0, 0, source, 0, 0, size_bytes, 1, 1, stream)

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, stream: Stream
    ) -> None:
        self.copy_blocks(to, to_pitch, 0, source, source_pitch, 0, width, rows, 1, stream)

    def copy_blocks(
        self, to: int, to_pitch: int, to_rows: int, source: int, source_pitch: int, source_rows: int,
        width: int, rows: int, blocks: int, stream: Stream,
    ) -> None:  # fmt: skip
        def act() -> None:
            self.touch(Region(source, width, rows, source_pitch, blocks, source_rows * source_pitch), writes=False)
            self.touch(Region(to, width, rows, to_pitch, blocks, to_rows * to_pitch), writes=True)
            for block in range(blocks):
                for row in range(rows):
                    there = to + (block * to_rows + row) * to_pitch
                    here = source + (block * source_rows + row) * source_pitch
                    ctypes.memmove(there, here, width)

        self._note("copy", stream, about=(to, source, width))
        self._put(stream, Work(act, "a copy"))

    def clear(self, address: int, size_bytes: int, stream: Stream) -> None:
        self.clear_rows(address, 0, size_bytes, 1, stream)

    def clear_rows(self, address: int, pitch: int, width: int, rows: int, stream: Stream) -> None:
        def act() -> None:
            self.touch(Region(address, width, rows, pitch), writes=True)
            for row in range(rows):
                ctypes.memset(address + row * pitch, 0, width)

        self._note("clear", stream)
        self._put(stream, Work(act, "a clear"))

    def record(self, event: Event, stream: Stream) -> None:
        self._note("record", stream, event)
        with self._lock:
            ticket = next(self._tickets)
            self._recorded[event], self._where[ticket] = ticket, stream
            self._races.record(event, stream)
            self._put(stream, Work(lambda: None, ticket=ticket))

    def wait(self, stream: Stream, event: Event) -> None:
        self._note("wait", stream, event)
        with self._lock:
            self._races.wait(stream, event)
            self._put(stream, Work(lambda: None, after=self._recorded.get(event, 0)))

    def synchronize(self, event: Event) -> None:
        self._note("synchronize", event=event)
        with self._lock:
            self._finish(self._recorded.get(event, 0))
            self._races.synchronize(event)

    # -- for the engines, and for tests -----------------------------------------------------------------------------

    def put(self, stream: Stream, what: str, act: Callable[[], None], *about: Any) -> None:
        """One more thing on a stream."""
        self._note(what, stream, about=about)
        self._put(stream, Work(act, f"a run of {what}"))

    def touch(self, region: Region, *, writes: bool) -> None:
        """What is being done reads or writes memory."""
        assert self._now is not None
        start = self.check(region.start, region.width)
        assert region.last == region.start or start == self.check(region.last, region.width)
        self._races.touch(start, region, self._now, writes=writes)

    def host_touches(self, array: npt.NDArray[Any], writes: bool) -> None:
        """The host reads or writes memory that it shares with the device."""
        low, high = np.lib.array_utils.byte_bounds(array)
        self._host_touches(low, high - low, writes=writes)

    def check(self, address: int, size_bytes: int) -> int:
        """Whether memory was allocated here; where it begins."""
        index = bisect.bisect_right(self._starts, address) - 1
        start = self._starts[index] if index >= 0 else 0
        assert index >= 0, "memory that nobody allocated"
        assert address + size_bytes <= start + self._sizes[start], "memory beyond what was allocated"
        return start

    @property
    def recording(self) -> bool:
        """Whether anything is being recorded."""
        return bool(self._recordings)

    def called(self, *what: str) -> list[Call]:
        """The calls of these kinds, in order."""
        return [call for call in self.calls if call.what in what]

    def _note(self, what: str, stream: int = 0, event: int = 0, about: tuple[Any, ...] = ()) -> None:
        if self.fails(what):
            raise DeviceLostError(f"the fake device fails in {what}")
        assert not (self.ready and what in {"allocate", "allocate_host", "upload", "stream", "event"}), what
        if stream not in self._recordings:
            self.calls.append(Call(what, stream, event, about))

    def _handle(self, what: str, *about: Any) -> int:
        self._note(what, about=about)
        return next(self._handles)

    def _buffer(self, size_bytes: int, value: int) -> int:
        raw = np.full(size_bytes + ALIGNMENT, value, dtype=np.uint8)
        address = int(raw.ctypes.data) + -raw.ctypes.data % ALIGNMENT
        self._buffers.append(raw)
        bisect.insort(self._starts, address)
        self._sizes[address] = size_bytes
        self._races.buffer(address, size_bytes)
        return address

    def _host_touches(self, address: int, size_bytes: int, *, writes: bool) -> None:
        start = self.check(address, size_bytes)
        self._races.host_touches(start, Region(address, size_bytes), writes=writes)

    def _put(self, stream: int, work: Work) -> None:
        with self._lock:
            if stream in self._recordings:
                self._recordings[stream].works.append(work)
                return
            self._streams[stream].append((work, self._races.enqueue(stream, work.what)))
            if self._eager:
                self._drain(stream, lambda: False)

    def _wait_for_all(self) -> None:
        with self._lock:
            for stream in list(self._streams):
                self._drain(stream, lambda: False)
            self._races.synchronize_all()

    def _finish(self, ticket: int) -> None:
        if ticket and ticket not in self._done:
            self._drain(self._where[ticket], lambda: ticket in self._done)

    def _drain(self, stream: int, enough: Callable[[], bool]) -> None:
        queue = self._streams[stream]
        while queue and not enough():
            work, moment = queue.popleft()
            self._finish(work.after)
            self._now = moment
            work.act()
            self._now = None
            self._done.add(work.ticket)
