"""Where sound goes: the one door every output stands behind.

Purpose: `Sink`, the contract of a file, a speaker and a socket, and the conversion to 16-bit samples they share. Knows:
blocks of mono samples, and the three ways a stream of sound can end. Does not know: engines, text, devices, files.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm
from engines.errors import SpeechError

Pcm16 = npt.NDArray[np.int16]
"""Mono samples, 16 bits, shape [n]."""


class SinkError(SpeechError):
    """Sound could not be written or played; the message names the file or device and says what to do."""


class Sink(Protocol):
    """Takes the sound of one run, block by block, in order.

    Exactly one of `finish`, `stop` and `abort` ends it; a second end does nothing. A sink opens what it needs at the
    first `write` or at `finish`, so that a run that fails before its first sample leaves no trace. Calls never overlap.
    """

    async def write(self, pcm: Pcm) -> None:
        """Take a block; waits while the sink is full. The array is not kept. Raises `SinkError`."""
        ...

    async def finish(self) -> None:
        """All sound has come: returns when the last sample is out (on disk, or heard). Raises `SinkError`."""
        ...

    async def stop(self) -> None:
        """The listener wants no more: end at once. A file keeps what it has, validly; a speaker falls silent."""
        ...

    async def abort(self) -> None:
        """The run failed: end at once and leave nothing half done. Never raises."""
        ...


def to_pcm16(pcm: Pcm) -> Pcm16:
    """Round samples in [-1, 1] to 16 bits; what lies outside is clipped."""
    clipped: Pcm16 = np.clip(np.rint(pcm * np.float32(32767.0)), -32768.0, 32767.0).astype(np.int16)
    return clipped
