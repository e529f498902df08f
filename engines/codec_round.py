"""One call of the codec: who goes along, and how many frames of each.

Purpose: everyone gets about as many frames in a round, the most that let nobody run dry: who takes more leaves crumbs
to the others, and crumbs are dear; but where all would get crumbs, the first takes a block that is worth its call.
Neighbours in the slots go along in one call when they would be due before it is over, that leaves everyone as much, and
the call would not pay without them. Knows: by slot, sound in hand and when a block is due; what calls cost. Does not
know: streams, rings, clocks, threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from engines.chunk_policy import Costs, ample, frames_within, late_block, steady_block
from engines.pacing import frames_for_all, slack_ms

_OF_SLACK: Final = 0.8  # kept in hand where it is less than the margin


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecPolicy:
    """How the codec's calls are laid out."""

    call_ms: float = 1e9
    """What a call should take at most."""
    margin_ms: float = 0.0
    """Sound that should stay in hand."""
    batching: bool = True
    """Decode several utterances in one call."""
    overlap: bool = True
    """Decode while the talker goes on; without it an utterance is decoded when all of its frames are there."""
    adaptive: bool = True
    """Compute the blocks from measured costs; without it every block is of the ceiling's size."""
    silence_samples: int = 0
    """How long an utterance's sound may be silent, samples; 0 for ever."""


@dataclass(frozen=True, slots=True)
class Block:
    """What is decoded in one call."""

    slots: range
    frames: int
    """Of each."""
    late: bool
    """Whether somebody's sound runs out whatever is done."""


class Round:
    """How things stand before a call."""

    def __init__(
        self,
        costs: Costs,
        policy: CodecPolicy,
        waits_ms: Mapping[int, float],
        in_hand_ms: Mapping[int, float],
        available: Callable[[int], int],
    ) -> None:
        """By slot, `waits_ms`: until a block is due; `in_hand_ms`: of those who are heard; `available`: the frames that
        the next block can have."""
        self._costs, self._policy = costs, policy
        self._waits_ms, self._in_hand_ms, self._available = waits_ms, in_hand_ms, available
        self.slack_ms = slack_ms(in_hand_ms, costs, batching=policy.batching)
        """How long the codec can do something else (`engines.pacing.slack_ms`)."""
        # What should stay in hand may be used before it is too late, but no more of it than is needed.
        self._margin_ms = max(min(policy.margin_ms, _OF_SLACK * self.slack_ms), 0.0)

    def block(self, urgent: int, late_for_ms: float) -> Block:
        """The call that slot `urgent` needs most; `late_for_ms`: how long it has been too late for somebody."""
        steady = steady_block(self._costs, len(self._in_hand_ms))
        slots, frames, most = self._company(urgent)
        if frames < steady:
            frames = max(frames, min(self._leaving_one(slots), steady, most))
        late = frames < 1.0
        if late:
            frames = min(most, late_block(self._costs, steady, late_for_ms) / len(slots))
        return Block(slots, max(int(frames), 1), late)

    def _company(self, urgent: int) -> tuple[range, float, int]:
        """The slots that go together so that everyone can have the most frames, how many, and how many there are."""
        low = high = urgent
        most = available = self._available(urgent)
        best, frames = range(low, high + 1), 0.0
        soon_ms = self._costs.codec_ms(available)
        while True:
            slots = range(low, high + 1)
            slot = self._neighbour(low, high, soon_ms) if self._policy.batching else None
            if slot is None or len(slots) & (len(slots) - 1) == 0:  # 1, 2, 4, ... and all: enough to choose from
                fits = min(self._fitting(slots), available)
                if fits >= frames:
                    best, frames, most = slots, fits, available
                if len(slots) * fits >= ample(self._costs):
                    return best, frames, most
            if slot is None:
                return best, frames, most
            low, high = min(low, slot), max(high, slot)
            available = min(available, self._available(slot))

    def _fitting(self, company: range) -> float:
        """How many frames each can be given if so many go together: in time for all, and the call not too long."""
        hand, margin_ms = self._in_hand_ms, self._margin_ms
        together = [hand[slot] - margin_ms for slot in company if slot in hand]
        others = sorted(in_hand - margin_ms for slot, in_hand in hand.items() if slot not in company)
        within_call = frames_within(self._costs, self._policy.call_ms) / len(company)
        bound = max(within_call, 1.0) if len(company) == 1 else within_call
        return min(frames_for_all(together, others, len(company), self._costs), bound)

    def _leaving_one(self, company: range) -> float:
        """How many frames each of the company can be given if the others get one each after them, in time for all."""
        together = min((self._in_hand_ms[slot] for slot in company if slot in self._in_hand_ms), default=inf)
        others = {slot: in_hand for slot, in_hand in self._in_hand_ms.items() if slot not in company}
        room_ms = min(together, slack_ms(others, self._costs, batching=False)) - self._margin_ms
        return frames_within(self._costs, room_ms) / len(company)

    def _neighbour(self, low: int, high: int, soon_ms: float) -> int | None:
        """The more urgent of the slots beside these, if it has frames and is due before long."""
        beside = [slot for slot in (low - 1, high + 1) if self._waits_ms.get(slot, inf) <= soon_ms]
        return min(beside, key=self._waits_ms.__getitem__, default=None)
