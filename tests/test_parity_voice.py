"""The default voice's checkpoint: our engine against what the official package said with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.parity_cases import text_for_tokenizer
from tests.parity_engine import Parts, allowed_logits, relative_error
from tests.tiny_checkpoint import checkpoint_digest
from tests.voice_golden import CASE, CHECKPOINT, MOST_FRAMES, load_voice_answers


def test_default_voice_says_what_the_official_package_says_with_it(default_bundle: Path) -> None:
    checkpoint, voice, answers = load_voice_answers()
    assert checkpoint_digest(CHECKPOINT) == checkpoint, "a new default voice: run scripts/parity --voice and commit"
    parts = Parts(default_bundle, slots=1, piece_rows=64)
    for answer in answers:
        body = parts.tokenizer.body_ids(text_for_tokenizer(CHECKPOINT, answer.text))
        assert body == answer.text_ids[3:-5], answer.text
        spoken = parts.speak(replace(CASE, voice=voice), body, MOST_FRAMES)
        steps = len(answer.logits)
        assert relative_error(allowed_logits(parts, spoken.logits)[:steps], answer.logits) < 1e-4, answer.text
        assert np.array_equal(spoken.codes, answer.codes), answer.text
        wave = parts.decode(spoken.codes)[: len(answer.wave)]
        assert np.abs(wave - answer.wave).max() < 1e-4, answer.text
