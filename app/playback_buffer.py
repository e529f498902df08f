"""The bounded buffer between the event loop and the thread that feeds a sound device, and the account of its gaps.

Purpose: `PlaybackBuffer` (one writer that never waits, one reader that may) and `Playhead`, which knows by the clock
when a listener heard a gap. Knows: samples and time. Does not know: devices, PyAudio, asyncio.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import numpy as np

from engines.contract import Pcm

_EMPTY: Pcm = np.empty(0, np.float32)


class PlaybackBuffer:
    """A queue of samples. `put` takes a whole block whenever there is any room, so it holds at most a block beyond."""

    def __init__(self, capacity_samples: int) -> None:
        self._capacity = capacity_samples
        self._blocks: deque[Pcm] = deque()
        self._level = 0
        self._ended = False
        self._changed = threading.Condition()
        self._on_room: Callable[[], None] = lambda: None

    def put(self, block: Pcm) -> bool:
        """Append a copy of a block; False, and nothing taken, while the buffer is full. Never waits."""
        with self._changed:
            if self._ended:
                return True
            if self._level >= self._capacity:
                return False
            if len(block):
                self._blocks.append(np.array(block, np.float32))
                self._level += len(block)
                self._changed.notify_all()
            return True

    def end(self) -> None:
        """No more samples will come; idempotent."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def cut(self) -> None:
        """End, and drop what is there: the listener wants no more."""
        with self._changed:
            self._blocks.clear()
            self._level = 0
            self._ended = True
            self._changed.notify_all()

    def on_room(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from the reading thread, after samples were taken. It must not wait."""
        with self._changed:
            self._on_room = listener

    def wait_for(self, samples: int) -> None:
        """Wait until so many samples are here (or the buffer is full), or the end has come."""
        wanted = min(samples, self._capacity)
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._level >= wanted)

    def take_nowait(self, limit: int) -> Pcm | None:
        """At most `limit` samples; None where it would wait; an empty array is the end."""
        with self._changed:
            if not self._level:
                return _EMPTY if self._ended else None
            taken: list[Pcm] = []
            wanted = limit
            while wanted and self._blocks:
                block = self._blocks.popleft()
                if len(block) > wanted:
                    self._blocks.appendleft(block[wanted:])
                    block = block[:wanted]
                taken.append(block)
                wanted -= len(block)
            self._level -= limit - wanted
            listener = self._on_room
        listener()
        return np.concatenate(taken)


class Playhead:
    """When the sound written so far has run out, by a clock; counts the gaps a listener hears."""

    def __init__(self, sample_rate_hz: int, clock: Callable[[], float]) -> None:
        self._sample_rate_hz = sample_rate_hz
        self._clock = clock
        self._until: float | None = None
        self.underruns = 0
        self.gap_ms = 0.0

    def starved(self) -> None:
        """To be called when samples come after the buffer was found empty: a gap, if the device ran dry meanwhile."""
        now = self._clock()
        if self._until is not None and now > self._until:
            self.underruns += 1
            self.gap_ms += 1000.0 * (now - self._until)

    def writing(self, samples: int) -> None:
        """To be called before samples go to the device."""
        now = self._clock()
        self._until = max(now, self._until if self._until is not None else now) + samples / self._sample_rate_hz
