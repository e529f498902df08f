"""Launching ahead changes nothing that is said: random schedules, with it and without."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.contract import Codes, End, Layout, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.utterance import LiveUtterance
from tests import fake_voice
from tests.fake_voice import ASK, CODES, FakeRunner, Tensors

SOON = 30.0


@dataclass(frozen=True)
class Wish:
    """One utterance."""

    seed: int
    frames: int
    """After which it ends by itself."""
    most: int
    """Its limit, which may come first."""
    streaming: bool
    pieces: int
    """In which its text comes, when it streams."""
    cancelled: bool

    @property
    def text(self) -> tuple[int, ...]:
        return (ASK + self.frames, *range(7, 7 + self.pieces))


WISHES = st.builds(
    Wish,
    seed=st.integers(0, 9),
    frames=st.integers(1, 30),
    most=st.integers(1, 35),
    streaming=st.booleans(),
    pieces=st.integers(0, 6),
    cancelled=st.booleans(),
)


def engine(*, ahead: bool, slots: int) -> SpeechEngine:
    config = EngineConfig(slots=slots, max_waiting=16, prefill_rows=8, admission=False, async_scheduling=ahead)
    return fake_voice.engine(fake_voice.bundle(), fake_voice.frame_runner(), fake_voice.codec_runner(), config)


def speak(crowd: list[Wish], *, ahead: bool, slots: int) -> list[tuple[End, Codes | None]]:
    """What each says, and how it ends; of the cancelled only that they are gone."""
    with engine(ahead=ahead, slots=slots) as made:
        utterances = [begin(made, wish) for wish in crowd]
        ends = list[tuple[End, Codes | None]]()
        for wish, utterance in zip(crowd, utterances, strict=True):
            if wish.cancelled:
                utterance.cancel()
                utterance.outcome.result(SOON)
                ends.append((End.CANCELLED, None))
                continue
            while len(utterance.pcm.read(64, SOON)):
                pass
            outcome = utterance.outcome.result(SOON)
            ends.append((outcome.end, outcome.codes))
        state = made.statistics()
        assert (state.speaking, state.waiting, state.failure) == (0, 0, None)
    return ends


def begin(made: SpeechEngine, wish: Wish) -> LiveUtterance:
    layout = Layout.STREAMING if wish.streaming else Layout.WHOLE
    utterance = made.start(SpeechRequest(seed=wish.seed, layout=layout, max_frames=wish.most, keep_codes=True))
    for id_ in wish.text:
        utterance.feed((id_,))
    utterance.end_of_text()
    return utterance


@settings(max_examples=25)
@given(crowd=st.lists(WISHES, min_size=1, max_size=6), slots=st.integers(1, 4))
def test_the_same_is_said_with_and_without(crowd: list[Wish], slots: int) -> None:
    in_turn, ahead = (speak(crowd, ahead=ahead, slots=slots) for ahead in (False, True))
    for (end, codes), (other_end, other_codes) in zip(in_turn, ahead, strict=True):
        assert end is other_end
        if codes is not None:
            assert other_codes is not None
            assert np.array_equal(codes, other_codes)


def test_a_frame_launched_after_the_end_is_dropped() -> None:
    """The end is seen late: the graph runs once more, and nobody hears of it."""
    runs = {}
    for ahead in (False, True):
        frame = fake_voice.frame_runner()
        config = EngineConfig(slots=1, prefill_rows=64, async_scheduling=ahead)
        with fake_voice.engine(fake_voice.bundle(), frame, fake_voice.codec_runner(), config) as made:
            utterance = made.start(SpeechRequest(keep_codes=True))
            utterance.feed((ASK + 9,))
            utterance.end_of_text()
            assert utterance.outcome.result(SOON).frames == 9
        runs[ahead] = frame.runs
    assert runs[True] == runs[False] + 1


def test_a_limit_is_known_before_so_nothing_is_launched_beyond_it() -> None:
    runs = []
    for ahead in (False, True):
        frame = fake_voice.frame_runner()
        config = EngineConfig(slots=1, prefill_rows=64, async_scheduling=ahead)
        with fake_voice.engine(fake_voice.bundle(), frame, fake_voice.codec_runner(), config) as made:
            utterance = made.start(SpeechRequest(max_frames=7))
            utterance.feed((ASK + 50,))
            utterance.end_of_text()
            assert utterance.outcome.result(SOON).end is End.LIMIT
        runs.append(frame.runs)
    assert runs[0] == runs[1]


def test_an_error_in_a_step_that_was_launched_ahead_is_the_engines() -> None:
    def speak_or_fail(inputs: Tensors, outputs: Tensors) -> None:
        if runner.runs > 5:
            raise RuntimeError("out of smoke")
        fake_voice.speak_by_rule(inputs, outputs)

    runner = FakeRunner(speak_or_fail)
    config = EngineConfig(slots=2, prefill_rows=64, async_scheduling=True)
    with fake_voice.engine(fake_voice.bundle(), runner, fake_voice.codec_runner(), config) as made:
        utterance = made.start(SpeechRequest())
        utterance.feed((ASK + 50,))
        utterance.end_of_text()
        outcome = utterance.outcome.result(SOON)
        assert outcome.end is End.ERROR
        assert "out of smoke" in (made.statistics().failure or "")


def test_on_the_real_graph_too(tiny_bundle: Path) -> None:
    said = []
    for ahead in (False, True):
        config = EngineConfig(slots=3, max_waiting=8, positions=128, admission=False, async_scheduling=ahead)
        with SpeechEngine.open(tiny_bundle, config) as made:
            crowd = [
                made.start(SpeechRequest(seed=seed, max_frames=6 + 3 * seed, keep_codes=True)) for seed in range(5)
            ]
            for seed, utterance in enumerate(crowd):
                utterance.feed(tuple(range(40, 50 + seed)))
                utterance.end_of_text()
            said.append([utterance.outcome.result(SOON).codes for utterance in crowd])
    for in_turn, launched_ahead in zip(*said, strict=True):
        assert in_turn is not None
        assert np.array_equal(in_turn, launched_ahead)
        assert in_turn.max() >= CODES
