"""The codec's loop in time that is made up: frames come, calls take, and the sound must not run out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engines.chunk_policy import Costs, first_block
from engines.codec import Codec
from engines.codec_loop import CodecLoop
from engines.codec_round import CodecPolicy
from engines.contract import End, Layout, Pace, Pcm, SpeechRequest
from engines.costs import CostModel
from engines.pacing import PATIENCE_MS
from engines.runaway import RunawayTally
from engines.scheduler import Scheduler
from engines.timing import Timeline
from engines.utterance import LiveUtterance, Stop
from tests import fake_voice
from tests.engine_rig import without_engine

FRAME = fake_voice.bundle().manifest.frame
CEILING = 6


class KnownCosts(CostModel):
    """Costs that are known from the start."""

    def __init__(self, costs: Costs) -> None:
        super().__init__(costs.frame_ms)
        self._known = costs

    def snapshot(self) -> Costs:
        return self._known


@dataclass
class World:
    """A clock, a talker that makes a frame every step, and a codec whose calls take their time."""

    costs: Costs
    frames: int
    first: int | None = None
    call_ms: float = 1e9
    adaptive: bool = True
    pace: Pace = Pace.REALTIME
    now_ms: float = 0.0
    made: int = 0
    blocks: list[int] = field(default_factory=list)
    decoded_at_ms: list[float] = field(default_factory=list)

    slots, most_frames = 1, CEILING

    def __post_init__(self) -> None:
        request = SpeechRequest(layout=Layout.STREAMING, initial_codec_chunk_frames=self.first, pace=self.pace)
        self.utterance = without_engine(request, frames=10_000, samples=100_000, clock=self.clock)
        scheduler = Scheduler(1, 0)
        scheduler.enter(self.utterance)
        self.utterance.feed((30,))
        scheduler.admit()
        self.loop = CodecLoop(
            FRAME,
            cast("Codec", self),
            scheduler,
            KnownCosts(self.costs),
            policy=CodecPolicy(call_ms=self.call_ms, adaptive=self.adaptive),
            timeline=Timeline(),
            tally=RunawayTally(),
            slot_free=lambda: None,
            clock=self.clock,
        )

    def clock(self) -> float:
        return self.now_ms / 1000.0

    def begin(self, slot: int) -> None:
        """The codec's."""

    def decode_many(self, low: int, codes: np.ndarray) -> Pcm:
        """The codec's: time passes, frames come meanwhile."""
        frames = codes.shape[1]
        self.pass_to(self.now_ms + self.costs.codec_ms(frames))
        self.blocks.append(frames)
        self.decoded_at_ms.append(self.now_ms)
        return np.zeros((1, frames * FRAME.samples_per_frame), dtype=np.float32)

    def pass_to(self, then_ms: float) -> None:
        self.now_ms = then_ms
        self.utterance.pcm.read_nowait(100_000)
        while self.made < self.frames and (self.made + 1) * self.costs.step_ms <= then_ms + 1e-9:
            self.utterance.frames.write_nowait(np.zeros((1, FRAME.codebooks), np.int32))
            self.made += 1
            self.utterance.progress.frame_at = self.made * self.costs.step_ms / 1000.0
        if self.made == self.frames and self.utterance.talker_end is None:
            self.utterance.talker_left(Stop(End.END))

    def run(self) -> None:
        """Tick until the utterance has ended."""
        while not self.utterance.outcome.done():
            pause_s = self.loop.tick()
            if pause_s == 0.0:
                continue
            events = [] if self.made == self.frames else [(self.made + 1) * self.costs.step_ms]
            events += [] if pause_s is None else [self.now_ms + 1000.0 * pause_s]
            assert events, "it sleeps for ever"
            self.pass_to(min(events))

    def shortfall_ms(self) -> float:
        """The most that a block came too late for a listener who started with the first one."""
        played_ms = self.decoded_at_ms[0] + FRAME.frame_ms * np.cumsum(self.blocks)
        return float(np.max(np.array(self.decoded_at_ms[1:]) - played_ms[:-1], initial=-np.inf))


class Pair:
    """Two in slots 0 and 1: one who is heard since a moment, and whoever comes; calls cost what `World`'s do."""

    slots, most_frames = 2, CEILING

    def __init__(self, costs: Costs, pace: Pace) -> None:
        self.costs, self.now_ms, self.decoded = costs, 0.0, list[int]()
        self.heard, self.comes = (World(costs, 1000, pace=pace).utterance for pace in (Pace.REALTIME, pace))
        scheduler = Scheduler(2, 0)
        for utterance in (self.heard, self.comes):
            scheduler.enter(utterance)
        scheduler.admit()
        self.loop = CodecLoop(
            FRAME,
            cast("Codec", self),
            scheduler,
            KnownCosts(costs),
            policy=CodecPolicy(batching=False),
            timeline=Timeline(),
            tally=RunawayTally(),
            slot_free=lambda: None,
            clock=lambda: self.now_ms / 1000.0,
        )

    def begin(self, slot: int) -> None:
        """The codec's."""

    def decode_many(self, low: int, codes: np.ndarray) -> Pcm:
        """The codec's."""
        self.now_ms += self.costs.codec_ms(codes.shape[1] * len(codes))
        self.decoded += range(low, low + len(codes))
        return np.zeros((len(codes), codes.shape[1] * FRAME.samples_per_frame), dtype=np.float32)

    def make(self, utterance: LiveUtterance, frames: int) -> None:
        utterance.frames.write_nowait(np.zeros((frames, FRAME.codebooks), np.int32))
        utterance.progress.frame_at = self.now_ms / 1000.0

    def tick(self) -> float | None:
        """Both fetch what there is."""
        pause_s = self.loop.tick()
        for utterance in (self.heard, self.comes):
            utterance.pcm.read_nowait(100_000)
        return pause_s


def costs_of(step_ms: float, call_ms: float, per_frame_ms: float) -> Costs:
    return Costs(FRAME.frame_ms, step_ms, call_ms, per_frame_ms)


some_costs = st.builds(
    costs_of,
    st.integers(1, 80).map(float),
    st.integers(0, 150).map(float),
    st.integers(0, 60).map(float),
)


@settings(deadline=None)
@given(costs=some_costs)
def test_the_sound_does_not_run_out(costs: Costs) -> None:
    assume(first_block(costs, CEILING) < CEILING)
    world = World(costs, frames=7 * CEILING)
    world.run()
    assert sum(world.blocks) == world.frames
    assert world.shortfall_ms() < 1.0  # least pauses of the loop; a real engine keeps a margin


@settings(deadline=None)
@given(costs=some_costs)
def test_no_smaller_start_would_do(costs: Costs) -> None:
    first = first_block(costs, CEILING)
    assume(1 < first < CEILING)
    world = World(costs, frames=9 * CEILING, first=first - 1)
    world.run()
    assert world.shortfall_ms() > -1.0


@settings(deadline=None)
@given(costs=some_costs, frames=st.integers(1, 40), first=st.integers(1, CEILING))
def test_every_frame_is_decoded_once(costs: Costs, frames: int, first: int) -> None:
    world = World(costs, frames, first)
    world.run()
    assert sum(world.blocks) == frames
    assert world.blocks[0] == min(first, frames)
    assert max(world.blocks) <= CEILING
    assert world.utterance.outcome.result(0).samples == frames * FRAME.samples_per_frame


def test_blocks_grow_to_the_ceiling() -> None:
    world = World(costs_of(20.0, 30.0, 5.0), frames=60)
    world.run()
    assert world.blocks[0] == 1
    assert world.blocks[-2] == CEILING


def test_a_frame_that_comes_late_does_not_hold_up_the_others() -> None:
    """The talker falls silent with frames gathered: they are decoded before the sound runs out."""
    world = World(costs_of(20.0, 5.0, 5.0), frames=1000)
    world.loop.tick()
    world.pass_to(25.0)
    assert world.loop.tick() == 0.0
    world.pass_to(45.0)
    world.frames = world.made  # no further frame comes; the talker has not said why
    pause_s = world.loop.tick()
    assert pause_s is not None
    world.now_ms += 1000.0 * pause_s + 0.1
    in_hand_ms = world.decoded_at_ms[0] + FRAME.frame_ms - world.now_ms
    assert 10.0 <= in_hand_ms <= 20.0
    assert world.loop.tick() == 0.0
    assert len(world.blocks) == 2


def test_blocks_are_no_wider_than_a_call_may_take() -> None:
    world = World(costs_of(20.0, 10.0, 30.0), frames=60, call_ms=100.0)
    world.run()
    assert max(world.blocks) == 3


def test_blocks_that_are_not_adapted_are_all_as_large_as_may_be() -> None:
    world = World(costs_of(20.0, 5.0, 5.0), frames=3 * CEILING + 1, adaptive=False)
    world.run()
    assert world.blocks == [CEILING] * 3 + [1]


@pytest.mark.parametrize("more", [True, False])
def test_who_is_heard_goes_before_who_begins_where_there_is_more_of_him(more: bool) -> None:
    """He has 50 ms left and a call takes 30: there is no time for both, but waiting for his next frame makes none."""
    pair = Pair(costs_of(20.0, 25.0, 5.0), Pace.REALTIME)
    pair.make(pair.heard, 1)
    assert pair.tick() == 0.0
    pair.now_ms += 30.0
    pair.make(pair.comes, 6)
    if more:
        pair.make(pair.heard, 1)
        pair.heard.talker_left(Stop(End.END))
    assert pair.tick() == 0.0
    assert pair.decoded == [0, 0 if more else 1]


def test_a_file_waits_for_those_who_are_heard_as_long_as_it_has_patience() -> None:
    pair = Pair(costs_of(20.0, 25.0, 5.0), Pace.FAST)
    pair.make(pair.heard, 1)
    assert pair.tick() == 0.0
    pair.now_ms += 30.0
    pair.make(pair.comes, 6)
    assert pair.tick() == 0.005
    assert pair.decoded == [0]
    pair.now_ms = PATIENCE_MS
    assert pair.tick() == 0.0
    assert pair.decoded == [0, 1]


def test_it_sleeps_until_the_first_of_all_is_due() -> None:
    pair = Pair(costs_of(20.0, 5.0, 5.0), Pace.REALTIME)
    for utterance, frames in ((pair.heard, 5), (pair.comes, 2)):
        pair.make(utterance, frames)
    while len(pair.decoded) < 2:
        assert pair.tick() == 0.0
    for utterance in (pair.heard, pair.comes):
        pair.make(utterance, 1)
    began_ms, pause_s = pair.now_ms, pair.tick()
    assert pause_s is not None
    pair.now_ms = began_ms + 1000.0 * pause_s - 1.0
    assert pair.tick() != 0.0
    pair.now_ms += 1.1
    assert pair.tick() == 0.0
    assert pair.decoded[2:] == [1], "who has less in hand"
