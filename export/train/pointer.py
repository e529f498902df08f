"""Which words a voice passes over, by the talker itself: its guided attention points at the text that a frame speaks.

Knows: prompts, the layers whose attention training guides. Does not know: engines, sound, recognisers.

A recogniser that misses a word may have misheard it; a word that no frame points at was not spoken, if it is longer
than a frame: of an "a" that shares its 80 ms with its neighbours, the frame may point at those alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from export.train import tokenizer_files
from export.train.corpus_data import MARKS
from export.train.layout import Layout
from export.train.shape import VoiceShape
from export.train.talker import Voice
from export.train.talker_loss import GUIDED_LAYERS

LEAST: Final = 0.3
"""Of a frame's attention, from where on it points at a word. Half of all words have 0.98 for their weakest piece."""
SHORT_LETTERS: Final = 2
"""Phone letters of a word that may be shorter than a frame."""


@dataclass(frozen=True, slots=True)
class Pointed:
    """A word, in phone letters, and the most attention that any frame has for it, 0 to 1."""

    letters: str
    attention: float

    @property
    def passed_over(self) -> bool:
        """Whether no frame points at it."""
        return self.attention < LEAST

    @property
    def short(self) -> bool:
        """Whether it may share its frame."""
        return len(self.letters) <= SHORT_LETTERS


class Pointer:
    """The talker of a checkpoint of ours."""

    def __init__(self, checkpoint: Path) -> None:
        """Load it. Raises `OSError` where there is none, `ValueError` for weights of another shape."""
        shape = VoiceShape()
        self._voice = Voice(shape).eval()
        weights = load_file(checkpoint / "model.safetensors")
        try:
            self._voice.load_state_dict({name: value.float() for name, value in weights.items()})
        except RuntimeError as error:
            raise ValueError(f"{checkpoint} is not a voice of the default voice's shape") from error
        tokens = tokenizer_files.build()[2]
        self._layout, self._pieces = Layout(shape, tokens), {number: piece for piece, number in tokens.ids.items()}

    def words(self, ids: Sequence[int], codes: NDArray[np.int32], speaker: str, language: str) -> list[Pointed]:
        """The words of an utterance in the whole-text layout, by its body text ids and the codes [frames, codebooks]
        that were spoken to them."""
        most = self._attention(ids, codes, speaker, language).max(axis=0)
        found: list[Pointed] = []
        inside = False
        for piece, attention in zip((self._pieces[number] for number in ids), most.tolist(), strict=True):
            if piece in MARKS or piece == " ":
                inside = False
                continue
            last = found.pop() if inside and not piece.startswith(" ") else Pointed("", 0.0)
            found.append(Pointed(last.letters + piece.strip(), max(last.attention, attention)))
            inside = True
        return found

    @torch.no_grad()
    def _attention(
        self, ids: Sequence[int], codes: NDArray[np.int32], speaker: str, language: str
    ) -> NDArray[np.float32]:
        """Of each frame for each id, [frames, ids]: mean of the guided layers."""
        rows = self._layout.build(list(ids), codes.astype(np.int64), speaker, language)
        text, first, rest = (torch.from_numpy(part)[None] for part in (rows.text, rows.first, rows.rest))
        _, logs = self._voice.read(text, first, rest, GUIDED_LAYERS)
        seen: NDArray[np.float32] = torch.stack([log[0].exp() for log in logs]).mean(0).numpy()
        return seen[rows.start : rows.start + len(codes), rows.token_row[:-1]]
