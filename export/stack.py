"""The Qwen3 decoder stack, once for the talker and fifteen times a frame for the code predictor.

Purpose: pre-norm layers with normed queries and keys, grouped-query attention, SwiGLU (as in `qwen-tts` 0.1.1).
Knows: the layer and the official tensor names. Does not know: backends, sampling, what the rows mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from export.checkpoint import Array, TensorSource
from export.config import StackConfig
from export.graph import GraphBuilder
from export.lowering import Cache, Heads, Lowering, Matrix, Precision


def vector(g: GraphBuilder, file: TensorSource, source: str, name: str, size: int) -> str:
    """A 1-D tensor of the checkpoint as a weight of the graph."""
    file.claim(source, (size,))
    return g.weight(name, np.float32, (size,), partial(file.read, source))


def matrix(
    file: TensorSource, name: str, sources: list[str], rows: list[int], inputs: int, precision: Precision
) -> Matrix:
    """One linear layer made of the checkpoint's matrices `sources` (with `rows` outputs each), stacked."""
    for source, count in zip(sources, rows, strict=True):
        file.claim(source, (count, inputs))

    def read() -> Array:
        return np.concatenate([file.read(source) for source in sources]) if len(sources) > 1 else file.read(sources[0])

    return Matrix(name, sum(rows), inputs, read, precision)


def biased(g: GraphBuilder, low: Lowering, file: TensorSource, x: str, weight: Matrix, bias: str) -> str:
    """x W^T, and the checkpoint's vector `bias`."""
    added = vector(g, file, bias, f"{weight.name}.bias", weight.outputs)
    return g.op("Add", low.linear(x, weight), added)


def scaled_matrix(file: TensorSource, name: str, source: str, scale: str, outputs: int, inputs: int) -> Matrix:
    """A linear layer of the checkpoint's matrix `source` with the `scale` [outputs] of its outputs folded in."""
    file.claim(source, (outputs, inputs))
    file.claim(scale, (outputs,))
    return Matrix(name, outputs, inputs, lambda: file.read(source) * file.read(scale)[:, None])


def rotary_tables(g: GraphBuilder, name: str, config: StackConfig, positions: int) -> tuple[str, str]:
    """Cosine and sine, f32 [positions, head_dim / 2], angles in float32 as the official code has them."""

    def angles() -> Array:
        exponents = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
        frequencies = (np.float32(1) / np.float32(config.rope_theta) ** exponents).astype(np.float32)
        return np.outer(np.arange(positions, dtype=np.float32), frequencies)

    shape = (positions, config.head_dim // 2)
    return (
        g.weight(f"{name}.cosine", np.float32, shape, lambda: np.cos(angles())),
        g.weight(f"{name}.sine", np.float32, shape, lambda: np.sin(angles())),
    )


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack's facts: where its tensors are and under which name they go."""

    name: str
    """Prefix in the bundle ("talker")."""
    source: str
    """Prefix in the checkpoint ("talker.model")."""
    file: TensorSource
    config: StackConfig
    precision: Precision
    down_precision: Precision | None = None
    """Of the down projections, where it differs."""

    @property
    def heads(self) -> Heads:
        """Head counts."""
        return Heads(self.config.num_attention_heads, self.config.num_key_value_heads, self.config.head_dim)

    def gamma(self, g: GraphBuilder, source: str, size: int | None = None) -> str:
        """A norm's weight."""
        return vector(g, self.file, f"{self.source}.{source}", f"{self.name}.{source}", size or self.config.hidden_size)

    def linear(
        self, name: str, sources: list[str], rows: list[int], inputs: int, precision: Precision | None = None
    ) -> Matrix:
        """A linear layer's weight."""
        paths = [f"{self.source}.{source}.weight" for source in sources]
        return matrix(self.file, f"{self.name}.{name}", paths, rows, inputs, precision or self.precision)


CacheOf = Callable[[int], Cache]
Keep = Callable[[int, str, str], None]


def run_stack(g: GraphBuilder, low: Lowering, stack: Stack, x: str, cache_of: CacheOf, keep: Keep) -> str:
    """All layers and the final norm over rows x [B, S, hidden].

    `cache_of(layer)` gives a layer's cache before, `keep(layer, key, value)` takes it after.
    Returns the normed rows [B, S, hidden].
    """
    config, epsilon = stack.config, stack.config.rms_norm_eps
    total, normed = x, low.rms_norm(x, stack.gamma(g, "layers.0.input_layernorm.weight"), epsilon)
    for index in range(config.num_hidden_layers):
        layer = f"layers.{index}"
        last = index + 1 == config.num_hidden_layers
        following = "norm.weight" if last else f"layers.{index + 1}.input_layernorm.weight"
        with g.scope(layer):
            attended = _attention(g, low, stack, layer, normed, cache_of(index), partial(keep, index))
            gamma = stack.gamma(g, f"{layer}.post_attention_layernorm.weight")
            normed, total = low.add_rms_norm(attended, total, gamma, epsilon)
            fed = _feed_forward(g, low, stack, layer, normed)
            normed, total = low.add_rms_norm(fed, total, stack.gamma(g, following), epsilon)
    return normed


def _attention(
    g: GraphBuilder, low: Lowering, stack: Stack, layer: str, x: str, cache: Cache, keep: Callable[[str, str], None]
) -> str:
    heads, hidden = stack.heads, stack.config.hidden_size
    queries, keys = heads.query * heads.width, heads.key_value * heads.width
    with g.scope("attention"):
        joined = stack.linear(
            f"{layer}.attention.qkv",
            [f"{layer}.self_attn.{part}_proj" for part in "qkv"],
            [queries, keys, keys],
            hidden,
        )
        sizes = g.ints(queries, keys, keys)
        q, k, v = g.ops("Split", low.linear(x, joined), sizes, outputs=3, axis=-1)
        q = _head_norm(g, low, stack, q, f"{layer}.self_attn.q_norm.weight", heads.query)
        k = _head_norm(g, low, stack, k, f"{layer}.self_attn.k_norm.weight", heads.key_value)
        mixed, key, value = low.attention(q, k, v, heads, cache)
        keep(key, value)
        out = stack.linear(f"{layer}.attention.o", [f"{layer}.self_attn.o_proj"], [hidden], queries)
        return low.linear(mixed, out)


def _head_norm(g: GraphBuilder, low: Lowering, stack: Stack, x: str, source: str, heads: int) -> str:
    width = stack.heads.width
    split = g.op("Reshape", x, g.ints(0, 0, heads, width))
    normed = low.rms_norm(split, stack.gamma(g, source, width), stack.config.rms_norm_eps)
    return g.op("Reshape", normed, g.ints(0, 0, heads * width))


def _feed_forward(g: GraphBuilder, low: Lowering, stack: Stack, layer: str, x: str) -> str:
    hidden, inner = stack.config.hidden_size, stack.config.intermediate_size
    with g.scope("mlp"):
        joined = stack.linear(
            f"{layer}.mlp.gate_up", [f"{layer}.mlp.gate_proj", f"{layer}.mlp.up_proj"], [inner, inner], hidden
        )
        gate, up = g.ops("Split", low.linear(x, joined), g.ints(inner, inner), outputs=2, axis=-1)
        down = stack.linear(f"{layer}.mlp.down", [f"{layer}.mlp.down_proj"], [hidden], inner, stack.down_precision)
        return low.linear(low.swiglu(gate, up), down)
