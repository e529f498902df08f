"""How far a build is: shares that only grow, from stages and from TensorRT's nested phases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.errors import StoppedError
from export.plan_progress import BuildProgress, BuildState, Phases


def test_phases_inside_phases() -> None:
    phases = Phases()
    phases.start("root", None, 2)
    phases.start("inner", "root", 4)
    assert phases.step("inner", 0) == pytest.approx(0.125)
    assert phases.step("inner", 1) == pytest.approx(0.25)
    assert phases.finish("inner") == pytest.approx(0.5)
    assert phases.step("root", 0) == pytest.approx(0.5)
    assert phases.finish("root") == 1.0


def test_phases_nobody_announced_do_no_harm() -> None:
    phases = Phases()
    assert phases.step("unknown", 3) == 0.0
    assert phases.finish("unknown") == 0.0


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", *"abc"]), st.integers(-1, 5), st.integers(0, 9)))
)
def test_whatever_is_told_the_share_only_grows(words: list[tuple[str, str, int, int]]) -> None:
    phases, shares = Phases(), [0.0]
    for name, parent, steps, step in words:
        phases.start(name, parent or None, steps)
        shares.append(phases.step(name, step))
        if step % 2:
            shares.append(phases.finish(name))
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


def progress(now: list[float], told: list[BuildState], expected_s: float = 100.0) -> BuildProgress:
    return BuildProgress(told.append, lambda: False, expected_s, guessed=True, clock=lambda: now[0])


def test_the_time_left_begins_as_expected_and_then_follows_the_clock() -> None:
    now, told = [0.0], list[BuildState]()
    whole = progress(now, told)
    whole.begin("weights", 0.5)
    now[0] = 30.0
    assert whole.advance(0.5)
    whole.begin("engines", 0.5)
    now[0] = 300.0
    whole.advance(0.5)
    assert [(state.stage, state.fraction, state.remaining_s) for state in told] == [
        ("weights", 0.0, 100.0), ("weights", 0.25, 70.0), ("engines", 0.5, 70.0), ("engines", 0.75, 75.0),
    ]  # fmt: skip
    assert all(state.guessed for state in told)


def test_a_stage_never_goes_back() -> None:
    told = list[BuildState]()
    whole = progress([0.0], told)
    whole.begin("weights", 0.5)
    for done in (0.5, 0.2, 2.0):
        whole.advance(done)
    assert [state.fraction for state in told] == [0.0, 0.25, 0.25, 0.5]


def test_who_is_asked_to_stop_stops() -> None:
    stopped = [False]
    whole = BuildProgress(lambda _: None, lambda: stopped[0], 1.0, guessed=False, clock=lambda: 0.0)
    whole.begin("weights", 0.5)
    assert whole.advance(0.1)
    stopped[0] = True
    assert not whole.advance(0.2)
    with pytest.raises(StoppedError):
        whole.go_on(0.3)
    with pytest.raises(StoppedError):
        whole.begin("engines", 0.5)
