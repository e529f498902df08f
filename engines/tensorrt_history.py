"""Codes that stay on the device, from the talker's stream to the codec's.

Purpose: keep every frame of the present attempt of every slot where the codec can fetch it without the host, and have
the codec's stream wait for the very run that made it. Knows: slots, frame numbers, events. Does not know: what becomes
of the codes.

There is room for as many frames as a slot can have, so nothing is ever overwritten that is still to be read. The
talker's thread writes, the codec's reads what the first has told it of.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engines.cuda_api import CudaApi, Event, Stream
from engines.cuda_memory import Want
from engines.runner import Tensor

_RUNS: Final = 8
"""Runs whose events are told apart; one that lies further back has long been done."""
CODE_BYTES: Final = 8


class CodeHistory:
    """Codes of all slots on the device."""

    def __init__(self, cuda: CudaApi, memory: Tensor) -> None:
        """`memory` as `want` has it."""
        slots, self.frames, self._codebooks = memory.shape
        self._cuda, self._memory = cuda, memory
        self._events = [cuda.event() for _ in range(_RUNS)]
        self._run = 0
        self._made_by = np.zeros((slots, self.frames), dtype=np.int64)

    @staticmethod
    def want(slots: int, frames: int, codebooks: int) -> Want:
        """The memory it takes for as many frames as a slot can have."""
        return Want((slots, frames, codebooks), np.int64)

    def put(self, slot: int, frame: int, source: int, pitch: int, stream: Stream) -> None:
        """Keep a slot's codes of the present run, which lie `pitch` bytes apart from `source` on."""
        self._made_by[slot, frame] = self._run
        self._cuda.copy_rows(self._at(slot, frame), CODE_BYTES, source, pitch, CODE_BYTES, self._codebooks, stream)

    def end_run(self, stream: Stream) -> Event:
        """The present run is complete on the talker's stream; the event says when."""
        event = self._events[self._run % _RUNS]
        self._cuda.record(event, stream)
        self._run += 1
        return event

    def fetch(self, slot: int, frame: int, frames: int, to: int, stream: Stream) -> None:
        """Copy a slot's codes of `frames` frames from `frame` on, packed, once the run that made the last is done."""
        frame = min(frame, self.frames - frames)  # only where nobody listens any more
        run = int(self._made_by[slot, frame + frames - 1])
        if self._run - run <= _RUNS:
            self._cuda.wait(stream, self._events[run % _RUNS])
        self._cuda.copy(to, self._at(slot, frame), frames * self._codebooks * CODE_BYTES, stream)

    def _at(self, slot: int, frame: int) -> int:
        return self._memory.address + (slot * self.frames + frame) * self._codebooks * CODE_BYTES
