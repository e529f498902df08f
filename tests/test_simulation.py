"""The engine's real code on devices that are made up: no sound runs out below the admitted load, all get their turn."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from math import inf
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.admission import SLOWDOWN
from engines.contract import End, Pace
from engines.engine_config import EngineConfig
from engines.timing import Work
from tests.simulated_device import (
    AGX_ORIN,
    FASTER_CORES,
    H200,
    ORIN_NANO,
    TWO_CORES,
    Device,
    Simulation,
    Stream,
    in_earnest,
    spoken,
    worst_late_ms,
)

NO_RESERVE = patch("engines.admission.SLOWDOWN", 1.0)
"""As many are let in as the device holds while it stays as fast as it is."""


def some(count: int, seed: int, **wishes: object) -> list[Stream]:
    dice = random.Random(seed)
    return [Stream(frames=dice.randrange(3, 150), **wishes) for _ in range(count)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("device", "many"),
    [(ORIN_NANO, 1), (ORIN_NANO, 4), (ORIN_NANO, 9), (AGX_ORIN, 1), (AGX_ORIN, 8), (AGX_ORIN, 32), (AGX_ORIN, 64),
     (H200, 32), (H200, 256)],
    ids=lambda value: getattr(value, "name", str(value)),
)  # fmt: skip
def test_a_burst_is_heard_without_a_gap_or_refused(device: Device, many: int) -> None:
    simulation, streams = Simulation(device), some(many, seed=many)
    held = simulation.engine.statistics().real_time_streams
    simulation.run(streams)
    assert len(spoken(streams)) == min(many, held)
    assert worst_late_ms(streams) <= 0.0
    assert all(stream.outcome.end is End.END and stream.outcome.frames == stream.frames for stream in spoken(streams))
    prompts_ms = 14 * device.prompt_row_ms + device.step(held) + device.call(held)
    assert max(stream.first_ms for stream in spoken(streams)) < min(many, held) * prompts_ms + 200.0


@pytest.mark.parametrize("since_ms", [475.0, 625.0, 700.0, 850.0])
def test_a_moment_taken_from_a_full_device_is_made_up_for_from_the_margin(since_ms: float) -> None:
    """50 ms at half speed, 30 in hand: whoever is served next gets less, not the others nothing."""
    device = replace(FASTER_CORES, slow=(since_ms, since_ms + 50.0))
    streams = [Stream(frames=50 + 7 * number % 20) for number in range(48)]
    with NO_RESERVE:
        Simulation(device).run(streams)
    assert len(spoken(streams)) > 40
    assert worst_late_ms(streams) <= 0.0


@pytest.mark.parametrize("gap_ms", [0.0, 30.0])
@pytest.mark.parametrize("since_ms", [50.0, 300.0, 600.0, 1000.0, 2500.0])
def test_a_device_that_becomes_slower_for_good_holds_whom_it_let_in(since_ms: float, gap_ms: float) -> None:
    device = replace(FASTER_CORES, slow=(since_ms, inf), slow_times=SLOWDOWN)
    streams = [Stream(frames=70 + 7 * number % 20, at_ms=gap_ms * number) for number in range(48)]
    Simulation(device).run(streams)
    assert len(spoken(streams)) >= (30 if not gap_ms else 20)
    assert worst_late_ms(streams) <= 0.0


def test_without_a_reserve_it_does_not() -> None:
    """The measure can fail."""
    device = replace(FASTER_CORES, slow=(300.0, inf), slow_times=SLOWDOWN)
    streams = [Stream(frames=70) for _ in range(48)]
    with NO_RESERVE:
        Simulation(device).run(streams)
    assert worst_late_ms(streams) > 1000.0


@pytest.mark.parametrize(
    ("device", "share"),
    [(FASTER_CORES, 0.9), (in_earnest(FASTER_CORES), 0.9), (AGX_ORIN, 0.9), (in_earnest(AGX_ORIN), 0.75)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_warm_up_in_a_slow_moment_is_not_believed_for_ever(device: Device, share: float) -> None:
    def let_in(warmed_up: Device) -> list[int]:
        bursts = [[Stream(frames=70 + 7 * n % 20, at_ms=12_000.0 * burst) for n in range(96)] for burst in range(6)]
        Simulation(warmed_up).run([stream for burst in bursts for stream in burst])
        assert max(map(worst_late_ms, bursts)) <= 0.0
        return [len(spoken(burst)) for burst in bursts]

    slow, usual = let_in(replace(device, slow=(-inf, 0.0), slow_times=SLOWDOWN)), let_in(device)
    assert slow[0] < 0.75 * usual[0]
    assert slow[-1] > share * usual[-1]


def test_who_is_ahead_of_his_listener_makes_room_for_others() -> None:
    def let_in(gap_ms: float) -> int:
        streams = [Stream(frames=120, at_ms=gap_ms * number) for number in range(48)]
        Simulation(FASTER_CORES).run(streams)
        assert worst_late_ms(streams) <= 0.0
        return len(spoken(streams))

    assert let_in(50.0) > let_in(0.0) + 5


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("many", [4, 10, 12, 14, 24])
def test_company_in_a_call_harms_nobody(many: int, batching: bool) -> None:
    """Where frames are dear and calls are not, as on a processor: up to what is held, and no more are let in."""
    streams = [Stream(frames=40 + 37 * number % 60) for number in range(many)]
    with NO_RESERVE:
        Simulation(TWO_CORES, codec_batching=batching).run(streams)
    assert len(spoken(streams)) == min(many, 14 if batching else 13)
    assert worst_late_ms(streams) <= 0.0


CHEAP_CALLS = replace(TWO_CORES, codec_call_ms=1.0, codec_frame_ms=1.2)


@pytest.mark.parametrize(
    ("device", "together"), [(CHEAP_CALLS, False), (H200, True)], ids=["cheap calls", "dear calls"]
)
def test_full_blocks_have_company_only_where_calls_are_dear(device: Device, together: bool) -> None:
    simulation, streams = Simulation(device), [Stream(frames=120) for _ in range(8)]
    simulation.run(streams)
    ceiling = EngineConfig().codec_chunk_frames
    calls = [span for span in simulation.engine.timeline() if span.work is Work.CODEC]
    full = [len(span.slots) for span in calls if span.amount == ceiling * len(span.slots)]
    assert full
    assert (max(full) > 1) is together


@pytest.mark.parametrize("device", [ORIN_NANO, AGX_ORIN, TWO_CORES], ids=lambda device: device.name)
def test_talker_and_codec_in_each_others_way_are_known_before_the_first_crowd(device: Device) -> None:
    """Runs take longer beside each other, and by chance; a burst that fills it has no gap all the same."""
    earnest, streams = Simulation(in_earnest(device)), some(2 * device.slots, seed=2)
    held = earnest.engine.statistics().real_time_streams
    assert held < Simulation(device).engine.statistics().real_time_streams
    earnest.run(streams)
    assert len(spoken(streams)) == held
    assert worst_late_ms(streams) <= 0.0


def test_the_same_run_twice_is_the_same() -> None:
    def blocks() -> list[list[tuple[float, float]]]:
        simulation, streams = Simulation(AGX_ORIN), some(12, seed=5)
        simulation.run(streams)
        return [[(when - simulation.started_ms, sound) for when, sound in stream.blocks] for stream in streams]

    assert blocks() == blocks()


AS_IT_IS: list[Callable[[Device], Device]] = [lambda device: device, in_earnest]

schedules = st.lists(
    st.builds(
        Stream,
        frames=st.integers(2, 100),
        at_ms=st.integers(0, 6000).map(float),
        pace=st.sampled_from([Pace.REALTIME, Pace.REALTIME, Pace.REALTIME, Pace.FAST]),
        deaf_ms=st.sampled_from([0.0, 0.0, 0.0, 1500.0]),
        leaves_after_ms=st.one_of(st.none(), st.none(), st.none(), st.integers(1, 3000).map(float)),
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=60)
@given(schedules, st.sampled_from([made(device) for device in (ORIN_NANO, AGX_ORIN, TWO_CORES) for made in AS_IT_IS]))
def test_any_schedule(streams: list[Stream], device: Device) -> None:
    """Bursts, long and short, slow listeners, people who leave, files: no gap, no waiting without end, no remains."""
    simulation = Simulation(device, max_waiting=4)
    simulation.run(streams)
    for stream in streams:
        if stream.refused:
            continue
        assert stream.outcome.end in {End.END, End.CANCELLED}
        if stream.leaves_after_ms is None:
            assert stream.outcome.frames == stream.frames
            if stream.pace is Pace.REALTIME and not stream.deaf_ms:
                assert stream.late_ms <= 0.0
    assert simulation.left == (0, 0)


@pytest.mark.parametrize("device", [AGX_ORIN, TWO_CORES], ids=lambda device: device.name)
def test_who_stopped_listening_keeps_nobody_from_beginning(device: Device) -> None:
    """To the talker such a listener seems to have run dry long ago; nothing it could do would help."""
    simulation = Simulation(device, pcm_ring_s=0.5)
    deaf, late = Stream(frames=100, deaf_ms=20_000.0), Stream(frames=30, at_ms=9000.0)
    simulation.run([deaf, late])
    assert late.first_ms < 200.0
    assert late.late_ms <= 0.0
    assert deaf.outcome.frames == 100


@pytest.mark.parametrize("at_ms", [1300.0, 1320.0, 1400.0, 1440.0, 1460.0])
@pytest.mark.parametrize(
    ("device", "deaf"), [(ORIN_NANO, 2), (in_earnest(ORIN_NANO), 1)], ids=lambda value: getattr(value, "name", None)
)
def test_who_fetches_late_what_lay_ready_breaks_nobody(device: Device, deaf: int, at_ms: float) -> None:
    """He has heard nothing of it yet, so he has not run dry, and takes no long calls from those who soon will."""
    streams = [Stream(frames=120, deaf_ms=1500.0) for _ in range(deaf)] + [Stream(frames=60, at_ms=at_ms)]
    Simulation(device, max_waiting=4).run(streams)
    assert streams[-1].late_ms <= 0.0


def test_a_step_is_as_long_as_files_that_go_along_make_it() -> None:
    """Found at random: two begin at once, and the step between their first frames and the next takes files along."""
    streams = [
        Stream(58, 1310.0),
        Stream(126, 697.0, Pace.FAST),
        Stream(18, 2658.0, Pace.FAST, deaf_ms=1500.0, leaves_after_ms=829.0),
        Stream(34, 3168.0),
        Stream(141, 675.0, deaf_ms=1500.0, leaves_after_ms=2699.0),
        Stream(143, 3684.0),
        Stream(105, 1904.0, leaves_after_ms=2630.0),
        Stream(23, 3564.0, Pace.FAST),
    ]
    Simulation(in_earnest(ORIN_NANO), max_waiting=4).run(streams)
    assert worst_late_ms([stream for stream in streams if not stream.deaf_ms]) <= 0.0


def test_files_take_what_is_left_and_are_not_forgotten() -> None:
    simulation = Simulation(AGX_ORIN)
    heard = some(12, seed=1)
    files = some(12, seed=2, pace=Pace.FAST)
    simulation.run(heard + files)
    assert worst_late_ms(heard) <= 0.0
    assert all(stream.outcome.end is End.END for stream in files)


def test_a_file_alone_is_as_fast_as_the_device() -> None:
    simulation, streams = Simulation(AGX_ORIN), [Stream(frames=150, pace=Pace.FAST)]
    simulation.run(streams)
    steps_ms = 150 * AGX_ORIN.step(1)
    assert streams[0].blocks[-1][0] - streams[0].started_ms < 1.1 * steps_ms + AGX_ORIN.call(25)


def test_who_is_far_ahead_rests_for_a_newcomer() -> None:
    """On a device that has no time to spare, a newcomer beside three old ones does not run dry."""
    slow = Device("slow", 4, 50.0, 4.0, 5.0, 3.0, 1.0)
    simulation = Simulation(slow)
    streams = [Stream(frames=150, at_ms=at_ms) for at_ms in (0.0, 100.0, 200.0, 5000.0)]
    with NO_RESERVE:
        simulation.run(streams)
    assert worst_late_ms(streams) <= 0.0
    steps = [span for span in simulation.engine.timeline() if span.work is Work.STEP]
    assert any(span.slots == (3,) for span in steps)


def test_a_device_too_slow_says_so() -> None:
    slow = Device("too slow", 4, 60.0, 10.0, 5.0, 3.0, 1.0)
    simulation = Simulation(slow)
    streams = some(3, seed=3)
    simulation.run(streams)
    assert [stream.refused for stream in streams] == [False, True, True]


def test_without_the_switches_the_simulation_sees_the_difference() -> None:
    """The measure can fail: twice as many as the device holds do run dry."""
    slow = Device("slow", 8, 50.0, 10.0, 5.0, 3.0, 1.0)
    streams = [Stream(frames=100) for _ in range(8)]
    Simulation(slow, admission=False).run(streams)
    assert worst_late_ms(streams) > 0.0
