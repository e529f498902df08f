"""Sampling as a piece of the graph: penalty, suppression, temperature, top-k, top-p, a draw.

Purpose: one code per slot from one row of logits, by argmax over (scaled logit + Gumbel noise), which draws exactly
from the softmax; zero noise is greedy. The order of the steps is that of `qwen-tts` 0.1.1
with transformers 4.57.
Knows: probabilities. Does not know: what made the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from export.graph import GraphBuilder
from export.lowering import Lowering

NEVER: Final = -1e30  # a logit that cannot win, yet stays finite through the arithmetic


@dataclass(frozen=True, slots=True)
class Wishes:
    """Settings of one stage, ready for use: each value [B, 1, 1], the rank bias [B, 1, K]."""

    temperature: str
    top_p: str
    rank_bias: str


def wishes(g: GraphBuilder, temperature: str, top_k: str, top_p: str, stage: int, max_top_k: int) -> Wishes:
    """Settings of stage 0 (talker) or 1 (predictor) out of inputs [B, 2]."""

    def column(value: str) -> str:
        return g.op("Unsqueeze", g.slice(value, 1, stage, stage + 1), g.ints(2))

    ranks = g.const(np.arange(max_top_k).reshape(1, 1, -1), np.int64)
    kept = g.op("Less", ranks, column(top_k))
    bias = g.op("Where", kept, g.const(0.0, np.float32), g.const(NEVER, np.float32))
    return Wishes(column(temperature), column(top_p), bias)


def draw(g: GraphBuilder, low: Lowering, logits: str, wish: Wishes, noise: str, max_top_k: int) -> str:
    """A code per slot, i64 [B, 1], from logits [B, 1, V] and noise [B, 1, K]."""
    with g.scope("draw"):
        best, codes = g.ops("TopK", logits, g.ints(max_top_k), outputs=2, axis=-1, largest=1, sorted=1)
        scaled = g.op("Add", g.op("Div", best, wish.temperature), wish.rank_bias)
        mass_before = low.sums_before(g.op("Softmax", scaled, axis=-1), max_top_k)
        inside = g.op("Less", mass_before, wish.top_p)
        nucleus = g.op("Where", inside, scaled, g.const(NEVER, np.float32))
        rank = g.op("ArgMax", g.op("Add", nucleus, noise), axis=-1, keepdims=1)
        return g.op("Squeeze", g.op("GatherElements", codes, rank, axis=-1), g.ints(2))


def penalise(g: GraphBuilder, logits: str, seen: str, penalty: str) -> str:
    """Repetition penalty over the codes seen: l / p above zero, l * p below; all [B, V], penalty [B, 1]."""
    with g.scope("penalty"):
        positive = g.op("Greater", logits, g.const(0.0, np.float32))
        lessened = g.op("Where", positive, g.op("Div", logits, penalty), g.op("Mul", logits, penalty))
        return g.op("Where", g.op("Greater", seen, g.const(0.0, np.float32)), lessened, logits)
