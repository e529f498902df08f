"""The record of work: bounded, in order, and what a bench reads from it."""

from __future__ import annotations

import pytest

from engines.timing import Span, Timeline, Work, step_gaps_ms


def span(work: Work, began_ms: float, ended_ms: float) -> Span:
    return Span(work, began_ms / 1000.0, ended_ms / 1000.0, (0,), 1)


def test_the_oldest_is_forgotten() -> None:
    timeline = Timeline(kept=3)
    for number in range(5):
        timeline.add(Work.STEP, number, number + 0.5, (0, 1), 2, number)
    assert [kept.utterance for kept in timeline.spans()] == [2, 3, 4]
    assert timeline.spans()[0] == Span(Work.STEP, 2, 2.5, (0, 1), 2, 2)


def test_gaps_are_between_steps_that_follow_each_other() -> None:
    spans = [
        span(Work.STEP, 0, 10),
        span(Work.CODEC, 5, 30),
        span(Work.STEP, 11, 20),
        span(Work.PREFILL, 20.5, 30),
        span(Work.STEP, 31, 40),
        span(Work.STEP, 500, 510),
    ]
    assert step_gaps_ms(spans) == pytest.approx([1.0])
