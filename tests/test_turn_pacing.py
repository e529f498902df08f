"""Whose frame is needed, and whether there is time for a prompt, from made-up turns and known costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from engines.costs import CostModel
from engines.pacing import PATIENCE_MS
from engines.turn import Turn
from engines.turn_pacing import TurnPacing
from engines.utterance import Progress

NOW = 100.0
FOREVER_ROWS = 10**6


def turn(slot: int, frames: int, *, heard_s: float | None = 0.0, realtime: bool = True, prompt: bool = False) -> Turn:
    """One who made so many frames of 80 ms, heard for so long; or who has a prompt to come."""
    heard_from = None if heard_s is None else NOW - heard_s
    progress = Progress(frames=frames, heard_from=heard_from, frame_at=NOW)
    utterance = SimpleNamespace(realtime=realtime, progress=progress)
    return cast(
        "Turn", SimpleNamespace(slot=slot, room=not prompt, prompt=object() if prompt else None, utterance=utterance)
    )


def pacing() -> TurnPacing:
    """Rows of a prompt take 1 ms, steps of 1 to 4 slots 5 to 20, a frame in the codec 3; 30 ms are kept in hand."""
    costs = CostModel(80.0)
    costs.prompt_took(10, 10.0)
    costs.step_lasts(1, 5.0, 5.0)
    costs.step_lasts(4, 20.0, 20.0)
    costs.codec_took(1, 3.0)
    return TurnPacing(costs, 80.0, comfortable_ms=1000.0, margin_ms=30.0, batching=True)


def fits(made: TurnPacing, rows: int, *turns: Turn, first: bool = False) -> bool:
    return made.prompt_fits(rows, turns, NOW, first=first)


@pytest.mark.parametrize(
    ("turns", "rows"),
    [
        ([turn(0, 2)], 122),  # 160 ms in hand, less the step, the codec's frame and the margin
        ([turn(0, 2, heard_s=0.0625)], 59),
        ([turn(0, 2, heard_s=None)], 122),  # being decoded: heard from now
        ([turn(0, 2), turn(3, 9, prompt=True)], 107),  # who has a prompt now goes along in the next step
        ([turn(0, 2), turn(3, 2)], 104),  # and so does whoever is heard, with a frame of his own
        ([turn(0, 2), turn(3, 0, realtime=False)], 107),
        ([turn(0, 2), turn(1, 0, heard_s=None)], 117),  # who has no frame yet has nobody who waits for the next
    ],
)
def test_a_prompt_fits_where_nobody_runs_dry_before_the_next_step(turns: list[Turn], rows: int) -> None:
    assert fits(pacing(), rows, *turns)
    assert not fits(pacing(), rows + 1, *turns)


@pytest.mark.parametrize("turns", [[], [turn(0, 2, realtime=False)], [turn(0, 0, prompt=True)]])
def test_a_prompt_fits_where_nobody_listens(turns: list[Turn]) -> None:
    assert fits(pacing(), FOREVER_ROWS, *turns)


def test_a_prompt_is_put_off_eight_times_and_then_run_all_the_same() -> None:
    made, busy = pacing(), turn(0, 1)
    for _ in range(2):
        for _ in range(8):
            assert not fits(made, FOREVER_ROWS, busy, first=True)
            made.prompts_ran(0)
        assert not fits(made, FOREVER_ROWS, busy), "only the first of a tick"
        assert fits(made, FOREVER_ROWS, busy, first=True)
        made.prompts_ran(64)


def test_who_has_sound_enough_rests_while_another_has_not() -> None:
    short, ahead, file = turn(0, 5), turn(1, 50), turn(2, 0, realtime=False)
    assert pacing().steps([short, ahead, file], NOW) == [short]
    assert pacing().steps([ahead, file], NOW) == [ahead, file]
    assert pacing().steps([ahead, file], NOW + 0.6) == [file], "who was forgotten for half a second is needed most"


def test_a_fast_stream_is_not_forgotten() -> None:
    short, file = turn(0, 1), turn(1, 0, realtime=False)
    assert pacing().steps([short, file], NOW) == [short]
    assert pacing().steps([short, file], NOW + PATIENCE_MS / 1000.0) == [short]
    assert pacing().steps([short, file], NOW + PATIENCE_MS / 1000.0 + 0.001) == [short, file]
