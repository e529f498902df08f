"""Pieces of attention in standard operators, for the graphs that have no operator for all of it.

Purpose: heads first, positions, masks, rotation. Knows: shapes. Does not know: caches, layers, backends.
"""

from __future__ import annotations

import numpy as np

from export.graph import GraphBuilder


def heads_first(g: GraphBuilder, x: str, heads: int, width: int) -> str:
    """[B, S, heads * width] -> [B, heads, S, width]."""
    return g.op("Transpose", g.op("Reshape", x, g.ints(0, 0, heads, width)), perm=(0, 2, 1, 3))


def length(g: GraphBuilder, x: str, axis: int) -> str:
    """The size of an axis, i64 []."""
    return g.op("Squeeze", g.op("Shape", x, start=axis, end=axis + 1), g.ints(0))


def up_to(g: GraphBuilder, count: str) -> str:
    """0 to `count` - 1, i64 [count]."""
    return g.op("Range", g.const(0, np.int64), count, g.const(1, np.int64))


def mask(g: GraphBuilder, seen: str, hidden: float) -> str:
    """What is added to scores, f32 as `seen`: 0 where that is true, else `hidden`."""
    return g.op("Where", seen, g.const(0.0, np.float32), g.const(hidden, np.float32))


def rotate(g: GraphBuilder, x: str, angles: tuple[str, str], width: int) -> str:
    """Half-split rotary embedding of f32 [B, heads, S, width]; `angles`: cosine and sine, f32 [..., S, width / 2]."""
    half, (cosine, sine) = width // 2, angles
    a, b = g.ops("Split", x, g.ints(half, half), outputs=2, axis=-1)
    left = g.op("Sub", g.op("Mul", a, cosine), g.op("Mul", b, sine))
    right = g.op("Add", g.op("Mul", b, cosine), g.op("Mul", a, sine))
    return g.op("Concat", left, right, axis=-1)
