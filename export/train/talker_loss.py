"""Batches and losses of talker and code predictor.

Knows: rows (`layout`), examples (`corpus_data`), which logits may be sampled.
Does not know: optimisation, files.

Shapes: B sequences, L padded rows, N chosen frames.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor

from export.train import pieces
from export.train.corpus_data import Example
from export.train.layout import Layout, Rows
from export.train.talker import Voice

GUIDED_LAYERS = (1, 3)


@dataclass(frozen=True)
class Batch:
    """Padded rows and targets. `target` [B, L] is code 0 of the frame after each row (-100: none)."""

    text: Tensor
    first: Tensor
    rest: Tensor
    target: Tensor
    target_rest: Tensor
    low: Tensor  # first row that the guided head should look at, [B, L], -1: not guided
    high: Tensor

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(*(getattr(self, field.name).to(device) for field in fields(self)))


def collate(examples: list[Example], rows: list[Rows], eos: int) -> Batch:
    """Pad sequences on the right and line targets up with the rows that predict them."""
    length = max(len(r.text) for r in rows)
    groups = rows[0].rest.shape[1]
    shape = (len(rows), length)
    text, first = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
    rest = np.full((*shape, groups), -1, np.int64)
    target, target_rest = np.full(shape, -100, np.int64), np.full((*shape, groups), -100, np.int64)
    low, high = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
    for b, (e, r) in enumerate(zip(examples, rows, strict=True)):
        n, size = len(e.frames), len(r.text)
        text[b, :size], first[b, :size], rest[b, :size] = r.text, r.first, r.rest
        where = slice(r.start, r.start + n)
        target[b, where], target_rest[b, where] = e.frames[:, 0], e.frames[:, 1:]
        target[b, r.start + n] = eos
        row_of_letter = r.token_row[pieces.piece_of_letter(e.symbols)]
        low[b, where], high[b, where] = row_of_letter[e.first], row_of_letter[e.last]
        low[b, r.start + n] = high[b, r.start + n] = r.token_row[-1]
    return Batch(*(torch.from_numpy(x) for x in (text, first, rest, target, target_rest, low, high)))


def make_rows(layout: Layout, e: Example, draw: np.random.Generator, streaming: float) -> Rows:
    """Rows of one example with the language given or left to "auto", and one of the two layouts, at random."""
    language = "english" if draw.random() < 0.6 else None
    body = layout.tokens.encode(e.symbols)
    return layout.build(body, e.frames, e.speaker, language, streaming=bool(draw.random() < streaming))


def corrupt(batch: Batch, rate: float, codes: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Replace a share of the input codes by random ones, so that the talker survives its own mistakes."""
    where, frames = batch.first.device, batch.rest[..., 0] >= 0
    out = []
    for values, real in ((batch.first, frames), (batch.rest, frames[..., None])):
        hit = (torch.rand(values.shape, generator=draw) < rate).to(where) & real
        out.append(torch.where(hit, torch.randint(0, codes, values.shape, generator=draw).to(where), values))
    return out[0], out[1]


def guidance(logs: list[Tensor], batch: Batch) -> Tensor:
    """-log of the attention mass on the rows spoken in each frame, mean over frames and watched layers [nats]."""
    picked = batch.low >= 0
    columns = torch.arange(batch.low.shape[1], device=batch.low.device)
    spoken = (columns >= batch.low[..., None]) & (columns <= batch.high[..., None])
    total = torch.zeros((), device=batch.low.device)
    for log in logs:
        mass = log.masked_fill(~spoken, -1e4).logsumexp(-1)
        total = total - mass[picked].clamp_min(-12).mean()
    return total / len(logs)


def losses(
    voice: Voice, batch: Batch, draw: torch.Generator, corruption: float, predictor_share: float
) -> dict[str, Tensor]:
    """Mean losses: `first` (code 0 and end), `rest` (residual codes), `guide`; and the share of code 0 guessed."""
    s = voice.shape
    first, rest = corrupt(batch, corruption, s.codes, draw)
    hidden, logs = voice.read(batch.text, first, rest, GUIDED_LAYERS)
    told = batch.target >= 0
    states, wanted = hidden[told], batch.target[told]
    logits = code_and_end_logits(voice, states)
    wanted = torch.where(wanted == s.eos, s.codes, wanted)
    out = {"first": F.cross_entropy(logits, wanted), "guide": guidance(logs, batch)}
    out["right"] = (logits.argmax(-1) == wanted).float().mean()
    framed = (wanted < s.codes) & (torch.rand(wanted.shape, generator=draw) < predictor_share).to(wanted.device)
    rest_wanted = batch.target_rest[told][framed]
    rest_logits = predictor_logits(voice, states[framed], wanted[framed], rest_wanted)
    out["rest"] = F.cross_entropy(rest_logits.flatten(0, 1), rest_wanted.flatten())
    return out


def code_and_end_logits(voice: Voice, states: Tensor) -> Tensor:
    """Logits [N, K + 1] of code 0 and, last, of the end, told talker states [N, H]."""
    s, head = voice.shape, voice.talker.codec_head.weight
    return F.linear(states, torch.cat([head[: s.codes], head[s.eos : s.eos + 1]])).float()


def predictor_logits(voice: Voice, states: Tensor, first: Tensor, rest: Tensor) -> Tensor:
    """Logits [N, G-1, K] of the residual codes, told talker states [N, H], code 0 [N] and `rest` [N, G-1]."""
    predictor = voice.talker.code_predictor
    rows = [states, voice.talker.model.codec_embedding(first).to(states.dtype)]
    rows += [table(rest[:, i]).to(states.dtype) for i, table in enumerate(predictor.model.codec_embedding[:-1])]
    hidden = predictor.hidden(torch.stack(rows, 1), voice.rope(len(rows)))
    return torch.stack([head(hidden[:, i + 1]) for i, head in enumerate(predictor.lm_head)], 1).float()
