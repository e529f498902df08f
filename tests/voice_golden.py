"""What the official package says with the default voice's checkpoint, and the file it is recorded in.

Purpose: shared by `scripts/parity --voice`, which records, and `test_parity_voice`, which compares. One small file: all
codes, the first logits, the first frames of sound. Does not know: torch, our engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.parity_cases import GOLDEN, Answer, Case, Floats, Ints

CHECKPOINT = Path(__file__).parents[1] / "engines" / "voices" / "default" / "checkpoint"
FILE = GOLDEN / "default_voice.npz"
CASE = Case(model="default_voice", name="english", language="english")
TEXTS = (
    "The harbour lay still under the fog, while the first boats came in.",
    "What did she say to you on the telephone?",
    "One, two, three!",
)
MOST_FRAMES = 150
_LOGITS = 4
_FRAMES_OF_SOUND = 4


@dataclass(frozen=True, kw_only=True)
class VoiceAnswer:
    """One sentence."""

    text: str
    text_ids: tuple[int, ...]
    codes: Ints
    logits: Floats
    """The first choices' logits, columns as in `Answer.logits`."""
    wave: Floats
    """The first frames' samples."""


def save_voice_answers(checkpoint: str, voice: str, samples_per_frame: int, answers: list[Answer]) -> None:
    """Record what was said with the checkpoint of this checksum."""
    arrays: dict[str, np.ndarray] = {"checkpoint": np.array(checkpoint), "voice": np.array(voice)}
    for index, answer in enumerate(answers):
        arrays[f"{index}.text_ids"] = np.array(answer.text_ids, dtype=np.int32)
        arrays[f"{index}.codes"] = answer.codes.astype(np.int16)
        arrays[f"{index}.logits"] = answer.logits[:_LOGITS]
        arrays[f"{index}.wave"] = answer.wave[: _FRAMES_OF_SOUND * samples_per_frame]
    np.savez_compressed(FILE, **arrays)  # type: ignore[arg-type]


def load_voice_answers() -> tuple[str, str, list[VoiceAnswer]]:
    """The checkpoint's checksum, the voice's name, and one answer per text."""
    with np.load(FILE) as arrays:
        answers = [
            VoiceAnswer(
                text=text,
                text_ids=tuple(int(id_) for id_ in arrays[f"{index}.text_ids"]),
                codes=arrays[f"{index}.codes"].astype(np.int32),
                logits=arrays[f"{index}.logits"],
                wave=arrays[f"{index}.wave"],
            )
            for index, text in enumerate(TEXTS)
        ]
        return str(arrays["checkpoint"]), str(arrays["voice"]), answers
