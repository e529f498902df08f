"""How many real-time streams this device holds.

Purpose: from what steps and codec calls cost here and now, the number of utterances that can be spoken at once without
anyone's sound running out; more are refused rather than everyone be broken. Pure functions of numbers. Knows:
milliseconds. Does not know: clocks, who is speaking, why a device is slow (heat and power show in the costs).

The talker owes each stream a frame every `frame_ms`, all in one step; the codec owes each its frames, in blocks. Both
must do so within a share of the time, since costs vary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engines.chunk_policy import Costs

SHARE: Final = 0.85
"""Of the time, that the talker may be busy."""
_CODEC_SHARE: Final = 0.75  # that the codec may; its calls hold each other up, and small ones cost more
BLOCK_FRAMES: Final = 8
"""Of a codec call under load: what is gathered when many speak."""


def real_time_streams(costs: Costs, step_ms_of: Mapping[int, float], slots: int) -> int:
    """The most streams, 1 to `slots`; `step_ms_of` tells the duration of a step by the streams in it.

    Sizes that were not measured lie on a line between the nearest that were. Where no step was measured, nothing is
    known, and the answer is all slots.
    """
    if not step_ms_of:
        return slots
    budget_ms = SHARE * costs.frame_ms
    block = BLOCK_FRAMES * costs.codec_frame_ms + costs.codec_call_ms
    codec_ms = block / BLOCK_FRAMES
    most = slots
    if codec_ms * slots > _CODEC_SHARE * costs.frame_ms:
        most = int(_CODEC_SHARE * costs.frame_ms / codec_ms)
    while most > 1 and step_ms(step_ms_of, most) > budget_ms:
        most -= 1
    return max(most, 1)


def step_ms(step_ms_of: Mapping[int, float], streams: int) -> float:
    """The duration of a step of that many streams, milliseconds; 0 where nothing is known."""
    below = max((known for known in step_ms_of if known <= streams), default=None)
    above = min((known for known in step_ms_of if known >= streams), default=None)
    if below is None or above is None:
        edge = below or above
        if edge is None:
            return 0.0
        return step_ms_of[edge] * max(streams / edge, 1.0)  # beyond the last: no dearer than in proportion
    if above == below:
        return step_ms_of[below]
    part = (streams - below) / (above - below)
    return (1.0 - part) * step_ms_of[below] + part * step_ms_of[above]
