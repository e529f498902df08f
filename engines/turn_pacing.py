"""Whose frame is needed, and whether there is time for a prompt: the talker's half of pacing.

Purpose: put `engines.pacing`'s rules to the turns under way. Knows: how far each is ahead of its listener, what runs
cost. Does not know: the talker, who comes and goes, clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engines.admission import step_ms
from engines.costs import CostModel
from engines.pacing import PATIENCE_MS, in_hand_ms, slack_ms, who_steps
from engines.turn import Turn

_MOST_DELAYS: Final = 8  # ticks that a prompt waits for those who speak to get ahead


class TurnPacing:
    """See the module's text. One thread at a time."""

    def __init__(
        self, costs: CostModel, frame_ms: float, *, comfortable_ms: float, margin_ms: float, batching: bool
    ) -> None:
        """`comfortable_ms`: sound ahead that lets one rest; `margin_ms`: sound that nobody should have less of;
        `batching`: whether the codec serves several in one call.
        """
        self._costs, self._frame_ms = costs, frame_ms
        self._comfortable_ms, self._margin_ms, self._batching = comfortable_ms, margin_ms, batching
        self._delays = 0  # of prompts, in ticks, since the last piece

    def steps(self, able: Sequence[Turn], now: float) -> list[Turn]:
        """Those of the able, who are in the order of their slots, who step now; `now`: seconds."""
        ahead_ms = {turn.slot: self._ahead_ms(turn, now) for turn in able}
        chosen = set(who_steps(ahead_ms, self._comfortable_ms))
        return [turn for turn in able if turn.slot in chosen]

    def prompt_fits(self, rows: int, turns: Iterable[Turn], now: float, *, first: bool) -> bool:
        """Whether so many rows of a prompt can be run before those who speak need their next frame.

        The `first` of a tick need not fit when prompts were put off for some ticks.
        """
        return self._costs.prompt_ms(rows) <= self._spare_ms(turns, now) or (first and self._delays >= _MOST_DELAYS)

    def prompts_ran(self, rows: int) -> None:
        """A tick in which prompts waited is over, and so many of their rows were run."""
        self._delays = 0 if rows else self._delays + 1

    def _spare_ms(self, turns: Iterable[Turn], now: float) -> float:
        """How long the next step can wait before somebody's sound runs out.

        Who is not heard in real time may go along in that step, and so does whoever has a prompt run now.
        """
        stepping = [turn for turn in turns if turn.room or turn.prompt is not None]
        ahead_ms = {
            turn.slot: self._ahead_ms(turn, now)
            for turn in stepping
            if turn.room and turn.utterance.realtime and turn.utterance.progress.frames
        }
        slots = [turn.slot for turn in stepping]
        ran_ms = step_ms(self._costs.step_ms_of(), max(slots) + 1 - min(slots)) if slots else 0.0
        return slack_ms(ahead_ms, self._costs.snapshot(), batching=self._batching) - ran_ms - self._margin_ms

    def _ahead_ms(self, turn: Turn, now: float) -> float:
        """Sound that a turn has made and its listener not heard; whose first is being decoded is heard from now.

        Where nobody listens in real time, it counts as comfortable, and less so the longer it has had no frame.
        """
        progress = turn.utterance.progress
        if not turn.utterance.realtime:
            return self._comfortable_ms + PATIENCE_MS - 1000.0 * (now - progress.frame_at)
        heard_from = now if progress.heard_from is None else progress.heard_from
        return in_hand_ms(progress.frames * self._frame_ms, heard_from, now)
