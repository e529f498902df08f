"""Our engine against what the official package said (`tests/golden`, recorded by `scripts/parity --record`)."""

from __future__ import annotations

import numpy as np
import pytest

from engines.contract import Sampling
from engines.sampling import resolve_sampling
from engines.talker import Talker
from tests.parity_cases import CASES, CODEC_CASES, FRAMES, MODELS, Answer, Answers, Case, codec_codes, load_answers
from tests.parity_engine import CUTS, ParityBundles, Parts, allowed_logits, relative_error

LOGITS = 1e-4  # relative
SOUND = 1e-4
CHUNKS = 1e-5


class Models:
    """Every model is opened once, when first asked for."""

    def __init__(self, bundles: ParityBundles) -> None:
        self._bundles = bundles
        self._parts: dict[str, Parts] = {}
        self._answers = {name: load_answers(name) for name in MODELS}

    def answers(self, name: str) -> Answers:
        """What the official package said of a model."""
        return self._answers[name]

    def parts(self, name: str) -> Parts:
        """Its talker and codec."""
        if name not in self._parts:
            self._parts[name] = Parts(self._bundles[name])
        return self._parts[name]


@pytest.fixture(scope="module")
def models(parity_bundles: ParityBundles) -> Models:
    return Models(parity_bundles)


@pytest.fixture(params=CASES, ids=lambda case: case.key)
def case(request: pytest.FixtureRequest) -> Case:
    found = request.param
    assert isinstance(found, Case)
    return found


@pytest.fixture
def answer(models: Models, case: Case) -> Answer:
    return models.answers(case.model).cases[case.name]


def test_text_ids(models: Models, case: Case, answer: Answer) -> None:
    tokenizer = models.parts(case.model).tokenizer
    assert tokenizer.body_ids(answer.text) == answer.body_ids
    assert tokenizer.instruct_ids(case.instruct or "") == answer.instruct_ids


def test_codes_and_logits(models: Models, case: Case, answer: Answer) -> None:
    parts = models.parts(case.model)
    spoken = parts.speak(case, answer.body_ids, FRAMES)
    assert spoken.prompt_rows == answer.prompt_rows
    steps = min(len(spoken.logits), len(answer.logits))
    errors = [
        relative_error(ours[None], theirs[None])
        for ours, theirs in zip(allowed_logits(parts, spoken.logits)[:steps], answer.logits[:steps], strict=True)
    ]
    assert errors[0] < LOGITS, "the prompt's logits differ"
    assert np.array_equal(spoken.codes, answer.codes), f"relative errors of the logits by step: {np.array(errors)}"
    assert max(errors) < LOGITS


def test_neighbours_do_not_disturb_a_slot_that_was_taken_but_not_filled(models: Models) -> None:
    case = next(case for case in CASES if case.key == "custom.dialect_chinese")
    parts, answer = models.parts(case.model), models.answers(case.model).cases[case.name]
    sampling = resolve_sampling(Sampling(greedy=True, repetition_penalty=2.0), 0, parts.manifest.sampling)

    def crowd(talker: Talker) -> None:
        rows = np.ones((3, parts.manifest.talker.hidden), dtype=np.float32)
        for slot in (0, 2):
            talker.begin(slot, sampling)
            talker.prefill(slot, rows, rows, last=True)
        for _ in range(20):
            talker.step([0, 2])

    assert np.array_equal(parts.speak(case, answer.body_ids, FRAMES, crowd).codes, answer.codes)


def test_sound(models: Models, case: Case, answer: Answer) -> None:
    wave = models.parts(case.model).decode(answer.codes)
    assert wave.shape == answer.wave.shape
    assert np.abs(wave - answer.wave).max() < SOUND


@pytest.mark.parametrize("name", CODEC_CASES)
def test_sound_of_random_codes_in_any_chunks(models: Models, name: str) -> None:
    parts, golden = models.parts(name), models.answers(name).codec_wave
    assert golden is not None
    codes = codec_codes(name)
    whole = parts.decode(codes)
    assert np.abs(whole - golden).max() < SOUND
    for cuts in CUTS.values():
        assert np.abs(parts.decode(codes, cuts) - whole).max() < CHUNKS, f"cut into {cuts}"
