"""Random mixes on real graphs: everyone's codes and samples are those of the solo run; cancelling harms nobody."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engines.contract import End, SpeechRequest
from engines.engine import EngineConfig
from scripts.mixes import Mixer
from tests import fake_voice
from tests.fake_voice import ASK

SOON = 30.0


def test_in_any_company_everyone_says_what_they_say_alone(tiny_bundle: Path) -> None:
    mixer = Mixer(tiny_bundle, seed=1)
    mixer.run(36)
    assert mixer.heard > 60
    assert mixer.cancelled > 20


def test_a_storm_of_cancels_leaves_nothing_behind() -> None:
    """Half of all are cancelled at random moments, by many threads; the others are whole, slots and rings end free."""
    engine = fake_voice.engine(
        fake_voice.bundle(), fake_voice.frame_runner(), fake_voice.codec_runner(), EngineConfig(slots=4, max_waiting=8)
    )

    def call(caller: int) -> int:
        dice, whole = random.Random(caller), 0
        for _ in range(40):
            frames = dice.randrange(5, 60)
            utterance = engine.start(SpeechRequest(seed=dice.randrange(9)))
            utterance.feed((ASK + frames,))
            utterance.end_of_text()
            leaves_after = dice.randrange(frames) if dice.random() < 0.5 else None
            heard = 0
            while len(part := utterance.pcm.read(4, SOON)):
                heard += len(part) // 4
                if leaves_after is not None and heard > leaves_after:
                    utterance.cancel()
            outcome = utterance.outcome.result(SOON)
            if leaves_after is None:
                assert (outcome.end, outcome.frames, heard) == (End.END, frames, frames)
                whole += 1
            assert utterance.frames.statistics().used == utterance.pcm.statistics().used == 0
        return whole

    with engine, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(call, range(8))) > 100
        state = engine.statistics()
        assert (state.speaking, state.waiting, state.failure) == (0, 0, None)
