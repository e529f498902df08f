"""Measured costs: averages that follow, and a line through the codec's calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.chunk_policy import Costs
from engines.costs import CostModel


def test_nothing_measured_costs_nothing() -> None:
    assert CostModel(80.0).snapshot() == Costs(80.0, 0.0, 0.0, 0.0)


def test_one_size_of_call_puts_all_on_the_frames() -> None:
    model = CostModel(80.0)
    for _ in range(3):
        model.codec_took(4, 20.0)
    found = model.snapshot()
    assert found.codec_call_ms == pytest.approx(0.0, abs=1e-9)
    assert found.codec_frame_ms == pytest.approx(5.0)


def test_the_line_is_found_and_followed() -> None:
    model = CostModel(80.0)
    for call_ms, frame_ms in ((10.0, 2.0), (30.0, 4.0)):
        for frames in (1, 25) * 1000:
            model.codec_took(frames, call_ms + frames * frame_ms)
        found = model.snapshot()
        assert found.codec_call_ms == pytest.approx(call_ms, rel=1e-3)
        assert found.codec_frame_ms == pytest.approx(frame_ms, rel=1e-3)


def test_calls_of_nearly_one_size_do_not_make_calls_dear() -> None:
    """They did once: only large ones were made from then on, nothing was learned, and listeners waited for 1.2 s."""
    model = CostModel(80.0)
    for number in range(200):
        model.codec_took(frames := 3 + number % 23, 1.0 + 1.2 * frames)
    for _ in range(30):
        model.codec_took(25, 30.0)
        model.codec_took(22, 29.2)
    found = model.snapshot()
    assert found.codec_call_ms < 3.0
    assert found.codec_ms(25) == pytest.approx(31.0, rel=0.05)


def test_the_step_follows() -> None:
    model = CostModel(80.0)
    model.step_took(10.0)
    assert model.snapshot().step_ms == 10.0
    for _ in range(100):
        model.step_took(30.0)
    assert model.snapshot().step_ms == pytest.approx(30.0, abs=0.01)


def test_the_prompts_rows_follow() -> None:
    model = CostModel(80.0)
    assert model.prompt_ms(10) == 0.0
    model.prompt_took(10, 5.0)
    assert model.prompt_ms(4) == 2.0
    for _ in range(100):
        model.prompt_took(20, 40.0)
    assert model.prompt_ms(10) == pytest.approx(20.0, rel=1e-3)


@given(calls=st.lists(st.tuples(st.integers(1, 25), st.floats(0.0, 1000.0)), min_size=1, max_size=50))
def test_costs_are_never_negative(calls: list[tuple[int, float]]) -> None:
    model = CostModel(80.0)
    for frames, ms in calls:
        model.codec_took(frames, ms)
    found = model.snapshot()
    assert found.codec_call_ms >= 0.0
    assert found.codec_frame_ms >= 0.0


def test_slowness_is_believed_sooner_than_forgotten() -> None:
    model = CostModel(80.0)
    model.step_lasts(4, 10.0, 10.0)
    for _ in range(50):
        model.codec_took(4, 20.0)
        model.step_ran(4, 10.0)
    assert model.cautious().codec_ms(4) == pytest.approx(20.0)
    assert model.step_ms_of() == {4: pytest.approx(10.0)}
    for number in range(200):  # one in four takes twice as long
        model.codec_took(4, 20.0 if number % 4 else 40.0)
        model.step_ran(4, 10.0 if number % 4 else 20.0)
    assert model.cautious().codec_ms(4) > 1.3 * model.snapshot().codec_ms(4)
    assert model.step_ms_of()[4] > 15.0
    for _ in range(700):
        model.codec_took(4, 20.0)
        model.step_ran(4, 10.0)
    assert model.cautious().codec_ms(4) == pytest.approx(20.0, rel=0.01)
    assert model.step_ms_of()[4] == pytest.approx(10.0, rel=0.01)


def test_one_hiccup_changes_little() -> None:
    model = CostModel(80.0)
    model.step_lasts(1, 10.0, 10.0)
    model.step_ran(1, 5000.0)
    assert model.step_ms_of()[1] < 14.0


def known(model: CostModel) -> list[float]:
    """All that is known, milliseconds."""
    costs = model.cautious()
    return [model.step_ms_of()[1], costs.step_ms, costs.codec_ms(4), model.prompt_ms(10)]


def measured() -> CostModel:
    model = CostModel(80.0)
    model.device_runs_at(1.0)
    model.step_lasts(1, 10.0, 10.0)
    model.step_took(10.0)
    model.prompt_took(10, 5.0)
    model.codec_took(4, 20.0)
    return model


def test_a_throttled_device_is_slower_before_anything_was_measured_on_it() -> None:
    model = measured()
    model.device_runs_at(0.5)
    assert known(model) == pytest.approx([20.0, 20.0, 40.0, 10.0])
    for _ in range(5):
        model.device_runs_at(0.5)  # saying it again means nothing new
    model.step_ran(1, 20.0)  # as expected
    assert known(model) == pytest.approx([20.0, 20.0, 40.0, 10.0])
    model.device_runs_at(1.0)
    assert known(model) == pytest.approx([10.0, 10.0, 20.0, 5.0])


def test_a_throttled_devices_calls_and_frames_are_slower_alike() -> None:
    model = CostModel(80.0)
    model.device_runs_at(1.0)
    for frames in (1, 25) * 1000:
        model.codec_took(frames, 10.0 + 2.0 * frames)
    model.call_lasts(8, 52.0)  # twice as long as alone
    model.device_runs_at(0.5)
    found = model.snapshot()
    assert [found.codec_call_ms, found.codec_frame_ms] == pytest.approx([20.0, 4.0], rel=1e-3)
    assert model.cautious().codec_ms(8) == pytest.approx(104.0, rel=1e-3)


def test_a_slowness_that_was_noticed_already_does_not_count_twice() -> None:
    model = measured()
    for _ in range(200):
        model.step_ran(1, 20.0)
    assert model.step_ms_of()[1] == pytest.approx(20.0)
    model.device_runs_at(0.5)
    assert model.step_ms_of()[1] == pytest.approx(20.0)


def test_the_first_word_of_the_device_changes_nothing() -> None:
    model = CostModel(80.0)
    model.step_lasts(1, 10.0, 10.0)
    model.device_runs_at(0.3)
    assert model.step_ms_of() == {1: 10.0}


def test_a_device_may_be_throttled_before_anything_was_measured() -> None:
    model = CostModel(80.0)
    model.device_runs_at(1.0)
    model.device_runs_at(0.5)
    assert model.snapshot() == Costs(80.0, 0.0, 0.0, 0.0)
    assert model.prompt_ms(10) == 0.0


def test_a_step_that_took_longer_alone_was_measured_in_a_slow_moment() -> None:
    model = CostModel(80.0)
    model.step_lasts(1, 10.0, 12.0)
    for _ in range(1000):
        model.step_ran(1, 10.0)
    assert model.step_ms_of() == {1: 10.0}


def test_a_call_that_failed_is_beside_no_later_step() -> None:
    now = [0.0]
    model = CostModel(80.0, lambda: now[0])
    model.step_lasts(1, 10.0, 4.0)
    for ends in (True, False, True):
        model.codec_begins()
        now[0] += 0.009
        if ends:
            model.codec_took(8, 9.0)
    for _ in range(1000):
        now[0] += 1.0
        model.step_ran(1, 4.0)  # as it takes alone
    assert model.step_ms_of() == {1: 10.0}


def test_only_a_crowd_tells_that_a_crowd_is_served_faster() -> None:
    now = [0.0]
    model = CostModel(80.0, lambda: now[0])
    model.step_lasts(1, 10.0, 4.0)
    model.step_lasts(4, 20.0, 8.0)
    for _ in range(1000):
        model.step_ran(4, 8.0)
    assert model.step_ms_of() == {1: 10.0, 4: 20.0}
    for _ in range(1000):
        now[0] += 1.0
        model.codec_begins()
        now[0] += 0.009
        model.step_ran(4, 8.0)
        model.codec_took(8, 9.0)
    assert model.step_ms_of()[4] == pytest.approx(8.0, rel=0.01)
    model.codec_begins()
    now[0] += 0.004
    model.step_ran(4, 8.0)  # began before the call
    assert model.step_ms_of()[4] > 8.0


@pytest.mark.parametrize(("took_ms", "believed_ms"), [(9.0, 12.0), (12.0, 16.0), (14.0, 16.0)])
def test_a_step_partly_beside_a_call_counts_for_that_part(took_ms: float, believed_ms: float) -> None:
    """Where steps outlast calls none is in a crowd all the time: 12 ms are foretold, of which a call took half."""
    now = [0.0]
    model = CostModel(80.0, lambda: now[0])
    model.step_lasts(1, 16.0, 8.0)
    for _ in range(1000):
        now[0] += took_ms / 4000.0
        model.codec_begins()
        now[0] += took_ms / 2000.0
        model.codec_took(4, took_ms / 2.0)
        now[0] += took_ms / 4000.0
        model.step_ran(1, took_ms)
    assert model.step_ms_of()[1] == pytest.approx(believed_ms, rel=0.01)


def test_a_call_inside_a_step_was_in_a_crowd() -> None:
    """A step that outlasts calls is known of only when they are over."""
    now = [0.0]
    model = CostModel(80.0, lambda: now[0])
    model.step_lasts(1, 30.0, 30.0)
    model.codec_took(8, 16.0)
    model.call_lasts(8, 40.0)
    for _ in range(1000):
        model.codec_begins()
        now[0] += 0.020
        model.codec_took(8, 20.0)
        now[0] += 0.010
        model.step_ran(1, 30.0)
    assert model.cautious().codec_ms(8) == pytest.approx(20.0, rel=0.05)


def test_steps_between_the_sizes_known_count_too() -> None:
    model = CostModel(80.0)
    model.step_lasts(4, 10.0, 10.0)
    model.step_lasts(8, 20.0, 20.0)
    for _ in range(100):
        model.step_ran(6, 30.0)
    assert model.step_ms_of() == {4: pytest.approx(20.0, rel=0.01), 8: pytest.approx(40.0, rel=0.01)}


def test_the_crowds_codec_is_known_before_there_is_a_crowd() -> None:
    model = CostModel(80.0)
    model.codec_took(8, 16.0)
    model.call_lasts(8, 24.0)
    assert model.snapshot().codec_ms(8) == pytest.approx(16.0)
    assert model.cautious().codec_ms(8) == pytest.approx(24.0)
    for _ in range(100):
        model.codec_took(8, 32.0)
    assert model.cautious().codec_ms(8) == pytest.approx(32.0, rel=0.1)  # not 1.5 times as much


def test_only_a_crowd_tells_what_a_crowds_codec_costs_after_all() -> None:
    """What the warm-up found in a slow moment is not believed for ever."""
    now = [0.0]
    model = CostModel(80.0, lambda: now[0])
    model.step_lasts(4, 6.0, 6.0)
    model.codec_took(8, 16.0)
    model.call_lasts(8, 40.0)
    for _ in range(1000):  # a lonely one says nothing
        model.codec_begins()
        now[0] += 0.016
        model.codec_took(8, 16.0)
    assert model.cautious().codec_ms(8) == pytest.approx(40.0)
    for _ in range(1000):
        model.codec_begins()
        for step_s in (0.004, 0.006, 0.006):  # the first began before the call
            now[0] += step_s
            model.step_ran(4, 6.0)
        now[0] += 0.004
        model.codec_took(8, 20.0)
    for _ in range(30):
        model.codec_took(8, 16.0)
    assert model.snapshot().codec_ms(8) == pytest.approx(16.0, rel=0.05)
    assert model.cautious().codec_ms(8) == pytest.approx(20.0, rel=0.05)


def test_admission_learns_what_the_codec_costs_while_the_talker_rests() -> None:
    model = CostModel(80.0)
    model.codec_took(8, 16.0)
    model.call_lasts(8, 24.0)
    model.step_lasts(4, 20.0, 20.0)
    found = model.device()
    assert [found.codec.codec_ms(8), found.codec_alone.codec_ms(8)] == pytest.approx([24.0, 16.0])
    assert found.step_ms_of == {4: 20.0}
