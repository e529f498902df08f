"""How many frames go to the codec at once.

Purpose: small blocks give early sound, large ones cost less; this decides, from measured times, the smallest first
block after which the sound cannot run out, and how long each later block may be gathered. Pure functions of numbers.
Knows: milliseconds per frame, step and codec call. Does not know: clocks, threads, rings, models.

The law: let blocks of n1, n2, ... frames be decoded one after the other, block i taking n_i steps and one codec call,
t(n) = n * step + call + n * per_frame. The listener starts when block 1 is there. The sound never runs out if, for
every k,

    frame_ms * (n1 + ... + nk)  >=  t(n2) + ... + t(n_{k+1}).

What is left of the left side is the sound in hand. Gathering the largest block that the sound in hand allows leaves
more in hand than any smaller block would, as long as a frame costs less than it lasts; so trying first blocks from 1
up, each followed by largest blocks, finds the smallest one that works. Talker and codec in fact overlap, so the law is
on the safe side. Where the machine is slower than real time no block is large enough: the ceiling is taken, which
wastes least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_EPSILON_MS: Final = 1e-6


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
        """One codec call of that many frames."""
        return self.codec_call_ms + frames * self.codec_frame_ms

    def block_ms(self, frames: int) -> float:
        """Making and decoding a block: t(n) of the law."""
        return frames * self.step_ms + self.codec_ms(frames)

    def under_load(self, speaking: int) -> Costs:
        """The same costs when the codec serves that many utterances in turn (steps are measured as they come)."""
        calls = max(speaking, 1)
        return Costs(self.frame_ms, self.step_ms, self.codec_call_ms * calls, self.codec_frame_ms * calls)


def largest_block(costs: Costs, in_hand_ms: float, ceiling: int) -> int:
    """The most frames, at most `ceiling`, that can be made and decoded while `in_hand_ms` of sound plays; 0 if none."""
    spare_ms = in_hand_ms - costs.codec_call_ms + _EPSILON_MS
    each_ms = costs.step_ms + costs.codec_frame_ms
    if spare_ms < each_ms or spare_ms < 0.0:
        return 0
    return ceiling if each_ms * ceiling <= spare_ms else int(spare_ms / each_ms)


def first_block(costs: Costs, ceiling: int, margin_ms: float = 0.0) -> int:
    """The smallest first block, 1 to `ceiling` frames, after which the sound in hand never falls below `margin_ms`.

    `ceiling` where no block achieves that.
    """
    for frames in range(1, ceiling):
        if _lasts(costs, frames, ceiling, margin_ms):
            return frames
    return ceiling


def block_due(costs: Costs, gathered: int, in_hand_ms: float, ceiling: int, margin_ms: float = 0.0) -> bool:
    """Whether a block of `gathered` frames must go to the codec now.

    True at the ceiling, and where waiting one step more would not leave the time to decode before the sound runs out.
    """
    if gathered < 1:
        return False
    return gathered >= ceiling or costs.step_ms + costs.codec_ms(gathered + 1) > in_hand_ms - margin_ms + _EPSILON_MS


def _lasts(costs: Costs, first: int, ceiling: int, margin_ms: float) -> bool:
    """Whether largest blocks after a first one of `first` frames keep the law for ever.

    The sound in hand changes with each block by n * frame_ms - t(n), which grows with n. If the second block does not
    lessen it, no later one will; if it does, the blocks shrink until none fits.
    """
    second = largest_block(costs, first * costs.frame_ms - margin_ms, ceiling)
    return second > 0 and costs.block_ms(second) <= second * costs.frame_ms + _EPSILON_MS
