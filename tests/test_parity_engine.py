"""The whole engine, with others in the neighbouring slots, against what the official package said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from engines.bundle import open_bundle
from engines.contract import End, Layout, Outcome, Pcm, Utterance
from engines.engine import EngineConfig, SpeechEngine
from tests.parity_cases import CASES, FRAMES, MODELS, Answer, Case, load_answers
from tests.parity_engine import ParityBundles, request_of

SOUND = 1e-4
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Spoken:
    outcome: Outcome
    wave: Pcm


def _read(utterance: Utterance) -> Spoken:
    blocks = []
    while len(block := utterance.pcm.read(10_000, PATIENCE_S)):
        blocks.append(block.copy())
    return Spoken(utterance.outcome.result(PATIENCE_S), np.concatenate(blocks))


def _speak_at_once(bundle: Path, cases: list[Case], answers: dict[str, Answer], config: EngineConfig) -> list[Spoken]:
    """All cases in one engine; what is not fed token by token is fed in the middle of the others."""
    opened = open_bundle(bundle)
    with SpeechEngine.open(bundle, config) as engine:
        live = [engine.start(request_of(case, opened, FRAMES)) for case in cases]
        bodies = [list(answers[case.name].body_ids) for case in cases]
        while any(bodies):
            for case, utterance, body in zip(cases, live, bodies, strict=True):
                count = 1 if case.layout == Layout.STREAMING.value else 3
                if body:
                    utterance.feed(tuple(body[:count]))
                    del body[:count]
                    if not body:
                        utterance.end_of_text()
        return [_read(utterance) for utterance in live]


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_engine_says_what_the_official_package_says(model: str, slots: int, parity_bundles: ParityBundles) -> None:
    cases = [case for case in CASES if case.model == model]
    answers = load_answers(model).cases
    config = EngineConfig(slots=slots, max_waiting=16, prefill_rows=7, codec_chunk_frames=6)
    for case, spoken in zip(cases, _speak_at_once(parity_bundles[model], cases, answers, config), strict=True):
        answer, codes = answers[case.name], spoken.outcome.codes
        assert spoken.outcome.end is (End.END if answer.ended else End.LIMIT), case.key
        assert codes is not None
        assert np.array_equal(codes, answer.codes), case.key
        assert spoken.wave.shape == answer.wave.shape, case.key
        assert np.abs(spoken.wave - answer.wave).max() < SOUND, case.key
