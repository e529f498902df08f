"""What a step and a codec call cost on this machine, learned while running.

Purpose: keep moving averages that the block policy decides by. Knows: milliseconds. Does not know: clocks, models.

The codec's time is taken as a line, call + frames * per_frame. Its shape is fitted to the last two hundred calls, its
height to the last ten: those are often of one size, and a slow one among them would seem to say that calls are dear,
after which only large ones would be made, and nothing would be learned any more. Until calls of different sizes were
seen, all of the time is put on the frames.

Admission asks for something else: what steps and calls cost in a crowd, where talker and codec share the device all the
time. `warm_up` measures that. Later steps scale what was measured of steps, so that a device that slows down (heat,
power, company) is known to be slower at every size; codec calls show it for themselves. That steps are faster than at
the warm-up, which may have met a slow moment, is believed of those that are faster than it foretells for the share of
them that had codec calls beside them, and of calls that had steps beside them for half of their time: a lonely call
says nothing about crowds. A device that says itself that it is slow is believed at once. Slowness is believed sooner
than it is forgotten: admission must hold in the bad moments, not on average. Two threads report, each its own kind; any
may ask.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from engines.admission import DeviceCosts, step_ms
from engines.chunk_policy import Costs

_BELIEVE: Final = 0.1
_FORGET: Final = 0.01
_WILDEST: Final = 4.0  # a single measurement is not believed to be slower than that
_FADE: Final = 0.9  # weight that what is known keeps when one more measurement comes
_SHAPE_FADE: Final = 0.995  # the same for the shape of the codec's line
_LEAST_MS: Final = 1e-6
_BESIDE: Final = 0.5  # of a codec call's time, that steps were at work too: the talker never rests in a crowd
_WHOLE: Final = 0.99  # of a step: it was in a crowd all the time
_CALLS_KEPT: Final = 16  # that may have been beside one step
_ODD: Final = 1.5  # times the expected: a slower or faster call says no more about the shape


class CostModel:
    """Moving averages of step and codec times."""

    def __init__(self, frame_ms: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: seconds, the loops' own."""
        self._frame_ms, self._clock = frame_ms, clock
        self._lock = threading.Lock()
        self._step_ms: float | None = None
        self._run_ms: dict[int, float] = {}  # by streams, as `step_lasts` was told
        self._alone_ms: dict[int, float] = {}  # the same without codec calls
        self._calls: deque[_Call] = deque(maxlen=_CALLS_KEPT)  # of the codec, the latest last
        self._crowded_call = (1, 0.0)  # frames and milliseconds, as `call_lasts` was told
        self._slower = 1.0  # than then
        self._codec_slower = 1.0  # in bad moments, than the line says
        self._row_ms: float | None = None
        self._speed: float | None = None  # what the device said last
        self._shape = [0.0] * 5  # of codec calls: weights, frames, ms, frames squared, frames * ms
        self._recent = [0.0] * 3  # weights, frames, ms

    def device_runs_at(self, speed: float) -> None:
        """The device says that from now on it runs at this share (above 0 to 1) of its full speed.

        What was measured before is taken to last longer in proportion, at once: an idle engine would otherwise let
        people in by what steps cost before the device was throttled, and a busy one learns by a tenth a step. What is
        measured from here on counts as it is. The first word only says where the measurements so far belong.
        """
        with self._lock:
            before, self._speed = self._speed, speed
            if before is None or before == speed:
                return
            longer = before / speed
            self._run_ms = {streams: ms * longer for streams, ms in self._run_ms.items()}
            self._alone_ms = {streams: ms * longer for streams, ms in self._alone_ms.items()}
            self._crowded_call = (self._crowded_call[0], self._crowded_call[1] * longer)
            if longer > 1.0:  # a part of the slowness seen so far may be this very thing
                self._slower = max(self._slower / longer, min(self._slower, 1.0))
            self._step_ms = None if self._step_ms is None else self._step_ms * longer
            self._row_ms = None if self._row_ms is None else self._row_ms * longer
            for sums, place in ((self._shape, 2), (self._shape, 4), (self._recent, 2)):
                sums[place] *= longer

    def step_took(self, ms: float) -> None:
        """One more frame of an utterance cost the talker that long."""
        with self._lock:
            self._step_ms = _averaged(self._step_ms, ms)

    def step_lasts(self, streams: int, ms: float, alone_ms: float) -> None:
        """A frame of so many streams takes the talker's graph that long beside codec calls, and that long without, both
        carefully measured."""
        with self._lock:
            self._run_ms[streams] = max(ms, _LEAST_MS)
            self._alone_ms[streams] = max(min(alone_ms, ms), _LEAST_MS)

    def call_lasts(self, frames: int, ms: float) -> None:
        """A codec call of so many frames takes that long beside the talker's steps, carefully measured."""
        with self._lock:
            self._crowded_call = (frames, ms)

    def step_ran(self, streams: int, ms: float) -> None:
        """A frame of so many streams took the talker's graph that long, until now."""
        with self._lock:
            known_ms = step_ms(self._run_ms, streams)
            if not known_ms:
                return
            now = self._clock()
            since = now - ms / 1000.0
            share = min(sum(call.also_step(since, now) for call in self._calls) / ms, 1.0) if ms > 0.0 else 0.0
            alone_ms = step_ms(self._alone_ms, streams)
            seen = ms / (alone_ms + share * (known_ms - alone_ms))
            if seen > 1.0 and share < _WHOLE:
                seen = max(ms / known_ms, 1.0)
            self._slower = _toward(self._slower, seen)
            self._learn_from_crowds()

    def step_ms_of(self) -> dict[int, float]:
        """The duration of a step in a crowd by the streams in it, as known now; empty where nothing was measured."""
        with self._lock:
            return self._steps_ms()

    def prompt_took(self, rows: int, ms: float) -> None:
        """A piece of a prompt of so many rows took the talker's graph that long."""
        with self._lock:
            self._row_ms = _averaged(self._row_ms, ms / rows)

    def prompt_ms(self, rows: int) -> float:
        """How long so many rows of a prompt will take; 0 where nothing was measured."""
        with self._lock:
            return rows * (self._row_ms or 0.0)

    def codec_begins(self) -> None:
        """A codec call begins; `codec_took` follows, or the next one where it failed."""
        with self._lock:
            if self._calls and self._calls[-1].took_ms is None:
                self._calls.pop()
            self._calls.append(_Call(self._clock()))

    def codec_took(self, frames: int, ms: float) -> None:
        """One codec call of that many frames took that long."""
        with self._lock:
            fair_ms, expected_ms = ms, self._line().codec_ms(frames)
            if self._calls and self._calls[-1].took_ms is None:
                self._calls[-1].ends(self._clock(), frames, ms)
            self._learn_from_crowds()
            if expected_ms > _LEAST_MS:
                self._codec_slower = _toward(self._codec_slower, ms / expected_ms)
                fair_ms = min(max(ms, expected_ms / _ODD), expected_ms * _ODD)
            self._recent = _fade(self._recent, _FADE, (1.0, frames, ms))
            self._shape = _fade(self._shape, _SHAPE_FADE, (1.0, frames, fair_ms, frames * frames, frames * fair_ms))

    def _learn_from_crowds(self) -> None:
        """Follow what calls cost in a crowd; of other sizes by the line. The lock is held."""
        for call in self._calls:
            if call.took_ms is None or call.counted or call.beside_ms < _BESIDE * call.took_ms:
                continue
            call.counted = True
            line, (crowd_frames, crowd_ms) = self._line(), self._crowded_call
            expected_ms = crowd_ms * line.codec_ms(call.frames) / max(line.codec_ms(crowd_frames), _LEAST_MS)
            if expected_ms > _LEAST_MS:
                self._crowded_call = (crowd_frames, crowd_ms * _toward(1.0, call.took_ms / expected_ms))

    def snapshot(self) -> Costs:
        """The costs as known now; zero where nothing was measured."""
        with self._lock:
            return self._line()

    def cautious(self) -> Costs:
        """The same, with the codec as slow as it is in bad moments, and in a crowd."""
        with self._lock:
            return self._cautious()

    def device(self) -> DeviceCosts:
        """What admission goes by."""
        with self._lock:
            alone = self._line().codec_slower(max(self._codec_slower, 1.0))
            return DeviceCosts(self._cautious(), alone, self._steps_ms())

    def _steps_ms(self) -> dict[int, float]:
        """The lock is held."""
        return {streams: ms * self._slower for streams, ms in self._run_ms.items()}

    def _cautious(self) -> Costs:
        """The lock is held."""
        costs, slower = self._line(), max(self._codec_slower, 1.0)
        frames, ms = self._crowded_call
        if known_ms := costs.codec_ms(frames):
            slower = max(slower, ms / known_ms)
        return costs.codec_slower(slower)

    def _line(self) -> Costs:
        """The lock is held."""
        weight, n, t, nn, nt = self._shape
        step_ms = self._step_ms or 0.0
        if weight == 0.0:
            return Costs(self._frame_ms, step_ms, 0.0, 0.0)
        spread = weight * nn - n * n
        slope = (weight * nt - n * t) / spread if spread > 1e-3 * n * n else t / n
        slope = min(max(slope, 0.0), t / n)
        shape = Costs(self._frame_ms, step_ms, max(t - slope * n, 0.0) / weight, slope)
        calls, frames, ms = self._recent
        expected_ms = calls * shape.codec_call_ms + frames * shape.codec_frame_ms
        return shape.codec_slower(ms / expected_ms if expected_ms > _LEAST_MS else 1.0)


@dataclass(slots=True)
class _Call:
    """A codec call: when it began and ended [s], how long it was, and what of that steps were at work beside it."""

    began: float
    ended: float = inf
    frames: int = 0
    took_ms: float | None = None
    beside_ms: float = 0.0
    counted: bool = False

    def ends(self, now: float, frames: int, ms: float) -> None:
        """It is over."""
        self.ended, self.frames, self.took_ms = now, frames, ms

    def also_step(self, since: float, until: float) -> float:
        """Take note of a step at that time; gives the milliseconds of it that were beside this call."""
        beside_ms = 1000.0 * max(min(until, self.ended) - max(since, self.began), 0.0)
        self.beside_ms += beside_ms
        return beside_ms


def _averaged(known: float | None, new: float) -> float:
    """A moving average with one more value; the first value counts in full."""
    return new if known is None else _FADE * known + (1.0 - _FADE) * new


def _fade(sums: list[float], kept: float, new: Sequence[float]) -> list[float]:
    return [kept * old + value for old, value in zip(sums, new, strict=True)]


def _toward(believed: float, seen: float) -> float:
    """Follow a slowness that was seen; upwards sooner than downwards."""
    seen = min(seen, _WILDEST)
    return believed + (_BELIEVE if seen > believed else _FORGET) * (seen - believed)
