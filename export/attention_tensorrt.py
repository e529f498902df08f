"""Grouped-query attention for TensorRT, in two forms over caches of fixed size, and over caches that grow in the graph.

Purpose: rotary positions, the cache, the mask and the products, in standard operators that TensorRT's parser takes.
Knows: what each TensorRT can do. From 10.15: TensorScatter writes the new rows into the cache where it lies (the past
and the present are the same memory), and the products go over all of it under an additive mask. Before: over the cache
and the new rows side by side, and only the new rows come out, for the caller to copy into the cache.
Does not know: layers, weights, what the rows mean.

The products are given one by one, scores and softmax in float32, although there is an operator for all of it. NVIDIA
found with Qwen3 and Qwen2.5 (issues 245 and 955, pull requests 785 and 1048 of NVIDIA/TensorRT-Model-Connect) that one
row over a long cache does not build in float16 where queries, keys and values are joined by a fourth input (10.16.1 and
11.0; 2,048 rows of cache, but 256 did), is wrong in float16 under a mask (11.2), and does not build in float32 where it
may be decomposed (11.2); they write the products out since. The operator's own `nonpad_kv_seqlen` would be dropped in
silence by the parser, which also scales all keys, thus the whole cache, in every layer and step (10.15.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from onnx import TensorProto

from export.attention import heads_first, length, mask, rotate, up_to
from export.graph import GraphBuilder
from export.lowering import Cache, Heads

UNSEEN: Final = -3e4  # added to the score of a hidden row: nothing is left after exp, and float16 can hold it
FAR: Final = 2**30  # a position no row reaches


class AttentionForm(str, Enum):
    """How the cache is written."""

    IN_PLACE = "in_place"
    """TensorScatter; TensorRT 10.15 and later."""
    ROWS = "rows"
    """Only new rows come out. TensorRT 10.3 and later."""


FIRST_VERSIONS: Final = {AttentionForm.IN_PLACE: (10, 15), AttentionForm.ROWS: (10, 3)}
"""Of TensorRT, that take each form."""


@dataclass(frozen=True, slots=True)
class _Where:
    """Where the new rows of every slot stand; made once per stack and shared by its layers."""

    start: str
    """i64 [B]: position of each slot's first new row."""
    positions: str
    """i64 [B, S]."""
    mask: str
    """Additive, f32 [B or 1, 1, rows of a key head, keys]."""
    angles: tuple[str, str]
    """Cosine and sine, f32 [B, 1, S, width / 2]; empty where RotaryEmbedding looks them up itself."""


class TensorRtAttention:
    """Builds the attention of one graph; see the module's first lines."""

    def __init__(
        self, g: GraphBuilder, form: AttentionForm, narrow: Callable[[str], str], widen: Callable[[str], str]
    ) -> None:
        self._g, self._form, self._narrow, self._widen = g, form, narrow, widen
        self._known: dict[tuple[str, str], _Where] = {}

    def run(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """Output f32 [B, S, heads * width], and the cache's key and value after, or the new rows (`ROWS`)."""
        q, k, v = (
            heads_first(self._g, x, count, heads.width)
            for x, count in ((q, heads.query), (k, heads.key_value), (v, heads.key_value))
        )
        if cache.first is not None:
            return self._grow(q, k, v, heads, cache, cache.first)
        if not cache.past_key:
            return self._whole(q, k, v, heads, cache)
        where = self._where(k, heads, cache)
        q, k = self._turn(q, cache, where, heads), self._turn(k, cache, where, heads)
        new_key, new_value = self._narrow(k), self._narrow(v)
        if self._form is AttentionForm.IN_PLACE:
            key = self._scatter(cache.past_key, new_key, where)
            value = self._scatter(cache.past_value, new_value, where)
            return self._mix(q, key, value, where.mask, heads), key, value
        key = self._g.op("Concat", cache.past_key, new_key, axis=2)
        value = self._g.op("Concat", cache.past_value, new_value, axis=2)
        return self._mix(q, key, value, where.mask, heads), new_key, new_value

    # -- caches that grow with the rows ---------------------------------------------------------------------------

    def _grow(self, q: str, k: str, v: str, heads: Heads, cache: Cache, first: int) -> tuple[str, str, str]:
        """All slots stand at the same position, known now: no buffer and, for one row, no mask."""
        g, last = self._g, first + cache.rows
        angles = (g.slice(cache.cosine, 0, first, last), g.slice(cache.sine, 0, first, last))
        q, k = rotate(g, q, angles, heads.width), rotate(g, k, angles, heads.width)
        key, value = self._narrow(k), self._narrow(v)
        if cache.past_key:
            key = g.op("Concat", cache.past_key, key, axis=2)
            value = g.op("Concat", cache.past_value, value, axis=2)
        hides = ""
        if cache.rows > 1:
            hidden = np.arange(last)[None] > first + np.arange(cache.rows)[:, None]
            hides = self._for_groups(g.const(np.where(hidden, UNSEEN, 0.0)[None, None], np.float32), heads)
        return self._mix(q, key, value, hides, heads), key, value

    def _whole(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """No past at all: however many rows there are, they begin at position 0 (measurements use this)."""
        g = self._g
        steps = up_to(g, length(g, k, 2))
        angles = (g.op("Gather", cache.cosine, steps), g.op("Gather", cache.sine, steps))
        seen = g.op("LessOrEqual", steps, g.op("Unsqueeze", steps, g.ints(1)))
        hides = self._for_groups(g.op("Unsqueeze", mask(g, seen, UNSEEN), g.ints(0, 1)), heads)
        key, value = self._narrow(rotate(g, k, angles, heads.width)), self._narrow(v)
        return self._mix(rotate(g, q, angles, heads.width), key, value, hides, heads), key, value

    # -- caches of fixed size -------------------------------------------------------------------------------------

    def _where(self, k: str, heads: Heads, cache: Cache) -> _Where:
        known = self._known.get((cache.past_lengths, cache.cosine))
        if known is None:
            known = self._known[cache.past_lengths, cache.cosine] = self._find(k, heads, cache)
        return known

    def _find(self, k: str, heads: Heads, cache: Cache) -> _Where:
        g = self._g
        count = length(g, k, 2)
        steps = up_to(g, count)
        last = g.op("Cast", cache.past_lengths, to=TensorProto.INT64)
        start = g.op("Sub", last, g.op("Sub", count, g.const(1, np.int64)))
        column = g.op("Unsqueeze", start, g.ints(1))  # [B, 1]
        positions = g.op("Add", column, steps)  # [B, S]
        keys = up_to(g, length(g, cache.past_key, 2))
        angles = ("", "")
        if self._form is AttentionForm.ROWS:
            # A cached row beyond the start is stale; the new rows stand after the cache, at their own positions.
            fresh = g.op("Where", g.op("Less", keys, column), keys, g.const(FAR, np.int64))
            keys = g.op("Unsqueeze", g.op("Concat", fresh, positions, axis=1), g.ints(1, 2))
            angles = (self._look_up(cache.cosine, positions), self._look_up(cache.sine, positions))
        seen = g.op("LessOrEqual", keys, g.op("Unsqueeze", positions, g.ints(1, 3)))  # [B, 1, S, keys]
        return _Where(start, positions, self._for_groups(mask(g, seen, UNSEEN), heads), angles)

    def _look_up(self, table: str, positions: str) -> str:
        return self._g.op("Unsqueeze", self._g.op("Gather", table, positions), self._g.ints(1))

    def _scatter(self, past: str, rows: str, where: _Where) -> str:
        return self._g.op("TensorScatter", past, rows, where.start, axis=-2, mode="linear")

    def _turn(self, x: str, cache: Cache, where: _Where, heads: Heads) -> str:
        if self._form is AttentionForm.ROWS:
            return rotate(self._g, x, where.angles, heads.width)
        return self._g.op("RotaryEmbedding", x, cache.cosine, cache.sine, where.positions, interleaved=0)

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def _for_groups(self, hides: str, heads: Heads) -> str:
        """From a mask [B or 1, 1, S, keys] to what `_mix` adds."""
        copies = heads.query // heads.key_value
        return self._g.op("Concat", *[hides] * copies, axis=2) if copies > 1 else hides

    def _mix(self, q: str, key: str, value: str, hides: str, heads: Heads) -> str:
        """Softmax(q key^T / sqrt(width) + mask) value -> f32 [B, S, heads * width]."""
        g = self._g
        # The query heads of one key head become rows of one product: [B, key heads, group * S, width].
        q = self._narrow(g.op("Mul", q, g.const(heads.width**-0.5, np.float32)))
        folded = g.op("Reshape", q, g.ints(0, heads.key_value, -1, heads.width))
        scores = self._widen(g.op("MatMul", folded, g.op("Transpose", key, perm=(0, 1, 3, 2))))
        weights = g.op("Softmax", g.op("Add", scores, hides) if hides else scores, axis=-1)
        mixed = g.op("MatMul", self._narrow(weights), value)
        mixed = g.op("Reshape", mixed, g.ints(0, heads.query, -1, heads.width))
        rows = g.op("Transpose", self._widen(mixed), perm=(0, 2, 1, 3))
        return g.op("Reshape", rows, g.ints(0, 0, heads.query * heads.width))
