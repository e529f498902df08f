"""Asks the official package and records what it says. Needs `qwen-tts` 0.1.1 and torch: see `scripts/parity`.

Purpose: the answers `test_parity` holds our engine to, recorded, verified, and for any one checkpoint and text.
Does not know: how the official package is called, our exporter, our engine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from transformers.utils import logging

from tests.official_model import Official
from tests.parity_cases import (
    CASES,
    CODEC_CASES,
    FRAMES,
    MARGIN,
    MODELS,
    TEXTS,
    Answer,
    Answers,
    Case,
    add_speech_options,
    case_of,
    codec_codes,
    load_answers,
    save_answers,
    text_for_tokenizer,
)
from tests.tiny_checkpoint import checkpoint_digest, write_checkpoint
from tests.voice_golden import CASE, CHECKPOINT, MOST_FRAMES, save_voice_answers
from tests.voice_golden import TEXTS as VOICE_TEXTS

NEAR_TIE = 2e-5
"""Below this distance of two logits rounding may choose; the two engines differ by about a tenth of it."""


def _fits(case: Case, answer: Answer) -> bool:
    """Whether this text shows what the case is there to show, without near ties."""
    early = any(int(np.argmax(row)) == answer.logits.shape[1] - 1 for row in answer.logits[:2])
    shown = {
        "limit": not answer.ended,
        "end": answer.ended and len(answer.codes) >= 6,
        "early": early and answer.ended,
    }[case.ending]
    return shown and min(answer.talker_margin, answer.predictor_margin) > MARGIN


def _record(model: str, official: Official) -> Iterator[tuple[str, Answer]]:
    """The first text that fits, for every case of a model; texts rotate so that the cases differ."""
    for index, case in enumerate(CASES):
        if case.model != model:
            continue
        for turn in range(len(TEXTS)):
            text = TEXTS[(turn + index) % len(TEXTS)]
            if (len(text.encode()) < FRAMES - 4) != case.short and case.ending == "limit":
                continue
            answer = official.answer(case, text, FRAMES)
            if _fits(case, answer):
                break
            print(f"  {text!r}: {len(answer.codes)} frames, {answer.talker_margin:.4f} {answer.predictor_margin:.4f}")
        else:
            raise SystemExit(f"{case.key}: no text fits; change the model's seed")
        margins = f"margins {answer.talker_margin:.4f} {answer.predictor_margin:.4f}"
        loud = f"rms {np.sqrt(np.mean(answer.wave**2)):.3f} peak {np.abs(answer.wave).max():.3f}"
        distinct = len(np.unique(answer.codes[:, 0]))
        print(f"{case.key}: text {turn}, {len(answer.codes)} frames, {distinct} codes, {margins}, {loud}", flush=True)
        yield case.name, answer


def record() -> None:
    """Ask the official package about every case and write the golden files."""
    answers = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, spec in MODELS.items():
            checkpoint = write_checkpoint(spec, Path(scratch) / name)
            official = Official(checkpoint)
            official.check_strictly()
            answers[name] = Answers(
                checkpoint=checkpoint_digest(checkpoint),
                cases=dict(_record(name, official)),
                codec_wave=official.decode(codec_codes(name)) if name in CODEC_CASES else None,
            )
    save_answers(answers, {package: version(package) for package in ("qwen-tts", "transformers", "torch")})


def verify() -> None:
    """Ask again and compare with the golden files."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, spec in MODELS.items():
            checkpoint = write_checkpoint(spec, Path(scratch) / name)
            official, recorded = Official(checkpoint), load_answers(name)
            official.check_strictly()
            if checkpoint_digest(checkpoint) != recorded.checkpoint:
                raise SystemExit(f"{name}: the checkpoint is not the recorded one; run scripts/parity --record")
            for case in (case for case in CASES if case.model == name):
                old = recorded.cases[case.name]
                new = official.answer(case, old.text, FRAMES)
                same = np.array_equal(old.codes, new.codes) and old.text_ids == new.text_ids
                near = (
                    same
                    and np.allclose(old.logits, new.logits, atol=1e-4)
                    and np.allclose(old.wave, new.wave, atol=1e-5)
                )
                if not near:
                    raise SystemExit(f"{case.key}: the official package no longer says what was recorded")
                print(f"{case.key}: as recorded", flush=True)


def record_voice() -> None:
    """Ask the official package to speak with the default voice."""
    official = Official(CHECKPOINT)
    official.check_strictly(needs_encoder=False)
    official.use_plain_tokenizer()
    voice = next(iter(official.talker.config.spk_id))
    answers = []
    for text in VOICE_TEXTS:
        answer = official.answer(replace(CASE, voice=voice), text_for_tokenizer(CHECKPOINT, text), MOST_FRAMES)
        least = min(answer.talker_margin, answer.predictor_margin)
        print(f"{text!r}: {len(answer.codes)} frames, ended by the model: {answer.ended}, least margin {least:.5f}")
        if least < NEAR_TIE:
            raise SystemExit("a near tie would make this sentence's codes a matter of rounding; choose another")
        answers.append(answer)
    samples = official.model.model.speech_tokenizer.get_decode_upsample_rate()
    save_voice_answers(checkpoint_digest(CHECKPOINT), voice, samples, answers)


def speak(options: argparse.Namespace) -> None:
    """Speak one text with any checkpoint in the official layout and save what was overheard."""
    official = Official(options.checkpoint)
    official.check_strictly(needs_encoder=False)
    if official.use_plain_tokenizer():
        print("note: the official wrapper splits mixed-case words differently here; its tokenizer is used plainly")
    answer = official.answer(case_of(options), text_for_tokenizer(options.checkpoint, options.text), options.frames)
    margins = np.array([answer.talker_margin, answer.predictor_margin])
    np.savez(
        options.output,
        codes=answer.codes,
        logits=answer.logits,
        wave=answer.wave,
        text_ids=np.array(answer.text_ids),
        instruct_ids=np.array(answer.instruct_ids, dtype=np.int64),
        ended=np.array(answer.ended),
        margins=margins,
    )
    print(f"official: {len(answer.codes)} frames, ended by the model: {answer.ended}, least margins {margins}")


def main() -> None:
    """Command line, for `scripts/parity`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record")
    commands.add_parser("verify")
    commands.add_parser("voice")
    speaking = commands.add_parser("speak")
    add_speech_options(speaking)
    speaking.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    logging.set_verbosity_error()
    torch.set_num_threads(int(os.environ.get("SPEAKD_PARITY_THREADS", "1")))
    match options.command:
        case "record":
            record()
        case "verify":
            verify()
        case "voice":
            record_voice()
        case "speak":
            speak(options)


if __name__ == "__main__":
    main()
