"""How many a device holds, from costs made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.admission import SHARE, DeviceCosts, real_time_streams, step_ms
from engines.chunk_policy import Costs

SLOTS = 64


def codec(call_ms: float = 0.0, frame_ms: float = 0.0) -> Costs:
    return Costs(80.0, 0.0, call_ms, frame_ms)


def steady(steps: dict[int, float], call_ms: float = 0.0, frame_ms: float = 0.0) -> DeviceCosts:
    """Talker and codec are not in each other's way."""
    return DeviceCosts(codec(call_ms, frame_ms), codec(call_ms, frame_ms), steps)


def test_nothing_known_is_no_reason_to_refuse() -> None:
    assert real_time_streams(steady({}, 9.0, 99.0), SLOTS, batching=True) == SLOTS


@pytest.mark.parametrize(
    ("call_ms", "frame_ms", "steps", "held"),
    [
        (0.0, 0.0, {1: 6.0, 64: 20.0}, 64),
        (0.0, 0.0, {1: 6.0, 64: 131.0}, 32),  # 67.5 ms; at 33 it would be 69.5
        (0.0, 5.0, {1: 6.0, 64: 20.0}, 12),
        (16.0, 3.0, {1: 6.0, 64: 20.0}, 12),
        (0.0, 200.0, {1: 6.0}, 1),
        (0.0, 0.0, {1: 100.0}, 1),
        (0.0, 0.0, {1: 10.0}, 6),  # beyond what is known: in proportion
    ],
)
def test_the_dearer_of_talker_and_codec_decides(
    call_ms: float, frame_ms: float, steps: dict[int, float], held: int
) -> None:
    assert real_time_streams(steady(steps, call_ms, frame_ms), SLOTS, batching=False) == held


@pytest.mark.parametrize(
    ("frame_ms", "alone_ms", "step", "held"),
    [
        (4.0, 4.0, 40.0, 15),  # 60 ms
        (5.0, 4.0, 40.0, 13),  # half of the time beside steps: 58.5 ms; 14 would take 63
        (5.0, 4.0, 16.0, 13),  # a fifth of the time: 14 would take 58.8 ms, but 70 beside steps
        (4.5, 4.0, 16.0, 14),  # 57.4 ms, beside steps 63
    ],
)
def test_the_codec_is_slowed_down_for_as_long_as_the_talker_works(
    frame_ms: float, alone_ms: float, step: float, held: int
) -> None:
    costs = DeviceCosts(codec(frame_ms=frame_ms), codec(frame_ms=alone_ms), {1: step, SLOTS: step})
    assert real_time_streams(costs, SLOTS, batching=True) == held


def test_neighbours_share_a_call() -> None:
    costs = steady({1: 6.0, SLOTS: 20.0}, 16.0, 3.0)
    assert real_time_streams(costs, SLOTS, batching=True) == 15  # two to a call: 4 ms a frame
    assert real_time_streams(costs, SLOTS, batching=False) == 12  # 5 ms


@given(
    steps=st.dictionaries(st.integers(1, SLOTS), st.floats(0.1, 200.0), min_size=1),
    frame_ms=st.floats(0.0, 100.0),
    alone=st.floats(0.3, 1.0),
    slots=st.integers(1, SLOTS),
)
def test_what_is_held_fits_the_time(steps: dict[int, float], frame_ms: float, alone: float, slots: int) -> None:
    def held_by(slower: float, alone: float) -> int:
        frames_ms, steps_ms = slower * frame_ms, {streams: slower * ms for streams, ms in steps.items()}
        return real_time_streams(
            DeviceCosts(codec(frame_ms=frames_ms), codec(frame_ms=alone * frames_ms), steps_ms), slots, batching=True
        )

    held, careful = held_by(1.0, alone), held_by(1.0, 1.0)
    assert 1 <= careful <= held <= slots
    assert held == 1 or max(step_ms(steps, held), held * frame_ms) <= SHARE * 80.0 + 1e-6
    assert held_by(1.3, alone) <= held
