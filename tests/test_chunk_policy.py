"""The block policy: what is due, and that the smallest first block is found. The codec loop's tests play it in time."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from engines.chunk_policy import Costs, block_due, first_block, late_block, spare_ms, widest_block

FRAME_MS = 80.0


def costs_of(step_ms: float, call_ms: float, per_frame_ms: float) -> Costs:
    return Costs(FRAME_MS, step_ms, call_ms, per_frame_ms)


some_costs = st.builds(costs_of, st.floats(0, 100), st.floats(0, 300), st.floats(0, 90))


@given(costs=some_costs, gathered=st.integers(1, 24), next_in_ms=st.floats(0, 100), in_hand_ms=st.floats(-100, 3000))
def test_what_is_not_due_can_wait_for_one_more(
    costs: Costs, gathered: int, next_in_ms: float, in_hand_ms: float
) -> None:
    due = block_due(costs, gathered, next_in_ms, in_hand_ms, 25)
    assert due is (next_in_ms > spare_ms(costs, gathered, in_hand_ms))
    if not due:
        assert in_hand_ms - next_in_ms - costs.codec_ms(gathered + 1) >= -1e-3


def test_nothing_gathered_is_never_due_and_a_full_block_always() -> None:
    costs = costs_of(1.0, 1.0, 1.0)
    assert not block_due(costs, 0, 1.0, -100.0, 25)
    assert block_due(costs, 25, 1.0, 1e9, 25)
    assert block_due(costs, 1, 1.0, -100.0, 25), "one frame is better than silence"


@given(costs=some_costs, ceiling=st.integers(1, 30), margin_ms=st.floats(0, 40))
def test_the_first_block_is_within_bounds(costs: Costs, ceiling: int, margin_ms: float) -> None:
    assert 1 <= first_block(costs, ceiling, margin_ms) <= ceiling


@given(costs=some_costs, dearer=st.floats(0, 50))
def test_a_dearer_call_needs_no_smaller_first_block(costs: Costs, dearer: float) -> None:
    slower = costs_of(costs.step_ms, costs.codec_call_ms + dearer, costs.codec_frame_ms)
    assert first_block(slower, 25) >= first_block(costs, 25)


def test_a_fast_machine_starts_with_one_frame() -> None:
    assert first_block(costs_of(5.0, 10.0, 2.0), 25, 20.0) == 1


def test_talker_and_codec_side_by_side_are_not_added_up() -> None:
    """Together they need 95 ms for 80 ms of sound; on two cores that is real time all the same."""
    assert first_block(costs_of(50.0, 5.0, 45.0), 25, 20.0) < 6


def test_frames_that_come_just_in_time_leave_no_margin() -> None:
    """A frame every 60 ms is there 20 before it is needed; only what was gathered before keeps 30 in hand."""
    assert first_block(costs_of(45.0, 10.0, 5.0), 25, 30.0) == 1
    assert first_block(costs_of(60.0, 10.0, 5.0), 25, 30.0) == 2


def test_slower_than_real_time_takes_the_ceiling() -> None:
    assert first_block(costs_of(81.0, 0.0, 1.0), 25) == 25
    assert first_block(costs_of(1.0, 0.0, 81.0), 25) == 25


def test_load_makes_codec_calls_dearer() -> None:
    costs = costs_of(30.0, 10.0, 5.0)
    assert costs.under_load(3, batching=False) == costs_of(30.0, 30.0, 15.0)
    assert costs.under_load(4, batching=True) == costs_of(30.0, 20.0, 20.0)
    assert costs.under_load(1, batching=True) == costs.under_load(0, batching=False) == costs


def test_too_late_a_little_at_first_then_what_keeps_pace() -> None:
    costs = costs_of(30.0, 4.0, 2.0)
    assert [late_block(costs, steady, late_ms) for steady in (1.0, 5.0, inf) for late_ms in (0.0, 300.0)] == [
        2.0, 2.0, 2.0, 5.0, 2.0, 8.0,
    ]  # fmt: skip
    assert late_block(costs_of(30.0, 0.0, 2.0), inf, 0.0) == 1.0


@given(costs=some_costs, call_ms=st.floats(1, 500), ceiling=st.integers(1, 30))
def test_the_widest_block_is_bounded_in_time(costs: Costs, call_ms: float, ceiling: int) -> None:
    widest = widest_block(costs, call_ms, ceiling)
    assert 1 <= widest <= ceiling
    assert widest == 1 or costs.codec_ms(widest) <= max(call_ms, 5.0 * costs.codec_call_ms) + 1e-6


def test_the_widest_block_of_slow_fast_and_unknown_machines() -> None:
    assert widest_block(costs_of(50.0, 10.0, 60.0), 250.0, 25) == 4
    assert widest_block(costs_of(5.0, 2.0, 3.0), 250.0, 25) == 25
    assert widest_block(costs_of(0.0, 0.0, 0.0), 250.0, 25) == 25
    assert widest_block(costs_of(50.0, 200.0, 10.0), 250.0, 25) == 25
