"""Slots of the talker: pieces, ranges, resting neighbours, ends; on the real tiny model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.bundle import Bundle, open_bundle
from engines.contract import Sampling, SpeechRequest
from engines.errors import BundleError
from engines.graph_names import SAMPLING_INPUTS, FrameInputs
from engines.prompt import Prompt, PromptBuilder
from engines.runner import Tensor
from engines.runner_ort import OrtBinding, OrtRunner
from engines.sampling import GumbelNoise, ResolvedSampling, Stage, resolve_sampling
from engines.stages import F32
from engines.talker import Talker

SLOTS, POSITIONS, PIECE = 3, 128, 16
TEXTS = {1: tuple(range(60, 80)), 2: tuple(range(90, 97)), 3: tuple(range(100, 140))}
FRAMES = 24


class Voice:
    """One talker and what feeds it."""

    def __init__(self, bundle: Bundle, **options: Any) -> None:
        self.bundle = bundle
        self.talker = Talker(
            OrtRunner(bundle.path / bundle.manifest.graphs.frame), bundle.manifest, SLOTS, POSITIONS, PIECE, **options
        )
        self._prompts = PromptBuilder(bundle)

    def sampling(self, seed: int) -> ResolvedSampling:
        return resolve_sampling(Sampling(greedy=False), seed, self.bundle.manifest.sampling)

    def prompt(self, seed: int) -> Prompt:
        return self._prompts.build(self._prompts.plan(SpeechRequest()), TEXTS[seed])

    def prefill(self, slot: int, seed: int, piece: int = PIECE) -> None:
        """Begin an utterance; yields frame 0."""
        prompt, rows = self.prompt(seed), len(self.prompt(seed).codec_rows)
        self.talker.begin(slot, self.sampling(seed))
        for start in range(0, rows, piece):
            part, last = slice(start, start + piece), start + piece >= rows
            if last:
                self.choose(slot, seed, 0)
            self.talker.prefill(slot, prompt.codec_rows[part], prompt.text_rows[part], last=last)

    def choose(self, slot: int, seed: int, frame: int) -> None:
        GumbelNoise(self.sampling(seed)).fill(frame, self.talker.noise(slot))
        self.talker.forbid_end(slot, forbidden=True)  # so that everyone speaks as long as the test wants
        self.talker.text_row(slot)[:] = self.bundle.text_table[self.bundle.manifest.text_ids.pad]

    def step(self, speaking: dict[int, tuple[int, int]]) -> dict[int, list[int]]:
        """Step the slots of {slot: (seed, frame)}; the codes by slot."""
        for slot, (seed, frame) in speaking.items():
            self.choose(slot, seed, frame)
        self.talker.step(sorted(speaking))
        return {slot: self.codes(slot) for slot in speaking}

    def codes(self, slot: int) -> list[int]:
        found: list[int] = self.talker.codes(slot)[0].tolist()
        return found

    def alone(self, seed: int, slot: int = 0, piece: int = PIECE) -> list[list[int]]:
        """What `seed` says when nobody else speaks."""
        self.prefill(slot, seed, piece)
        codes = [self.codes(slot)]
        codes += [self.step({slot: (seed, frame)})[slot] for frame in range(1, FRAMES)]
        self.talker.release(slot)
        return codes


@pytest.fixture(scope="module")
def voice(tiny_bundle: Path) -> Voice:
    return Voice(open_bundle(tiny_bundle))


def test_the_same_again_in_any_slot(voice: Voice) -> None:
    first = voice.alone(1)
    assert [voice.alone(1, slot) for slot in range(SLOTS)] == [first] * SLOTS
    assert first != voice.alone(2)
    assert len({tuple(codes) for codes in first}) > 1


@pytest.mark.parametrize("piece", [1, 5, 15])
def test_a_prompt_in_pieces_is_the_same_prompt(voice: Voice, piece: int) -> None:
    assert voice.alone(3, piece=piece) == voice.alone(3)


def test_of_a_prompt_both_sides_are_read_and_added(tiny_bundle: Path) -> None:
    voice = Voice(open_bundle(tiny_bundle), with_logits=True)
    prompt = voice.prompt(1)
    codec, text = prompt.codec_rows[:PIECE], prompt.text_rows[:PIECE]

    def logits(codec_rows: F32, text_rows: F32) -> F32:
        voice.talker.begin(0, voice.sampling(1))
        voice.talker.prefill(0, codec_rows, text_rows, last=True)
        found: F32 = voice.talker.logits(0).copy()
        return found

    expected, none = logits(codec, text), np.zeros_like(codec)
    for sides in ((text, codec), (codec + text, none), (none, codec + text)):
        np.testing.assert_allclose(logits(*sides), expected, atol=1e-4)
    for sides in ((codec, none), (none, text), (codec, codec), (text, text)):
        assert np.abs(logits(*sides) - expected).max() > 1e-2


class Noting(OrtRunner):
    """Keeps the tensors it was given, by input."""

    def __init__(self, bundle: Bundle) -> None:
        super().__init__(bundle.path / bundle.manifest.graphs.frame)
        self.given: dict[str, Tensor] = {}

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> OrtBinding:
        self.given.update(inputs)
        return super().bind(inputs, outputs)


def test_slots_that_nobody_had_yet_are_computed_with_numbers_that_can_be(tiny_bundle: Path) -> None:
    """They run along between others."""
    bundle = open_bundle(tiny_bundle)
    runner = Noting(bundle)
    Talker(runner, bundle.manifest, 1, POSITIONS)
    assert all((runner.given[name].host == 1).all() for name in SAMPLING_INPUTS)


def test_each_stage_is_told_how_to_pick_its_codes(tiny_bundle: Path) -> None:
    bundle = open_bundle(tiny_bundle)
    runner = Noting(bundle)
    talker = Talker(runner, bundle.manifest, 1, POSITIONS)
    first = Stage(temperature=0.5, top_k=5, top_p=0.25, noisy=True)
    second = Stage(temperature=0.75, top_k=6, top_p=0.125, noisy=True)
    talker.begin(0, ResolvedSampling(first, second, repetition_penalty=1.5, seed=1))
    assert {name: runner.given[name].host[0].tolist() for name in SAMPLING_INPUTS} == {
        FrameInputs.REPETITION_PENALTY: [1.5],
        FrameInputs.TEMPERATURE: [0.5, 0.75],
        FrameInputs.TOP_K: [5, 6],
        FrameInputs.TOP_P: [0.25, 0.125],
    }
    for forbidden in (True, False):
        talker.forbid_end(0, forbidden)
        assert bool(runner.given[FrameInputs.END_BIAS].host[0, 0] < -1e3) is forbidden


def test_a_piece_has_at_least_a_row(voice: Voice) -> None:
    voice.talker.begin(0, voice.sampling(1))
    none = np.zeros((0, voice.bundle.manifest.talker.hidden), np.float32)
    with pytest.raises(ValueError, match="0 rows do not fit"):
        voice.talker.prefill(0, none, none, last=True)


def test_neighbours_change_nothing(voice: Voice) -> None:
    """Everyone joins, rests and leaves at other times; the slots between run void rows."""
    alone = {seed: voice.alone(seed) for seed in TEXTS}
    slots, joins = {1: 0, 2: 1, 3: 2}, {1: 0, 2: 3, 3: 7}
    said: dict[int, list[list[int]]] = {seed: [] for seed in TEXTS}
    for turn in range(3 * FRAMES):
        for seed, slot in slots.items():
            if turn == joins[seed]:
                voice.prefill(slot, seed)
                said[seed].append(voice.codes(slot))
        going = {
            slots[seed]: (seed, len(codes))
            for seed, codes in said.items()
            if 0 < len(codes) < FRAMES and not (seed == 2 and turn % 3)  # the one in the middle rests often
        }
        if going:
            for slot, codes in voice.step(going).items():
                said[slot + 1].append(codes)
    assert said == alone


def test_an_unfinished_prompt_is_not_disturbed(voice: Voice) -> None:
    alone = {seed: voice.alone(seed) for seed in (1, 2, 3)}
    voice.prefill(0, 1)
    voice.prefill(2, 2)
    prompt = voice.prompt(3)
    rows = len(prompt.codec_rows)
    voice.talker.begin(1, voice.sampling(3))
    for start in range(0, rows, 7):
        part, last = slice(start, start + 7), start + 7 >= rows
        if last:
            voice.choose(1, 3, 0)
        voice.talker.prefill(1, prompt.codec_rows[part], prompt.text_rows[part], last=last)
        if last:
            assert voice.codes(1) == alone[3][0]
        frame = 1 + start // 7
        assert voice.step({0: (1, frame), 2: (2, frame)}) == {0: alone[1][frame], 2: alone[2][frame]}
    assert voice.step({1: (3, 1)})[1] == alone[3][1]


def test_the_cache_ends(voice: Voice) -> None:
    rows = np.zeros((PIECE, voice.bundle.manifest.talker.hidden), dtype=np.float32)
    voice.talker.begin(0, voice.sampling(1))
    for _ in range(POSITIONS // PIECE):
        voice.talker.prefill(0, rows, rows, last=False)
    assert voice.talker.length(0) == POSITIONS
    with pytest.raises(ValueError, match="0 positions left"):
        voice.talker.prefill(0, rows[:1], rows[:1], last=True)
    with pytest.raises(ValueError, match="pieces of 16"):
        voice.talker.prefill(1, np.zeros((PIECE + 1, rows.shape[1]), np.float32), rows, last=True)
    voice.talker.release(0)
    assert voice.talker.length(0) == 0


def test_logits_can_be_looked_at(voice: Voice) -> None:
    seeing = Voice(voice.bundle, with_logits=True)
    assert seeing.alone(1) == voice.alone(1)
    seeing.prefill(0, 1)
    logits = seeing.talker.logits(0)
    assert logits.shape == (voice.bundle.manifest.talker.vocabulary,)
    assert np.isfinite(logits).all()
    assert logits.any()
    with pytest.raises(ValueError, match="without logits"):
        voice.talker.logits(0)


def test_a_foreign_graph_is_refused_by_name(voice: Voice) -> None:
    manifest = voice.bundle.manifest
    with pytest.raises(BundleError, match=r"codec\.onnx"):
        Talker(OrtRunner(voice.bundle.path / manifest.graphs.codec), manifest, 1, 8)
