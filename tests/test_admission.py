"""How many a device holds, from costs made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.admission import SHARE, SLOWDOWN, DeviceCosts, real_time_streams, step_ms, streams_ahead
from engines.chunk_policy import Costs

SLOTS = 64


def codec(call_ms: float = 0.0, frame_ms: float = 0.0) -> Costs:
    return Costs(80.0, 0.0, call_ms, frame_ms)


def steady(steps: dict[int, float], call_ms: float = 0.0, frame_ms: float = 0.0) -> DeviceCosts:
    """Talker and codec are not in each other's way."""
    return DeviceCosts(codec(call_ms, frame_ms), codec(call_ms, frame_ms), steps)


def held_by(costs: DeviceCosts, slots: int = SLOTS, *, batching: bool = True) -> int:
    """As many as are held if all are ahead of their listeners."""
    return real_time_streams(costs, slots, batching=batching, ahead=slots)


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
    assert held_by(steady(steps, call_ms, frame_ms), batching=False) == held


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
    assert held_by(costs) == held


def test_neighbours_share_a_call() -> None:
    costs = steady({1: 6.0, SLOTS: 20.0}, 16.0, 3.0)
    assert held_by(costs) == 15  # two to a call: 4 ms a frame
    assert held_by(costs, batching=False) == 12  # 5 ms


def test_who_is_not_ahead_must_be_held_by_a_slower_device_too() -> None:
    costs = steady({1: 6.0, SLOTS: 20.0}, 0.0, 3.0)
    assert [real_time_streams(costs, SLOTS, batching=True, ahead=ahead) for ahead in (0.0, 2.6, 99.0)] == [13, 15, 20]
    assert held_by(costs.slower(SLOWDOWN)) == 13


def test_steps_of_sizes_that_were_not_measured() -> None:
    known = {4: 10.0, 8: 30.0}
    assert [step_ms(known, streams) for streams in (1, 4, 5, 8, 16)] == [10.0, 10.0, 15.0, 30.0, 60.0]
    assert step_ms({}, 4) == 0.0


def test_who_has_half_of_what_is_comfortable_counts_as_half_ahead() -> None:
    assert streams_ahead([], 2000.0) == 0.0
    assert streams_ahead([-50.0, 0.0, 1000.0, 2000.0, 9000.0], 2000.0) == 2.5
    assert streams_ahead([0.0, 1.0, -5.0], 0.0) == 3.0  # nothing is comfortable already


@given(
    steps=st.dictionaries(st.integers(1, SLOTS), st.floats(0.1, 200.0), min_size=1),
    frame_ms=st.floats(0.0, 100.0),
    alone=st.floats(0.3, 1.0),
    slots=st.integers(1, SLOTS),
)
def test_what_is_held_fits_the_time(steps: dict[int, float], frame_ms: float, alone: float, slots: int) -> None:
    def made(slower: float, alone: float) -> DeviceCosts:
        frames_ms, steps_ms = slower * frame_ms, {streams: slower * ms for streams, ms in steps.items()}
        return DeviceCosts(codec(frame_ms=frames_ms), codec(frame_ms=alone * frames_ms), steps_ms)

    held, careful = held_by(made(1.0, alone), slots), held_by(made(1.0, 1.0), slots)
    assert 1 <= careful <= held <= slots
    assert held == 1 or max(step_ms(steps, held), held * frame_ms) <= SHARE * 80.0 + 1e-6
    assert held_by(made(1.3, alone), slots) <= held
    reserved = real_time_streams(made(1.0, alone), slots, batching=True)
    assert 1 <= reserved <= held
    assert reserved == held_by(made(SLOWDOWN, alone), slots)
