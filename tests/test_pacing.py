"""Who steps, and who is served first."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from engines.pacing import PATIENCE_MS, Candidate, ahead_of_listener_ms, slack_ms, who_steps

COMFORTABLE = 2000.0
candidates = st.dictionaries(st.integers(0, 31), st.integers(-500, 5000), min_size=1).map(
    lambda ahead: [Candidate(slot, float(ms)) for slot, ms in sorted(ahead.items())]
)


@given(candidates)
def test_whoever_is_short_of_sound_steps(who: list[Candidate]) -> None:
    chosen = who_steps(who, COMFORTABLE)
    assert chosen
    assert chosen == sorted(chosen)
    assert {one.slot for one in who if one.ahead_ms < COMFORTABLE} <= set(chosen) <= {one.slot for one in who}


def test_who_is_far_ahead_rests_only_for_others() -> None:
    short, far = Candidate(1, 10.0), Candidate(2, 9000.0)
    assert who_steps([short, far], COMFORTABLE) == [1]
    assert who_steps([far], COMFORTABLE) == [2]
    assert who_steps([Candidate(0, 3000.0), far], COMFORTABLE) == [0, 2]


def test_who_sits_between_goes_along() -> None:
    assert who_steps([Candidate(0, 1.0), Candidate(2, 9000.0), Candidate(3, 1.0)], COMFORTABLE) == [0, 2, 3]


def test_a_listener_hears_in_real_time() -> None:
    def ahead(now: float, heard_from: float | None) -> float:
        return ahead_of_listener_ms(800.0, heard_from, now, realtime=True, last_at=0.0, comfortable_ms=COMFORTABLE)

    assert ahead(5.0, None) == 0.0
    assert ahead(5.0, 5.0) == 800.0
    assert ahead(6.0, 5.0) == -200.0


def test_a_fast_stream_is_not_forgotten() -> None:
    def ahead(since_s: float) -> float:
        return ahead_of_listener_ms(0.0, None, 10.0 + since_s, realtime=False, last_at=10.0, comfortable_ms=COMFORTABLE)

    short = Candidate(0, 10.0)
    assert who_steps([short, Candidate(1, ahead(0.0))], COMFORTABLE) == [0]
    assert who_steps([short, Candidate(1, ahead(PATIENCE_MS / 1000.0 + 0.001))], COMFORTABLE) == [0, 1]


def test_slack_is_what_serving_one_after_another_leaves() -> None:
    assert slack_ms([], 10.0) == inf
    assert slack_ms([80.0], 10.0) == 70.0
    assert slack_ms([80.0, 85.0, 30.0], 10.0) == 20.0
    assert slack_ms([30.0, 30.0, 30.0], 10.0) == 0.0
    assert slack_ms([30.0, 30.0, 30.0], 20.0) == -30.0
