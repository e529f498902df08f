"""Runaways: what is a loop and what is silence, as values; one more try, graceful ends and their counts, by rule."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.contract import End, Layout, Outcome, Sampling, SpeechRequest
from engines.engine import EngineConfig
from engines.manifest import CodecInputs, CodecOutputs, FrameInputs, FrameOutputs
from engines.runaway import LoopDetector, SilenceDetector
from engines.utterance import LiveUtterance
from tests import fake_voice
from tests.fake_voice import ASK, FakeRunner

SOON = 10.0
LIMIT = 50
Tensors = Mapping[str, npt.NDArray[Any]]


def found_at(codes: list[int], limit: int = LIMIT) -> int | None:
    """After how many frames a loop is found."""
    detector = LoopDetector(limit)
    return next((place + 1 for place, code in enumerate(codes) if detector.saw(code)), None)


@given(period=st.integers(1, 25), before=st.integers(0, 60), seed=st.integers(0, 99))
def test_a_loop_is_found_when_it_has_lasted(period: int, before: int, seed: int) -> None:
    dice = random.Random(seed)
    text = [dice.randrange(2000) for _ in range(before)]
    round_ = random.Random(seed + 1).sample(range(2000), period)
    found = found_at(text + round_ * 100)
    assert found is not None
    assert 0 <= found - before - period - LIMIT + 1 <= 6 * period or found - before - period - LIMIT < 2


@given(period=st.integers(2, 20), seed=st.integers(0, 99))
def test_a_loop_with_slips_is_found(period: int, seed: int) -> None:
    dice = random.Random(seed)
    round_ = dice.sample(range(2000), period)
    codes = [code if dice.random() > 0.04 else dice.randrange(2000) for code in round_ * 200]
    assert found_at(codes) is not None


@given(seed=st.integers(0, 30))
def test_speech_is_no_loop(seed: int) -> None:
    """Codes that come again, and hold for a while as in pauses, in no order."""
    dice = random.Random(seed)
    codes: list[int] = []
    while len(codes) < 1000:
        codes += [dice.randrange(40)] * dice.choice([1, 1, 1, 1, 2, 3, 12])
    assert found_at(codes) is None


def test_a_word_said_four_times_is_no_loop() -> None:
    word = random.Random(1).sample(range(2000), 9)
    assert found_at(word * 4) is None


@pytest.mark.parametrize("period", [30, 64])
def test_a_long_round_is_a_loop_when_it_was_said_three_times(period: int) -> None:
    round_ = random.Random(1).sample(range(2000), period)
    assert found_at(round_ * 9) == 3 * period


def test_without_a_limit_nothing_is_a_loop() -> None:
    assert found_at([7] * 5000, limit=0) is None


@given(
    parts=st.lists(st.tuples(st.booleans(), st.integers(1, 30)), max_size=12),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=200),
)
def test_silence_is_found_wherever_the_blocks_are_cut(parts: list[tuple[bool, int]], cuts: list[int]) -> None:
    step, limit = 4, 20
    sound = np.repeat([0.5 if loud else 0.0005 for loud, _ in parts], [count * step for _, count in parts])
    expected, silent, heard = len(sound), 0, False
    for place, loud in enumerate(sound[::step] > 0.1):
        silent, heard = (0, True) if loud else (silent + step, heard)
        if silent * (1 if heard else 2) >= limit:
            expected = (place + 1) * step
            break
    detector, out = SilenceDetector(limit), 0
    while out < len(sound):
        count = cuts[out % len(cuts)] * step
        block = sound[out : out + count].astype(np.float32)
        room = detector.room(block, step)
        out += len(block) if room is None else room
        if room is not None:
            break
    assert out == expected


class Wanderer:
    """A voice that loses its text: the first `attempts` of each prompt go wrong from frame `since` on."""

    def __init__(self, code: int, *, attempts: int = 1, since: int = 0, asked: int = 30, **config: float) -> None:
        self._code, self._attempts, self._since = code, attempts, since
        self.prompts, self.frames = 0, 0
        self.positions: list[int] = []
        """Frames before each call, by the codec."""
        codec = FakeRunner(self._decode)
        sizes = EngineConfig(**{"slots": 1} | config)  # type: ignore[arg-type]
        self.engine = fake_voice.engine(fake_voice.bundle(), FakeRunner(self._speak), codec, sizes)
        self._asked = asked

    def _speak(self, inputs: Tensors, outputs: Tensors) -> None:
        fake_voice.speak_by_rule(inputs, outputs)
        if FrameOutputs.CODES not in outputs:
            return
        self.prompts += inputs[FrameInputs.CODEC_ROWS].shape[1] > 1
        self.frames = 0 if inputs[FrameInputs.CODEC_ROWS].shape[1] > 1 else self.frames + 1
        if self.prompts <= self._attempts and self.frames >= self._since:
            outputs[FrameOutputs.CODES][:] = self._code

    def _decode(self, inputs: Tensors, outputs: Tensors) -> None:
        """Code 0 below 1 is silent."""
        self.positions.append(int(inputs[CodecInputs.POSITION][0]))
        codes, pcm = inputs[CodecInputs.CODES], outputs[CodecOutputs.PCM]
        pcm[:] = np.repeat(codes[:, :, 0] > 0, pcm.shape[1] // codes.shape[1], axis=1)

    def say(self, layout: Layout = Layout.WHOLE, **request: object) -> tuple[npt.NDArray[np.float32], Outcome]:
        with self.engine as engine:
            utterance = engine.start(SpeechRequest(keep_codes=True, layout=layout, **request))  # type: ignore[arg-type]
            utterance.feed((ASK + self._asked, 7, 8))
            utterance.end_of_text()
            parts = []
            while len(part := utterance.pcm.read(1000, SOON)):
                parts.append(part)
            outcome = utterance.outcome.result(SOON)
            self.counts = engine.statistics()
        return np.concatenate(parts), outcome

    @property
    def told(self) -> tuple[int, int]:
        """Tried again, ended."""
        return self.counts.runaways_retried, self.counts.runaways_ended


@pytest.mark.parametrize("layout", [Layout.WHOLE, Layout.STREAMING])
@pytest.mark.parametrize("chunks", [True, False])
@pytest.mark.parametrize("silence_s", [4.0, 0.0])
def test_who_was_never_heard_is_begun_again(layout: Layout, chunks: bool, silence_s: float) -> None:
    """By its silence, or by its loop of silent codes: with other noise it speaks."""
    wanderer = Wanderer(0, async_chunks=chunks, runaway_silence_s=silence_s)
    pcm, outcome = wanderer.say(layout)
    silent = 25 if silence_s else 51  # frames: half of four seconds; or a loop of period 1
    assert (outcome.end, outcome.frames, wanderer.told) == (End.END, 30, (1, 0))
    assert outcome.codes is not None
    assert len(outcome.codes) == 30
    assert len(pcm) == outcome.samples == (silent + 30) * 4
    assert not pcm[: silent * 4].any()
    assert np.array_equal(pcm[silent * 4 :: 4] > 0, outcome.codes[:, 0] > 0)
    assert wanderer.positions.count(0) == 2, "its sound begins anew, too"


def test_another_try_has_its_own_noise() -> None:
    usual = Wanderer(0, attempts=0).say()[1].codes
    again = Wanderer(0).say()[1].codes
    assert usual is not None
    assert again is not None
    assert len(usual) == len(again)
    assert not np.array_equal(usual, again)


def test_it_is_begun_again_once() -> None:
    wanderer = Wanderer(0, attempts=2)
    pcm, outcome = wanderer.say()
    assert (outcome.end, outcome.error, wanderer.told) == (End.LIMIT, None, (1, 1))
    assert len(pcm) == 2 * 25 * 4


def test_without_noise_it_is_not_begun_again() -> None:
    wanderer = Wanderer(0)
    assert wanderer.say(sampling=Sampling(greedy=True))[1].end is End.LIMIT
    assert wanderer.told == (0, 1)


def test_who_was_heard_ends_gracefully_in_a_loop() -> None:
    wanderer = Wanderer(5, since=10, asked=150)
    pcm, outcome = wanderer.say()
    assert (outcome.end, wanderer.told) == (End.LIMIT, (0, 1))
    assert outcome.frames <= 10 + 1 + 50 + 1
    assert len(pcm) == outcome.frames * 4


def test_who_was_heard_ends_gracefully_in_silence() -> None:
    wanderer = Wanderer(0, since=10, asked=150, runaway_loop_s=0.0)
    pcm, outcome = wanderer.say()
    assert (outcome.end, wanderer.told) == (End.LIMIT, (0, 1))
    assert len(pcm) <= (10 + 50) * 4
    assert not pcm[-50 * 4 :].any()


@pytest.mark.parametrize("ahead", [True, False])
def test_who_leaves_when_he_is_about_to_be_begun_again_is_not(monkeypatch: pytest.MonkeyPatch, ahead: bool) -> None:
    """And the codec may be done with him before the talker, who waits for a frame of others meanwhile, gets to it."""
    wanderer = Wanderer(0, async_scheduling=ahead)
    engine, begin_again = wanderer.engine, LiveUtterance.begin_again
    talker, codec = engine._loops
    monkeypatch.setattr(engine, "_begin", lambda: None)  # no threads: whose turn it is, is said here

    def late(utterance: LiveUtterance) -> bool:
        codec.tick()
        return begin_again(utterance)

    utterance = engine.start(SpeechRequest())
    utterance.feed((ASK + 30, 7, 8))
    utterance.end_of_text()
    for loop in (talker, codec) * 100:
        if not utterance.again:
            loop.tick()
    assert utterance.again
    monkeypatch.setattr(LiveUtterance, "again", property(lambda one: one._again))  # it was asked a moment ago
    monkeypatch.setattr(LiveUtterance, "begin_again", late)
    utterance.cancel()
    for loop in (talker, codec, talker, codec):
        loop.tick()
    assert utterance.outcome.result(0).end is End.CANCELLED
    assert engine.statistics().runaways_retried == 0
    engine.close()


@pytest.mark.parametrize("ahead", [True, False])
def test_who_is_lost_again_before_the_codec_looks_ends(monkeypatch: pytest.MonkeyPatch, ahead: bool) -> None:
    """All of another try may be made while the codec has a long call of others."""
    wanderer = Wanderer(0, attempts=2, runaway_loop_s=2.0, runaway_silence_s=0.0, async_scheduling=ahead)
    engine = wanderer.engine
    talker, codec = engine._loops
    monkeypatch.setattr(engine, "_begin", lambda: None)  # no threads: whose turn it is, is said here
    utterance = engine.start(SpeechRequest(keep_codes=True))
    utterance.feed((ASK + 150, 7, 8))
    utterance.end_of_text()
    for loop in (talker, codec) * 100:
        if not utterance.again:
            loop.tick()
    assert utterance.again
    for _ in range(30):
        talker.tick()
    assert (utterance.attempt, utterance.lost, utterance.frames.used) == (1, True, 26)
    for loop in (codec, talker) * 5:
        loop.tick()
    outcome = utterance.outcome.result(0)
    assert (outcome.end, outcome.samples, engine.statistics().speaking) == (End.LIMIT, 2 * 26 * 4, 0)
    engine.close()


def test_the_guard_can_be_turned_off() -> None:
    wanderer = Wanderer(0, since=2, asked=179, runaway_loop_s=0.0, runaway_silence_s=0.0)
    assert wanderer.say()[1].end is End.LIMIT  # by the length of its text, which nothing turns off
    assert wanderer.told == (0, 1)
