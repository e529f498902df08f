"""How many real-time streams this device holds.

Purpose: from what steps and codec calls cost here and now, the number of utterances that can be spoken at once without
anyone's sound running out; more are refused rather than everyone be broken. Pure functions of numbers. Knows:
milliseconds. Does not know: clocks, who is speaking, why a device is slow (heat and power show in the costs).

The talker owes each stream a frame every `frame_ms`, all in one step; the codec owes each its frames, in blocks. Both
must do so within a share of the time, since costs vary, and either is slower while the other is at work. In a burst
both always are. In the long run the talker rests for a part of the time, in which the codec is faster; then it must
have more time to spare, since its calls hold each other up, and small ones cost more.

And all of this must hold should the device become slower after people were let in, for those who are not yet ahead of
their listeners: the others live on what they have in hand. So fewer are let in at one moment than one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from engines.chunk_policy import COMPANY, Costs

SHARE: Final = 0.85
"""Of the time, that the talker, or in a burst the codec, may be busy."""
_CODEC_SHARE: Final = 0.75  # that the codec may in the long run
SLOWDOWN: Final = 1.5
"""What costs may become to those already let in, times what they were: a machine shared with others fell to 60 to 70 %
of its speed, for seconds (docs/LOG.md, 2026-11-21)."""
BLOCK_FRAMES: Final = 8
"""Of each stream in a codec call under load: what is gathered when many speak."""


@dataclass(frozen=True, slots=True)
class DeviceCosts:
    """What speaking costs, as slow as it is in bad moments."""

    codec: Costs
    """Of the codec beside the talker's steps."""
    codec_alone: Costs
    """Of the codec while the talker rests; at most those above."""
    step_ms_of: Mapping[int, float]
    """The duration of a step beside codec calls, by the streams in it; empty where nothing was measured."""

    def slower(self, times: float) -> DeviceCosts:
        """The same on a device on which everything takes so many times as long."""
        steps_ms = {streams: times * ms for streams, ms in self.step_ms_of.items()}
        return DeviceCosts(self.codec.codec_slower(times), self.codec_alone.codec_slower(times), steps_ms)


def real_time_streams(costs: DeviceCosts, slots: int, *, batching: bool, ahead: float = 0.0) -> int:
    """The most streams, 1 to `slots`, that can speak at once.

    `batching`: whether the codec serves several in one call; `ahead`: of those who speak, as many as need no reserve
    (`streams_ahead`). Sizes of steps that were not measured lie on a line between the nearest that were. Where no step
    was measured, nothing is known, and the answer is all slots.
    """
    if not costs.step_ms_of:
        return slots
    reserved = _held(costs.slower(SLOWDOWN), slots, batching)
    return int(min(reserved + ahead, _held(costs, slots, batching)))


def streams_ahead(in_hand_ms: Iterable[float], comfortable_ms: float) -> float:
    """How many streams, parts of one included, are ahead of their listeners; who has `comfortable_ms` is in whole."""
    return sum(1.0 if ms >= comfortable_ms else ms / comfortable_ms for ms in (max(ms, 0.0) for ms in in_hand_ms))


def _held(costs: DeviceCosts, slots: int, batching: bool) -> int:
    """The most streams at just these costs, 1 to `slots`."""
    frames = BLOCK_FRAMES * (COMPANY if batching else 1.0)
    codec_ms, alone_ms = (of.codec_frame_ms + of.codec_call_ms / frames for of in (costs.codec, costs.codec_alone))
    most = max(1, min(slots, int(SHARE * costs.codec.frame_ms / max(codec_ms, 1e-9))))
    while most > 1 and not _holds(costs, most, codec_ms, alone_ms):
        most -= 1
    return most


def _holds(costs: DeviceCosts, streams: int, codec_ms: float, alone_ms: float) -> bool:
    """Whether so many can be spoken, in a burst and in the long run.

    `codec_ms`, `alone_ms`: what a frame costs the codec under load, beside the talker and without it.
    """
    frame_ms = costs.codec.frame_ms
    stepping_ms = step_ms(costs.step_ms_of, streams)
    if max(stepping_ms, streams * codec_ms) > SHARE * frame_ms:
        return False
    mixed_ms = alone_ms + stepping_ms / frame_ms * (codec_ms - alone_ms)
    return streams * mixed_ms <= _CODEC_SHARE * frame_ms


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
