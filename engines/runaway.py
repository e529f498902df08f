"""Runaways: a talker that has lost its text goes round in circles, or stays silent, and would not end by itself.

Purpose: notice that early, from values alone: the codes of frame after frame, and the loudness of the sound. What
follows (one more try with other noise while nothing was audible, else a graceful end) is decided by the utterance; the
bound by the length of the text stands besides. Knows: codes, samples. Does not know: models, threads, time.

*Loops.* Code 0 carries what is said; the residual codes of a loop go on varying. For every period of 1 to `_PERIODS`
frames a run counts the frames whose code 0 is that of one period before; a frame that differs costs a few counts and
does not end the run. A run as long as the limit, and of no fewer than `_ROUNDS` rounds, is a loop. A constant code
(period 1) is a held sound or silence.

*Silence.* Samples below `_AUDIBLE` are silent. A run as long as the limit is a runaway; before the first audible sample
half of it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from engines.contract import Pcm

_PERIODS: Final = 64  # frames; about five seconds at 12.5 frames a second
_ROUNDS: Final = 3
_MISS: Final = 4  # counts that a frame outside the period costs
_AUDIBLE: Final = 0.002  # of full scale: -54 dB, above the noise that a neural codec leaves in a pause


class LoopDetector:
    """Watches one utterance's code 0. `saw` takes constant time and memory."""

    def __init__(self, limit_frames: int) -> None:
        """`limit_frames`: how many frames of a loop are too many; 0 never finds one."""
        self._limit = limit_frames
        self._history = np.full(2 * _PERIODS, -1, dtype=np.int64)  # written twice, so that the last ones lie in a row
        self._runs = np.zeros(_PERIODS, dtype=np.int64)
        self._gain = np.empty(_PERIODS, dtype=np.int64)
        self._equal = np.empty(_PERIODS, dtype=np.bool_)
        periods = np.arange(_PERIODS, 0, -1)  # entry i of a window is the frame `_PERIODS - i` before
        self._enough = np.maximum(limit_frames, (_ROUNDS - 1) * periods)
        self._next = 0

    def saw(self, code: int) -> bool:
        """Take the next frame's code 0, 0 or above; whether the frames so far end in a loop."""
        if self._limit == 0:
            return False
        window = self._history[self._next : self._next + _PERIODS]  # oldest first
        np.equal(window, code, out=self._equal)
        np.multiply(self._equal, _MISS + 1, out=self._gain)
        self._runs += self._gain
        self._runs -= _MISS
        np.maximum(self._runs, 0, out=self._runs)
        self._history[self._next] = self._history[self._next + _PERIODS] = code
        self._next = (self._next + 1) % _PERIODS
        return bool((self._runs >= self._enough).any())


class SilenceDetector:
    """Watches one utterance's samples."""

    def __init__(self, limit_samples: int) -> None:
        """`limit_samples`: the longest silence within sound, half of it before sound; 0 never finds one."""
        self._limit = limit_samples
        self._silent = 0
        self.heard = False
        """Whether there has been an audible sample."""

    def room(self, pcm: Pcm, step: int) -> int | None:
        """Take the next samples, in steps of `step`; how many of them still go out, or None for all.

        The answer does not depend on how the sound is cut into blocks of whole steps.
        """
        for start in range(0, len(pcm), step):
            part = pcm[start : start + step]
            if _audible(part):
                self.heard, self._silent = True, 0
                continue
            self._silent += len(part)
            if 0 < self._limit <= self._silent * (1 if self.heard else 2):
                return start + len(part)
        return None

    def reset(self) -> None:
        """Forget everything."""
        self._silent, self.heard = 0, False


def _audible(pcm: Pcm) -> bool:
    """Whether any of the samples can be heard."""
    return bool(pcm.max(initial=0.0) >= _AUDIBLE or pcm.min(initial=0.0) <= -_AUDIBLE)


@dataclass(slots=True)
class RunawayTally:
    """What became of runaways since the engine began; each field has one writer."""

    retried: int = 0
    """Utterances tried once more, by the talker's thread."""
    ended: int = 0
    """Utterances ended, by the codec's."""
