"""The official prompt layouts as rows of numbers: which text id and which codec ids are summed in every row.

Knows: role, think, language, speaker, bos rows; whole-text and streaming-text layouts.
Does not know: embeddings, networks, audio. -1 stands for "nothing is added".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.train.shape import VoiceShape
from export.train.tokenizer_files import TokenIds

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """One sequence: text id and first codec id of every row [L], residual codes [L, G-1], row of the first prediction.

    `token_row[i]` is the row in which body token i stands (for guiding attention), the last entry is the end row.
    """

    text: Ints
    first: Ints
    rest: Ints
    start: int
    token_row: Ints


@dataclass(frozen=True)
class Layout:
    """Builds rows for one voice."""

    shape: VoiceShape
    tokens: TokenIds

    def head(self, speaker: str | None, language: str | None) -> list[tuple[int, int]]:
        """(text id, codec id) rows from the role up to and with the bos row."""
        s, t = self.shape, self.tokens
        control = [s.nothink, s.think_bos, s.think_eos]
        if language is not None:
            control = [s.think, s.think_bos, s.control(s.languages[language]), s.think_eos]
        if speaker is not None:
            control.append(s.control(s.speakers[speaker]))
        pad = t["<tts_pad>"]
        rows = [(t["<|im_start|>"], -1), (t["assistant"], -1), (t["\n"], -1)]
        rows += [(pad, row) for row in control]
        return [*rows, (t["<tts_text_bos>"], s.pad)]

    def build(
        self, body: list[int], frames: Ints, speaker: str | None, language: str | None, streaming: bool = False
    ) -> Rows:
        """Rows of a whole sequence: prompt, then one row per frame of `frames` [n, G] (n may be 0)."""
        s, t = self.shape, self.tokens
        rows = self.head(speaker, language)
        pad, end = t["<tts_pad>"], t["<tts_text_eod>"]
        if streaming:
            token_row = np.arange(len(rows), len(rows) + len(body) + 1)
            trailing = [*body[1:], end]
            rows.append((body[0], s.bos))
        else:
            token_row = np.arange(len(rows), len(rows) + len(body) + 1)
            trailing = []
            rows += [(token, s.pad) for token in [*body, end]]
            rows.append((pad, s.bos))
        n = len(frames)
        spoken = (trailing + [pad] * n)[:n]
        text = np.array([row[0] for row in rows] + spoken, np.int64)
        first = np.concatenate([np.array([row[1] for row in rows], np.int64), frames[:, 0]])
        rest = np.full((len(text), s.code_groups - 1), -1, np.int64)
        rest[len(rows) :] = frames[:, 1:]
        return Rows(text, first, rest, len(rows) - 1, token_row.astype(np.int64))
