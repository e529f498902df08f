"""How many frames go to the codec at once.

Purpose: small blocks give early sound, large ones cost less; this decides, from measured times, the smallest first
block after which the sound does not run out, and how long each later block may be gathered. Pure functions of numbers.
Knows: milliseconds per frame, step and codec call. Does not know: clocks, threads, rings, models.

Talker and codec work at the same time: a frame is there every `step`, and the codec takes c(n) = call + n * per_frame
for a block of n frames, beginning when it is free and the block's last frame is there. Let F_k be the moment block k is
decoded; the listener starts at F_1. The sound never runs out if, for every k,

    F_{k+1}  <=  F_1 + frame_ms * (n_1 + ... + n_k).

Blocks after the first are gathered as long as that allows (`block_due`), which costs the fewest calls, and hold no more
than can be decoded in time (`fitting`). `first_block` plays this rule through for first blocks of 1, 2, ... frames.
Where the talker or the codec is slower than real time no block is large enough: the ceiling is taken, which wastes
least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final

_EPSILON_MS: Final = 1e-6
_WORTH: Final = 4.0  # frames' cost over their call's, from where on a larger block saves little
_AMPLE: Final = 16.0  # the same, from where on company would save less than 6 %
COMPANY: Final = 2.0
"""Streams to a call where calls may have company; more on a device whose calls are dear."""
_MOMENT_MS: Final = 250.0  # from where on being too late is taken for overload, not for a moment's disturbance
_KEPT_UP: Final = 0.95  # of the time that the codec may be busy where it only just keeps pace
_HORIZON_BLOCKS: Final = 8  # of the largest size: what is played through; costs are not known better than that


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured times, milliseconds; all >= 0, `frame_ms` > 0."""

    frame_ms: float
    """Sound in one frame."""
    step_ms: float
    """Talker time until one more frame of an utterance is there."""
    codec_call_ms: float
    """Codec time of a call, whatever its size."""
    codec_frame_ms: float
    """Codec time that each frame of a call adds."""

    def codec_ms(self, frames: int) -> float:
        """One codec call of that many frames: c(n)."""
        return self.codec_call_ms + frames * self.codec_frame_ms

    def under_load(self, speaking: int, *, batching: bool) -> Costs:
        """The same costs when the codec serves that many utterances in turn (steps are measured as they come).

        `batching`: some of them in one call.
        """
        frames = max(speaking, 1)
        calls = max(frames / COMPANY, 1.0) if batching else frames
        return Costs(self.frame_ms, self.step_ms, self.codec_call_ms * calls, self.codec_frame_ms * frames)

    def codec_slower(self, times: float) -> Costs:
        """The same costs with a codec that takes so many times as long."""
        return replace(self, codec_call_ms=times * self.codec_call_ms, codec_frame_ms=times * self.codec_frame_ms)


def widest_block(costs: Costs, call_ms: float, ceiling: int) -> int:
    """The most frames, 1 to `ceiling`, whose codec call takes no longer than `call_ms`.

    A call cannot be broken off, so this bounds how long a cancelled utterance holds its slot and others wait. Where
    calls are dear in themselves it allows four times their own cost for frames, so that they stay worth making.
    """
    for_frames_ms = max(call_ms - costs.codec_call_ms, _WORTH * costs.codec_call_ms)
    if costs.codec_frame_ms * ceiling <= for_frames_ms:
        return ceiling
    return max(1, int(for_frames_ms / costs.codec_frame_ms))


def frames_within(costs: Costs, call_ms: float) -> float:
    """How many frames one call of `call_ms` has time for, whoever they are of."""
    return (call_ms - costs.codec_call_ms) / max(costs.codec_frame_ms, _EPSILON_MS)


def late_block(costs: Costs, steady: float, late_for_ms: float) -> float:
    """The frames of a call where somebody's sound runs out whatever is done, as has been so for `late_for_ms`.

    After a moment's disturbance waits are made short by little calls, whose frames cost as much as the call. But such
    calls keep pace with few; where it lasts, calls are what keeps pace (`steady`), up to four times as large as those.
    """
    little = max(_frames_costing(costs, 1.0), 1.0)
    return little if late_for_ms < _MOMENT_MS else max(min(steady, _WORTH * little), little)


def ample(costs: Costs) -> float:
    """The frames of a call, at least 0, from where on more of them save less than 6 % of its time.

    A processor loses in its caches what little is left to save: 8 streams of 25 frames took 1.35 ms a frame, one 1.2
    (two cores of an EPYC, November 2026). And a long call is as much longer in bad moments.
    """
    return _frames_costing(costs, _AMPLE)


def _frames_costing(costs: Costs, times: float) -> float:
    """How many frames cost so many times what the call itself does."""
    return times * costs.codec_call_ms / max(costs.codec_frame_ms, _EPSILON_MS)


def steady_block(costs: Costs, speaking: int) -> float:
    """The fewest frames that, given to each of so many in calls of their own, keep pace with their listeners.

    Infinite where no block does.
    """
    left_ms = _KEPT_UP * costs.frame_ms - speaking * costs.codec_frame_ms
    return float(ceil(speaking * costs.codec_call_ms / left_ms)) if left_ms > 0.0 else inf


def block_due(
    costs: Costs, gathered: int, next_in_ms: float, in_hand_ms: float, ceiling: int, margin_ms: float = 0.0
) -> bool:
    """Whether a block of `gathered` frames must go to the codec now.

    True at the ceiling, and where waiting for the next frame, expected in `next_in_ms`, would leave too little time to
    decode before the sound in hand has shrunk to `margin_ms`.
    """
    if gathered < 1:
        return False
    return gathered >= ceiling or next_in_ms > spare_ms(costs, gathered, in_hand_ms, margin_ms)


def spare_ms(costs: Costs, gathered: int, in_hand_ms: float, margin_ms: float = 0.0) -> float:
    """How long a block of `gathered` frames can wait for one more; below 0 when it cannot."""
    return in_hand_ms - margin_ms - costs.codec_ms(gathered + 1) + _EPSILON_MS


def fitting(costs: Costs, gathered: int, room_ms: float) -> int:
    """How many of the frames gathered, at least 1, can be decoded in a call of `room_ms`."""
    for_frames_ms = room_ms - costs.codec_call_ms + _EPSILON_MS
    if for_frames_ms >= gathered * costs.codec_frame_ms:
        return gathered
    if for_frames_ms < costs.codec_frame_ms:
        return 1
    return int(for_frames_ms / costs.codec_frame_ms)


def first_block(costs: Costs, ceiling: int, margin_ms: float = 0.0) -> int:
    """The smallest first block, 1 to `ceiling` frames, after which the sound in hand does not fall below `margin_ms`.

    `ceiling` where no block achieves that.
    """
    for frames in range(1, ceiling):
        if _lasts(costs, frames, ceiling, margin_ms):
            return frames
    return ceiling


def _lasts(costs: Costs, first: int, ceiling: int, margin_ms: float) -> bool:
    """Play the rule through after a first block of `first` frames: whether every block is there in time."""
    if costs.step_ms > costs.frame_ms or costs.codec_ms(ceiling) > ceiling * costs.frame_ms:
        return False  # it may last a while, and then fail
    decoded = gathered_in_all = first
    now_ms = start_ms = first * costs.step_ms + costs.codec_ms(first)
    while decoded < _HORIZON_BLOCKS * ceiling:
        made = now_ms / max(costs.step_ms, _EPSILON_MS) + _EPSILON_MS
        gathered_in_all = max(gathered_in_all, int(min(made, decoded + ceiling)))
        gathered = gathered_in_all - decoded
        next_ms = (gathered_in_all + 1) * costs.step_ms
        in_hand_ms = start_ms + decoded * costs.frame_ms - now_ms
        if not block_due(costs, gathered, next_ms - now_ms, in_hand_ms, ceiling, margin_ms):
            now_ms = next_ms
            gathered_in_all += 1
            continue
        gathered = fitting(costs, gathered, in_hand_ms - margin_ms)
        if costs.codec_ms(gathered) > in_hand_ms - margin_ms + _EPSILON_MS:
            return False
        now_ms += costs.codec_ms(gathered)
        decoded += gathered
    return True
