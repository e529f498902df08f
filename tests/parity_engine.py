"""Our side of the comparison with the official package: one utterance through the talker and the codec, step by step.

Purpose: codes, logits and samples as the engine's own parts make them, without threads, so that a mismatch can be laid
to one step. Also the command behind `scripts/parity --checkpoint`. Does not know: torch, the official package.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.tokenizer import TextTokenizer
from engines.bundle import Bundle, open_bundle
from engines.codec import Codec
from engines.contract import Layout, Sampling, SpeechRequest
from engines.manifest import ModelType
from engines.prompt import PromptBuilder
from engines.runner_ort import OrtRunner
from engines.sampling import resolve_sampling
from engines.talker import Talker
from export.exporter import export_checkpoint
from tests.parity_cases import (
    MODELS,
    Case,
    Floats,
    Ints,
    add_speech_options,
    case_of,
    load_answers,
    speaker_vector,
    text_for_tokenizer,
)
from tests.tiny_checkpoint import checkpoint_digest, write_checkpoint

CUTS: dict[str, tuple[int, ...]] = {"1": (1,), "3": (3,), "7": (7,), "25": (25,), "mixed": (2, 1, 9, 4, 25, 1, 1, 6)}
"""Ways of cutting a stream of frames into calls, each repeated to the end."""


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """What the talker made of one case."""

    codes: Ints
    logits: Floats
    """Every choice's raw logits, f32 [choices, vocabulary]."""
    prompt_rows: int


class ParityBundles(dict[str, Path]):
    """The models of the comparison, each made and exported when first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> Path:
        checkpoint = write_checkpoint(MODELS[name], self._folder / name)
        assert checkpoint_digest(checkpoint) == load_answers(name).checkpoint, "not the recorded checkpoint"
        self[name] = self._folder / f"{name}.bundle"
        export_checkpoint(checkpoint, self[name])
        return self[name]


class Parts:
    """The talker and the codec of one bundle, without the engine around them."""

    def __init__(self, path: Path, slots: int = 3, piece_rows: int = 7) -> None:
        self.bundle: Bundle = open_bundle(path)
        self.manifest = self.bundle.manifest
        self.tokenizer = TextTokenizer.open(path / self.manifest.front_end.tokenizer)
        self._slot = slots // 2
        self._talker = Talker(
            OrtRunner(path / self.manifest.graphs.frame), self.manifest, slots, 512, piece_rows, with_logits=True
        )
        self._codec = Codec(OrtRunner(path / self.manifest.graphs.codec), self.manifest, slots, 512)

    def speak(
        self, case: Case, body: Sequence[int], frames: int, meanwhile: Callable[[Talker], None] | None = None
    ) -> Spoken:
        """Greedy codes for the text ids `body`, at most `frames` frames.

        `meanwhile` is called between taking the slot and the first row of the prompt.
        """
        talker, slot, ids = self._talker, self._slot, self.manifest.text_ids
        request, builder = request_of(case, self.bundle), PromptBuilder(self.bundle)
        plan = builder.plan(request)
        prompt = builder.build(plan, tuple(body))
        trailing = [*body[1:], ids.eos] if plan.layout is Layout.STREAMING else []
        talker.begin(slot, resolve_sampling(request.sampling, 0, self.manifest.sampling))
        if meanwhile is not None:
            meanwhile(talker)
        rows = len(prompt.codec_rows)
        talker.forbid_end(slot, forbidden=True)
        for start in range(0, rows, talker.piece_rows):
            end = min(start + talker.piece_rows, rows)
            talker.prefill(slot, prompt.codec_rows[start:end], prompt.text_rows[start:end], last=end == rows)
        codes, logits = [talker.codes(slot)[0].astype(np.int32)], [talker.logits(slot).copy()]
        for step in range(frames):
            if codes[-1][0] == self.manifest.codec_ids.eos:
                break
            row = trailing[step] if step < len(trailing) else ids.pad
            talker.text_row(slot)[:] = self.bundle.text_table[row]
            talker.forbid_end(slot, forbidden=step < 1)
            talker.step([slot])
            codes.append(talker.codes(slot)[0].astype(np.int32))
            logits.append(talker.logits(slot).copy())
        return Spoken(codes=np.stack(codes[:-1]), logits=np.stack(logits), prompt_rows=rows)

    def decode(self, codes: Ints, cuts: Sequence[int] = ()) -> Floats:
        """Samples of a whole stream of frames, decoded in calls of `cuts` frames over and over; () is one call."""
        self._codec.begin(self._slot)
        blocks, start, turn = [], 0, 0
        while start < len(codes):
            end = start + (cuts[turn % len(cuts)] if cuts else len(codes))
            blocks.append(self._codec.decode(self._slot, codes[start:end]).copy())
            start, turn = end, turn + 1
        return np.concatenate(blocks)


def request_of(case: Case, bundle: Bundle, frames: int | None = None) -> SpeechRequest:
    """The case as the engine is asked for it."""
    manifest, base = bundle.manifest, bundle.manifest.model_type is ModelType.BASE
    tokenizer = TextTokenizer.open(bundle.path / manifest.front_end.tokenizer)
    return SpeechRequest(
        voice=case.voice,
        speaker_vector=speaker_vector(case.vector_seed or 0, manifest.talker.hidden) if base else None,
        language=case.language,
        instruct_ids=tokenizer.instruct_ids(case.instruct or ""),
        layout=Layout(case.layout),
        sampling=Sampling(greedy=True, repetition_penalty=case.repetition_penalty),
        max_frames=frames,
        keep_codes=True,
    )


def allowed_logits(parts: Parts, logits: Floats) -> Floats:
    """The columns the golden files keep: the codes, then the end code."""
    return logits[:, [*range(parts.manifest.frame.codebook_size), parts.manifest.codec_ids.eos]]


def relative_error(ours: Floats, theirs: Floats) -> float:
    """Largest difference in any row over that row's largest value."""
    return float(np.max(np.abs(ours - theirs).max(axis=-1) / np.abs(theirs).max(axis=-1)))


def main() -> None:
    """Compare a checkpoint's recorded official answer (`official_reference speak`) with ours."""
    parser = argparse.ArgumentParser(description="Compare our engine with a recorded official answer.")
    add_speech_options(parser)
    parser.add_argument("--answer", type=Path, required=True)
    options = parser.parse_args()
    answer = np.load(options.answer)
    case = case_of(options)
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Path(scratch) / "bundle"
        export_checkpoint(options.checkpoint, bundle)
        parts = Parts(bundle, slots=1, piece_rows=64)
        body = parts.tokenizer.body_ids(text_for_tokenizer(options.checkpoint, options.text))
        ids_same = body == tuple(answer["text_ids"][3:-5])
        spoken = parts.speak(case, body, options.frames)
        codes = answer["codes"]
        wave = parts.decode(codes)
        shared = min(len(codes), len(spoken.codes))
        differing = np.flatnonzero((codes[:shared] != spoken.codes[:shared]).any(axis=1))
        same = len(codes) == len(spoken.codes) and not len(differing)
        first = int(differing[0]) if len(differing) else shared
        logits = allowed_logits(parts, spoken.logits)[: first + 1]
        print(f"text ids: {'identical' if ids_same else 'DIFFERENT'}, {len(body)} in the body")
        print(f"codes: {'identical' if same else f'DIFFERENT from frame {first}'}, {len(codes)} frames")
        print(f"logits: relative error {relative_error(logits, answer['logits'][: first + 1]):.2e}")
        print(f"sound: greatest difference {np.abs(wave - answer['wave']).max():.2e}")
    if not (ids_same and same):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
