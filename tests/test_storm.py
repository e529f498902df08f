"""The cancel storm in short, on real graphs; `scripts/soak storm` is the long form. No clock is a measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engines.contract import SpeechRequest
from engines.engine import EngineConfig
from scripts.storm import Ear, Storm, Tally
from tests import fake_voice
from tests.fake_voice import ASK


def test_who_stays_is_whole_and_nothing_is_left(tiny_bundle: Path) -> None:
    storm, tally = Storm(tiny_bundle, seed=1, slots=3, most_frames=20, real_time=False), Tally()
    with storm.engine:
        storm.run(5, 0.5, tally, lambda: min(tally.whole, tally.cancelled) < 30)
        assert storm.at_rest()
    assert (tally.different, tally.left_full) == (0, 0)
    assert min(tally.whole, tally.cancelled) >= 30


def test_late_sound_is_counted() -> None:
    tally = Tally()
    tally.stay(0.0, same=True)
    tally.stay(0.02, same=False)
    assert (tally.whole, tally.late, tally.different, tally.worst_late_ms) == (2, 1, 1, 20.0)


def test_an_ear_hears_all_of_it() -> None:
    bundle = fake_voice.bundle()
    with fake_voice.engine(bundle, fake_voice.frame_runner(), fake_voice.codec_runner(), EngineConfig()) as engine:
        utterance = engine.start(SpeechRequest())
        ear, parts = Ear(utterance, 10**9, real_time=True), []  # a listener far too fast
        utterance.feed((ASK + 30,))
        utterance.end_of_text()
        utterance.outcome.result(30.0)
        while (part := ear.take()) is None or len(part):
            parts.extend([] if part is None else [part])
        assert len(np.concatenate(parts)) == 30 * bundle.manifest.frame.samples_per_frame
        assert ear.late_s > 0.0
