"""Runs the official package and records what it says. Needs `qwen-tts` 0.1.1 and torch: see `scripts/parity`.

Purpose: the answers `test_parity` holds our engine to. Everything goes through the official package's public calls,
from text to sound; logits and codes are overheard with hooks. Does not know: our exporter, our engine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from qwen_tts import Qwen3TTSModel, VoiceClonePromptItem
from safetensors import safe_open
from transformers import AutoProcessor
from transformers.utils import logging

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
    Floats,
    Ints,
    add_speech_options,
    codec_codes,
    load_answers,
    save_answers,
    speaker_vector,
)
from tests.tiny_checkpoint import MODEL_FILES, checkpoint_digest, write_checkpoint

_MIXED_CASE = "GitHub iPhone MacBook PyTorch YouTube"


@dataclass
class Overheard:
    """What the hooks caught during one utterance."""

    prompt_rows: int = 0
    logits: list[Floats] = field(default_factory=list)
    predictor_margin: float = float("inf")
    codes: Ints | None = None


class Official:
    """The official model of one checkpoint, on the CPU in float32."""

    def __init__(self, checkpoint: Path) -> None:
        self.model: Any = Qwen3TTSModel.from_pretrained(str(checkpoint), dtype=torch.float32)
        self.checkpoint = checkpoint
        self.kind: str = self.model.model.tts_model_type
        self.talker: Any = self.model.model.talker
        self.heard = Overheard()
        self.talker.codec_head.register_forward_hook(self._hear_talker)
        for head in self.talker.code_predictor.lm_head:
            head.register_forward_hook(self._hear_predictor)
        generate: Callable[..., Any] = self.model.model.generate

        def listening(*args: Any, **kwargs: Any) -> Any:
            result = generate(*args, **kwargs)
            self.heard.codes = result[0][0].numpy().astype(np.int32)
            return result

        self.model.model.generate = listening

    def _hear_talker(self, _module: Any, _inputs: Any, output: Any) -> None:
        if not self.heard.logits:
            self.heard.prompt_rows = int(output.shape[1])
        self.heard.logits.append(output[0, -1].detach().numpy().copy())

    def _hear_predictor(self, _module: Any, _inputs: Any, output: Any) -> None:
        best = torch.topk(output[0, -1].detach(), 2).values
        self.heard.predictor_margin = min(self.heard.predictor_margin, float(best[0] - best[1]))

    def answer(self, case: Case, text: str, frames: int) -> Answer:
        """Speak `text` greedily, at most `frames` frames."""
        self.heard = Overheard()
        options: dict[str, Any] = {
            "text": text,
            "language": case.language,
            "non_streaming_mode": case.layout == "whole",
            "do_sample": False,
            "subtalker_dosample": False,
            "repetition_penalty": case.repetition_penalty,
            "max_new_tokens": frames + 1,
        }
        width = self.talker.config.hidden_size
        if self.kind == "custom_voice":
            waves, _ = self.model.generate_custom_voice(speaker=case.voice, instruct=case.instruct, **options)
        elif self.kind == "voice_design":
            waves, _ = self.model.generate_voice_design(instruct=case.instruct or "", **options)
        else:
            prompt = VoiceClonePromptItem(
                ref_code=None,
                ref_spk_embedding=torch.from_numpy(speaker_vector(case.vector_seed or 0, width)),
                x_vector_only_mode=True,
                icl_mode=False,
            )
            waves, _ = self.model.generate_voice_clone(voice_clone_prompt=[prompt], **options)
        codes = self.heard.codes
        assert codes is not None
        end_id, all_logits = self.talker.config.codec_eos_token_id, np.stack(self.heard.logits)
        allowed = [*range(self.talker.config.code_predictor_config.vocab_size), end_id]
        logits = all_logits[:, allowed]
        return Answer(
            text=text,
            text_ids=self._ids(self.model._build_assistant_text(text)),
            instruct_ids=self._ids(self.model._build_instruct_text(case.instruct)) if case.instruct else (),
            prompt_rows=self.heard.prompt_rows,
            ended=len(codes) < frames,
            talker_margin=_talker_margin(logits, codes, len(codes) < frames, case.repetition_penalty),
            predictor_margin=self.heard.predictor_margin,
            codes=codes,
            logits=logits,
            wave=waves[0].astype(np.float32),
        )

    def decode(self, codes: Ints) -> Floats:
        """The whole utterance at once."""
        waves, _ = self.model.model.speech_tokenizer.decode([{"audio_codes": torch.from_numpy(codes).long()}])
        return np.asarray(waves[0], dtype=np.float32)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(int(id_) for id_ in self.model._tokenize_texts([text])[0][0])

    def use_plain_tokenizer(self) -> bool:
        """Undo the wrapper's wish for another family's pre-tokeniser; tell whether that changed anything.

        The wish is granted where `config.json` names certain versions of transformers."""
        before = self._ids(_MIXED_CASE)
        self.model.processor = AutoProcessor.from_pretrained(str(self.checkpoint))
        return self._ids(_MIXED_CASE) != before

    def check_strictly(self, checkpoint: Path) -> None:
        """Every tensor of the files is a parameter of the same shape and value, and every parameter is in the files."""
        for module, name in zip((self.model.model, self.model.model.speech_tokenizer.model), MODEL_FILES, strict=True):
            wanted = module.state_dict()
            with safe_open(checkpoint / name, "pt") as file:
                found = {key: file.get_tensor(key).float() for key in file.keys()}  # noqa: SIM118 - not a dict
            odd = set(wanted) ^ set(found)
            odd |= {key for key in set(wanted) & set(found) if not torch.equal(wanted[key], found[key])}
            if odd:
                raise SystemExit(f"{checkpoint / name} is not in the official layout: {sorted(odd)}")


def _talker_margin(logits: Floats, codes: Ints, ended: bool, penalty: float) -> float:
    """Least distance of the best two logits, as the official processors leave them, over all choices that counted."""
    margin, seen = float("inf"), np.zeros(logits.shape[1], dtype=bool)
    for step, row in enumerate(logits):
        scores = np.where(seen, np.where(row > 0, row / penalty, row * penalty), row)
        if step < 2:
            scores[-1] = -np.inf
        best = np.sort(scores)[-2:]
        chosen = int(np.argmax(scores))
        if step < len(codes) or ended:
            expected = codes[step, 0] if step < len(codes) else len(row) - 1
            if chosen != expected:
                raise SystemExit(f"choice {step}: the overheard logits choose {chosen}, the package chose {expected}")
            margin = min(margin, float(best[1] - best[0]))
        seen[chosen] = True
    return margin


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
            official.check_strictly(checkpoint)
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
            official.check_strictly(checkpoint)
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


def speak(options: argparse.Namespace) -> None:
    """Speak one text with any checkpoint in the official layout and save what was overheard."""
    official = Official(options.checkpoint)
    official.check_strictly(options.checkpoint)
    if official.use_plain_tokenizer():
        print("note: the official wrapper splits mixed-case words differently here; its tokenizer is used plainly")
    case = Case(
        model="",
        name="",
        layout=options.layout,
        voice=options.voice,
        language=options.language,
        instruct=options.instruct,
        repetition_penalty=options.repetition_penalty,
        vector_seed=options.vector_seed,
    )
    answer = official.answer(case, options.text, options.frames)
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
    speaking = commands.add_parser("speak")
    add_speech_options(speaking)
    speaking.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    logging.set_verbosity_error()
    torch.set_num_threads(int(os.environ.get("SPEAKD_PARITY_THREADS", "1")))
    {"record": lambda _: record(), "verify": lambda _: verify(), "speak": speak}[options.command](options)


if __name__ == "__main__":
    main()
