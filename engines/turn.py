"""An utterance in its slot, as the talker's loop keeps it.

Purpose: count what was launched and what came back, and say whether another frame may be launched. Knows: one
utterance, its bounds. Does not know: other utterances, the talker, clocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from engines.manifest import Limits
from engines.prompt import Prompt
from engines.runaway import LoopDetector
from engines.sampling import GumbelNoise
from engines.utterance import LiveUtterance


@dataclass(slots=True, eq=False)
class Turn:
    """See the module's text."""

    slot: int
    utterance: LiveUtterance
    prompt: Prompt | None
    """None once it is in."""
    noise: GumbelNoise
    loop: LoopDetector
    most_frames: int
    rows_done: int = 0
    """Rows of the prompt that are in."""
    launched: int = 0
    """Frames launched, which is also the number of the next one; the one that ends it counts."""
    in_flight: int = 0
    """Frames launched of which the codes are not known yet."""

    @property
    def first(self) -> bool:
        """Whether the next frame is the prompt's own, which has its text."""
        return self.launched == 0

    @property
    def room(self) -> bool:
        """Whether its prompt is in, and one more frame has a place in the ring and within the limit, whatever becomes
        of those in flight."""
        utterance = self.utterance
        if self.prompt is not None or utterance.lost or not utterance.frames.writable:
            return False
        return self.in_flight < min(utterance.frames.free, self.most_frames - utterance.progress.frames)

    def plausible_frames(self, limits: Limits) -> int:
        """The most frames that the text can take to say, once its length is known; beyond it the end was missed."""
        text = self.utterance.text_length
        if text is None:
            return self.most_frames
        return max(limits.min_frames_cap, int(limits.frames_per_text_token * text))


@dataclass(frozen=True, slots=True)
class Flight:
    """A frame that was launched and not yet collected."""

    turns: tuple[Turn, ...]
    """By slot."""
    began: float
    """When it was launched, by the clock, seconds."""

    @property
    def slots(self) -> tuple[int, ...]:
        """Those that step."""
        return tuple(turn.slot for turn in self.turns)
