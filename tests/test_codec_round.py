"""Who goes in one call of the codec, and with how much: in time for everyone where that can be."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.chunk_policy import Costs
from engines.codec_round import Block, CodecPolicy, Round
from engines.pacing import slack_ms

COSTS = Costs(frame_ms=80.0, step_ms=5.0, codec_call_ms=2.0, codec_frame_ms=2.0)
POLICY = CodecPolicy(call_ms=100.0, margin_ms=30.0)
SINGLY = CodecPolicy(call_ms=100.0, margin_ms=30.0, batching=False)


def a_round(in_hand_ms: dict[int, float], *, costs: Costs = COSTS, policy: CodecPolicy = SINGLY) -> Round:
    """All heard streams have 20 frames and can be decoded now."""
    return Round(costs, policy, dict.fromkeys(in_hand_ms, 0.0), in_hand_ms, lambda slot: 20)


def test_a_newcomer_gets_all_it_has_where_nobody_is_heard() -> None:
    block = Round(COSTS, SINGLY, {3: 0.0}, {}, lambda slot: 7).block(3, 0.0)
    assert (block.slots, block.frames, block.late) == (range(3, 4), 7, False)


def test_no_call_is_longer_than_it_should_be() -> None:
    assert Round(COSTS, SINGLY, {0: 0.0}, {}, lambda slot: 200).block(0, 0.0).frames == 49


def test_everyone_gets_about_as_much() -> None:
    """60 ms: less the margin, and two calls, 26 for both."""
    assert a_round({0: 60.0, 1: 60.0}).block(0, 0.0).frames == 6


def test_the_margin_is_used_before_it_is_too_late_but_not_all_of_it() -> None:
    block = a_round({0: 20.0, 1: 20.0}).block(0, 0.0)
    assert not block.late
    assert 1 <= block.frames < 5, "there would be time for 5"


@pytest.mark.parametrize(("late_for_ms", "frames"), [(0.0, 1), (300.0, 4)])
def test_too_late_a_little_and_in_the_long_run_what_keeps_pace(late_for_ms: float, frames: int) -> None:
    block = a_round(dict.fromkeys(range(30), 0.0)).block(0, late_for_ms)
    assert (block.late, block.frames) == (True, frames)


def test_neighbours_go_along_where_calls_are_dear() -> None:
    dear = Costs(frame_ms=80.0, step_ms=5.0, codec_call_ms=20.0, codec_frame_ms=0.5)
    assert len(a_round(dict.fromkeys(range(8), 90.0), costs=dear, policy=POLICY).block(3, 0.0).slots) > 1
    assert a_round(dict.fromkeys(range(3), 90.0), costs=dear, policy=POLICY).block(1, 0.0).slots == range(3)
    assert len(a_round(dict.fromkeys(range(8), 500.0), policy=SINGLY).block(3, 0.0).slots) == 1


def test_where_all_would_get_crumbs_the_first_take_what_is_in_time_for_them() -> None:
    """A frame of each of four takes 38 of the 40 ms that one of them has; a block worth its call would take 54."""
    dear, policy = Costs(frame_ms=80.0, step_ms=5.0, codec_call_ms=30.0, codec_frame_ms=2.0), CodecPolicy(call_ms=100.0)
    block = a_round({0: 60.0, 1: 80.0, 2: 40.0, 3: 80.0, 4: 200.0}, costs=dear, policy=policy).block(0, 0.0)
    assert block == Block(range(4), 1, late=False)


def test_the_first_takes_a_block_that_keeps_pace_where_the_others_can_still_have_a_frame_each() -> None:
    dear, policy = (
        Costs(frame_ms=80.0, step_ms=5.0, codec_call_ms=30.0, codec_frame_ms=2.0),
        CodecPolicy(batching=False),
    )
    assert a_round({0: 400.0, 1: 100.0, 2: 100.0}, costs=dear, policy=policy).block(0, 0.0) == Block(range(1), 2, False)


@given(
    in_hand_ms=st.dictionaries(st.integers(0, 15), st.floats(0.0, 400.0), min_size=1),
    call_ms=st.floats(0.1, 20.0),
    frame_ms=st.floats(0.1, 10.0),
    batching=st.booleans(),
)
def test_what_is_not_late_leaves_time_for_a_frame_of_everyone(
    in_hand_ms: dict[int, float], call_ms: float, frame_ms: float, batching: bool
) -> None:
    costs = Costs(frame_ms=80.0, step_ms=5.0, codec_call_ms=call_ms, codec_frame_ms=frame_ms)
    policy = POLICY if batching else SINGLY
    urgent = min(in_hand_ms, key=in_hand_ms.__getitem__)
    block = a_round(in_hand_ms, costs=costs, policy=policy).block(urgent, 0.0)
    assert urgent in block.slots
    assert 1 <= block.frames <= 20
    if block.late:
        return
    took_ms = costs.codec_ms(block.frames * len(block.slots))
    others = {slot: in_hand - took_ms for slot, in_hand in in_hand_ms.items() if slot not in block.slots}
    assert min((in_hand_ms.get(slot, inf) for slot in block.slots), default=inf) >= took_ms - 1e-6
    assert slack_ms(others, costs, batching=batching) >= -1e-6
