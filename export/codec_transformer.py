"""The codec decoder's windowed transformer over latent frames.

Purpose: linear in, layers with rotary attention over the last `sliding_window` frames and per-channel layer scales
(folded into the projections before them), norm, linear out (as `decoder.pre_transformer` of `qwen-tts` 0.1.1).
Knows: the layers, their tensor names, the keys and values to carry. Does not know: what comes before or after.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from onnx import TensorProto

from export.attention import heads_first, length, mask, rotate, up_to
from export.checkpoint import TensorSource
from export.config import CodecDecoderConfig
from export.graph import GraphBuilder
from export.lowering import Lowering, Precision
from export.sampler import NEVER
from export.stack import biased, matrix, scaled_matrix, vector


class Remember(Protocol):
    """Declares a state [B, *shape] that is carried from call to call."""

    def __call__(self, name: str, x: str, shape: tuple[int, ...]) -> str:
        """x with the state before it along axis 2; the last `shape[1]` there become the new state."""
        ...


class CodecTransformer:
    """`decoder.pre_transformer` over rows [B, T, latent]."""

    def __init__(
        self, g: GraphBuilder, low: Lowering, file: TensorSource, config: CodecDecoderConfig, remember: Remember
    ) -> None:
        self._g, self._low, self._file, self._config, self._remember = g, low, file, config, remember
        self._past = config.sliding_window - 1

    def run(self, x: str, position: str) -> str:
        """Rows [B, T, latent] at absolute frames position [B] onwards -> rows [B, T, latent]."""
        g, config, source = self._g, self._config, "decoder.pre_transformer"
        latent, hidden = config.latent_dim, config.hidden_size
        with g.scope("transformer"):
            self._position_facts(x, position)
            x = self._biased(x, f"{source}.input_proj", "codec.transformer.in", hidden, latent)
            total, normed = x, self._low.rms_norm(x, self._gamma("layers.0.input_layernorm"), config.rms_norm_eps)
            for index in range(config.num_hidden_layers):
                last = index + 1 == config.num_hidden_layers
                with g.scope(f"layers.{index}"):
                    y = self._attention(index, normed)
                    gamma = self._gamma(f"layers.{index}.post_attention_layernorm")
                    normed, total = self._low.add_rms_norm(y, total, gamma, config.rms_norm_eps)
                    y = self._feed_forward(index, normed)
                    gamma = self._gamma("norm" if last else f"layers.{index + 1}.input_layernorm")
                    normed, total = self._low.add_rms_norm(y, total, gamma, config.rms_norm_eps)
            return self._biased(normed, f"{source}.output_proj", "codec.transformer.out", latent, hidden)

    def _gamma(self, name: str) -> str:
        source = f"decoder.pre_transformer.{name}.weight"
        return vector(self._g, self._file, source, f"codec.transformer.{name}", self._config.hidden_size)

    def _biased(self, x: str, source: str, name: str, outputs: int, inputs: int) -> str:
        weight = matrix(self._file, name, [f"{source}.weight"], [outputs], inputs, Precision.FP32)
        return biased(self._g, self._low, self._file, x, weight, f"{source}.bias")

    def _position_facts(self, x: str, position: str) -> None:
        """Rotary angles of the new frames and the additive mask, shared by all layers."""
        g, width = self._g, self._config.attention_head_dim
        count = length(g, x, 1)
        steps = up_to(g, count)
        frames = g.op("Add", g.op("Unsqueeze", position, g.ints(1)), steps)  # [B, T]
        exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
        frequencies = np.float32(1) / np.float32(self._config.rope_theta) ** exponents
        columns = g.op("Unsqueeze", g.op("Cast", frames, to=TensorProto.FLOAT), g.ints(1, 3))  # [B, 1, T, 1]
        angles = g.op("Mul", columns, g.const(frequencies, np.float32))
        self._angles = g.op("Cos", angles), g.op("Sin", angles)
        # Column j of the joined keys is frame position - past + j: row i sees it when i <= j <= i + past and it exists.
        rows = g.op("Unsqueeze", steps, g.ints(1))  # [T, 1]
        keys = up_to(g, g.op("Add", count, g.const(self._past, np.int64)))
        recent = g.op("GreaterOrEqual", keys, rows)
        causal = g.op("LessOrEqual", keys, g.op("Add", rows, g.const(self._past, np.int64)))
        born = g.op("Sub", g.const(self._past, np.int64), g.op("Unsqueeze", position, g.ints(1, 2)))
        exists = g.op("GreaterOrEqual", keys, born)  # [B, 1, past + T]
        seen = g.op("And", g.op("And", recent, causal), exists)
        self._mask = g.op("Unsqueeze", mask(g, seen, NEVER), g.ints(1))  # [B, 1, T, past + T]

    def _attention(self, index: int, x: str) -> str:
        g, config = self._g, self._config
        heads, width, hidden = config.num_attention_heads, config.attention_head_dim, config.hidden_size
        inner, source = heads * width, f"decoder.pre_transformer.layers.{index}.self_attn"
        name = f"codec.transformer.layers.{index}.attention"
        with g.scope("attention"):
            sources = [f"{source}.{part}_proj.weight" for part in "qkv"]
            joined = matrix(self._file, f"{name}.qkv", sources, [inner] * 3, hidden, Precision.FP32)
            parts = g.ops("Split", self._low.linear(x, joined), g.ints(inner, inner, inner), outputs=3, axis=-1)
            q, k, v = (heads_first(g, part, heads, width) for part in parts)
            narrow, widen = self._low.narrow, self._low.widen
            past = (heads, self._past, width)
            k = self._remember(f"transformer.layers.{index}.key", narrow(rotate(g, k, self._angles, width)), past)
            v = self._remember(f"transformer.layers.{index}.value", narrow(v), past)
            scaled = narrow(g.op("Mul", rotate(g, q, self._angles, width), g.const(width**-0.5, np.float32)))
            products = widen(g.op("MatMul", scaled, g.op("Transpose", k, perm=(0, 1, 3, 2))))
            weights = g.op("Softmax", g.op("Add", products, self._mask), axis=-1)
            mixed = widen(g.op("MatMul", narrow(weights), v))
            rows = g.op("Reshape", g.op("Transpose", mixed, perm=(0, 2, 1, 3)), g.ints(0, 0, inner))
            scale = f"decoder.pre_transformer.layers.{index}.self_attn_layer_scale.scale"
            out = scaled_matrix(self._file, f"{name}.o", f"{source}.o_proj.weight", scale, hidden, inner)
            return self._low.linear(rows, out)

    def _feed_forward(self, index: int, x: str) -> str:
        g, hidden, inner = self._g, self._config.hidden_size, self._config.intermediate_size
        layer = f"decoder.pre_transformer.layers.{index}"
        name = f"codec.transformer.layers.{index}.mlp"
        with g.scope("mlp"):
            sources = [f"{layer}.mlp.gate_proj.weight", f"{layer}.mlp.up_proj.weight"]
            joined = matrix(self._file, f"{name}.gate_up", sources, [inner, inner], hidden, Precision.FP32)
            gate, up = g.ops("Split", self._low.linear(x, joined), g.ints(inner, inner), outputs=2, axis=-1)
            scale = f"{layer}.mlp_layer_scale.scale"
            down = scaled_matrix(self._file, f"{name}.down", f"{layer}.mlp.down_proj.weight", scale, hidden, inner)
            return self._low.linear(self._low.swiglu(gate, up), down)
