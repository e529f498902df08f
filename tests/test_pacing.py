"""Who steps, and who is served first."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.chunk_policy import Costs
from engines.pacing import frames_for_all, in_hand_ms, runs, slack_ms, who_steps

COMFORTABLE = 2000.0
streams = st.dictionaries(st.integers(0, 31), st.integers(-500, 5000), min_size=1).map(
    lambda ahead: {slot: float(ms) for slot, ms in sorted(ahead.items())}
)


@given(streams)
def test_whoever_is_short_of_sound_steps(ahead_ms: dict[int, float]) -> None:
    chosen = who_steps(ahead_ms, COMFORTABLE)
    assert chosen
    assert chosen == sorted(chosen)
    assert {slot for slot, ms in ahead_ms.items() if ms < COMFORTABLE} <= set(chosen) <= set(ahead_ms)


def test_who_is_far_ahead_rests_only_for_others() -> None:
    assert who_steps({1: 10.0, 2: 9000.0}, COMFORTABLE) == [1]
    assert who_steps({2: 9000.0}, COMFORTABLE) == [2]
    assert who_steps({0: 3000.0, 2: 9000.0}, COMFORTABLE) == [0, 2]


def test_who_sits_between_goes_along() -> None:
    assert who_steps({0: 1.0, 2: 9000.0, 3: 1.0}, COMFORTABLE) == [0, 2, 3]


def test_a_listener_hears_in_real_time() -> None:
    assert in_hand_ms(800.0, None, 5.0) == 0.0
    assert in_hand_ms(800.0, 5.0, 5.0) == 800.0
    assert in_hand_ms(800.0, 5.0, 6.0) == -200.0


def test_slack_is_what_serving_one_after_another_leaves() -> None:
    def slack(*ahead_ms: float, call_ms: float = 10.0) -> float:
        return slack_ms(dict(enumerate(ahead_ms)), Costs(80.0, 0.0, call_ms, 0.0), batching=False)

    assert slack() == inf
    assert slack(80.0) == 70.0
    assert slack(80.0, 85.0, 30.0) == 20.0
    assert slack(30.0, 30.0, 30.0) == 0.0
    assert slack(30.0, 30.0, 30.0, call_ms=20.0) == -30.0


def test_neighbours_can_be_served_in_one_call() -> None:
    costs = Costs(80.0, 0.0, 10.0, 1.0)
    assert slack_ms({0: 30.0, 1: 30.0, 2: 30.0}, costs, batching=False) == -3.0
    assert slack_ms({0: 30.0, 1: 30.0, 2: 30.0}, costs, batching=True) == 17.0
    assert slack_ms({0: 30.0, 2: 30.0, 4: 30.0}, costs, batching=True) == -3.0
    assert slack_ms({0: 12.0, 1: 900.0, 2: 900.0}, costs, batching=True) == 1.0  # where company would be too late
    assert runs([5, 1, 2, 4, 9]) == [[1, 2], [4, 5], [9]]


@given(
    together=st.lists(st.floats(0.0, 2000.0), max_size=6),
    others=st.lists(st.floats(0.0, 2000.0), max_size=6).map(sorted),
    call_ms=st.floats(0.0, 20.0),
    frame_ms=st.floats(0.01, 20.0),
)
def test_a_round_of_that_many_frames_lets_nobody_run_dry(
    together: list[float], others: list[float], call_ms: float, frame_ms: float
) -> None:
    joined = max(len(together), 1)
    costs = Costs(80.0, 0.0, call_ms, frame_ms)
    frames = frames_for_all(together, others, joined, costs)
    if frames == inf:
        assert not together
        assert not others
        return
    now_ms = costs.codec_ms(0) + joined * frames * frame_ms
    tight = [in_hand - now_ms for in_hand in together]
    for in_hand in others:
        now_ms += call_ms + frames * frame_ms
        tight.append(in_hand - now_ms)
    assert min(tight) == pytest.approx(0.0, abs=1e-6)  # so one more would be too many
