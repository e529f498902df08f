"""The block policy: the law, and that the first block is the smallest that keeps it."""

from __future__ import annotations

from functools import cache

from hypothesis import assume, given
from hypothesis import strategies as st

from engines.chunk_policy import Costs, block_due, first_block, largest_block

FRAME_MS = 80.0

costs_strategy = st.builds(
    Costs,
    frame_ms=st.just(FRAME_MS),
    step_ms=st.integers(0, 90).map(float),
    codec_call_ms=st.integers(0, 200).map(float),
    codec_frame_ms=st.integers(0, 60).map(float),
)


def blocks(costs: Costs, ceiling: int, count: int, margin_ms: float = 0.0) -> list[int]:
    """What an engine does whose times are exact: the first block, then each gathered until it is due."""
    found = [first_block(costs, ceiling, margin_ms)]
    in_hand_ms = found[0] * costs.frame_ms
    while len(found) < count:
        gathered = 1
        while not block_due(costs, gathered, in_hand_ms - gathered * costs.step_ms, ceiling, margin_ms):
            gathered += 1
        in_hand_ms += gathered * costs.frame_ms - costs.block_ms(gathered)
        found.append(gathered)
    return found


def keeps_the_law(costs: Costs, frames: list[int], margin_ms: float = 0.0) -> bool:
    return all(
        sum(frames[:k]) * costs.frame_ms - sum(map(costs.block_ms, frames[1 : k + 1])) >= margin_ms - 1e-3
        for k in range(1, len(frames))
    )


def can_last(costs: Costs, first: int, ceiling: int, count: int) -> bool:
    """By trying everything: whether some sequence of blocks after `first` keeps the law for `count` blocks."""

    @cache
    def lasts(in_hand_ms: float, left: int) -> bool:
        if left == 0:
            return True
        return any(
            costs.block_ms(n) <= in_hand_ms and lasts(in_hand_ms - costs.block_ms(n) + n * costs.frame_ms, left - 1)
            for n in range(1, ceiling + 1)
        )

    return lasts(first * costs.frame_ms, count)


@given(costs=costs_strategy, ceiling=st.integers(1, 30), margin_ms=st.sampled_from([0.0, 20.0]))
def test_the_sound_never_runs_out(costs: Costs, ceiling: int, margin_ms: float) -> None:
    frames = blocks(costs, ceiling, 60, margin_ms)
    assert all(1 <= n <= ceiling for n in frames)
    if first_block(costs, ceiling, margin_ms) < ceiling:
        assert keeps_the_law(costs, frames, margin_ms)


@given(costs=costs_strategy, ceiling=st.integers(1, 4))
def test_no_smaller_first_block_would_do(costs: Costs, ceiling: int) -> None:
    first = first_block(costs, ceiling)
    assume(first > 1)
    assert not can_last(costs, first - 1, ceiling, 40)


@given(costs=costs_strategy, ceiling=st.integers(1, 30), in_hand_ms=st.integers(0, 5000).map(float))
def test_the_largest_block_fits_and_the_next_does_not(costs: Costs, ceiling: int, in_hand_ms: float) -> None:
    n = largest_block(costs, in_hand_ms, ceiling)
    assert 0 <= n <= ceiling
    assert n == 0 or costs.block_ms(n) <= in_hand_ms + 1e-3
    assert n == ceiling or costs.block_ms(n + 1) > in_hand_ms


def test_a_fast_machine_starts_with_one_frame() -> None:
    assert blocks(Costs(FRAME_MS, 5.0, 10.0, 2.0), 25, 4) == [1, 10, 25, 25]


def test_a_slow_codec_call_needs_more_at_first() -> None:
    costs = Costs(FRAME_MS, 40.0, 60.0, 5.0)
    found = blocks(costs, 25, 200)
    assert found[:2] == [2, 2]
    assert found == sorted(found)
    assert found[-1] == 25


def test_slower_than_real_time_takes_the_ceiling() -> None:
    assert first_block(Costs(FRAME_MS, 70.0, 0.0, 11.0), 25) == 25


def test_load_makes_codec_calls_dearer() -> None:
    costs = Costs(FRAME_MS, 30.0, 10.0, 5.0)
    assert costs.under_load(3) == Costs(FRAME_MS, 30.0, 30.0, 15.0)
    assert costs.under_load(0) == costs


def test_nothing_gathered_is_never_due() -> None:
    assert not block_due(Costs(FRAME_MS, 1.0, 1.0, 1.0), 0, -100.0, 25)
    assert block_due(Costs(FRAME_MS, 1.0, 1.0, 1.0), 25, 1e9, 25)
