"""What the network description asks of a backend, and how ONNX Runtime gets it.

Purpose: the networks (`stack`, `frame_graph`, `codec_graph`) are written once, in the layers' own words; a lowering
turns each word into the nodes its backend runs fast.
Knows: operators of one backend. Does not know: which layers follow which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from export.checkpoint import Array
from export.graph import MICROSOFT, GraphBuilder
from export.quantise import block_size, blocks, pack, pack_integers, packed_shape, scales
from export.rounding import Rounded, Rounder


class Precision(str, Enum):
    """How matrices are stored: as wide as products are computed, in blocks of 8- or 4-bit integers, or as E4M3."""

    FP32 = "fp32"
    INT8 = "int8"
    INT4 = "int4"
    FP8 = "fp8"
    """Weights and activations both; only in graphs for TensorRT, on hardware that multiplies E4M3 (Ada, Hopper)."""

    @property
    def bits(self) -> int:
        """Bits per weight."""
        return {"fp32": 32, "int8": 8, "int4": 4, "fp8": 8}[self.value]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A linear layer's weight: y = x W^T, W [outputs, inputs], read when it is written out."""

    name: str
    outputs: int
    inputs: int
    read: Callable[[], Array]
    precision: Precision = Precision.FP32

    def rounded(self, rounder: Rounder | None) -> Rounded | None:
        """Its 4-bit integers where `rounder` knows something of it; None: the nearest will do, or it has none."""
        if rounder is None or self.precision is not Precision.INT4:
            return None
        return rounder.round(self.name, self.read, self.precision.bits)


@dataclass(frozen=True, slots=True)
class Heads:
    """Head counts of a grouped-query attention, and the width of one head."""

    query: int
    key_value: int
    width: int


@dataclass(frozen=True, slots=True)
class Cache:
    """Key/value cache of one attention layer, by the names of values in the graph."""

    past_key: str
    """`Lowering.cache_dtype` [B, key heads, rows, head width]; empty where there is no past."""
    past_value: str
    """As `past_key`."""
    past_lengths: str
    """i32 [B], as `FrameInputs.PAST_LENGTHS`."""
    total_length: str
    """i32 [1], as `FrameInputs.TOTAL_LENGTH`; may be empty for backends that need none."""
    cosine: str
    """Rotary table, f32 [positions, head width / 2]."""
    sine: str
    """As `cosine`."""
    first: int | None = None
    """Position of the first new row where it is the same for every slot and the cache grows with the rows; None where
    the cache is a buffer of fixed size and `past_lengths` tells the positions."""
    rows: int = 1
    """New rows, where `first` is given."""


class Lowering(Protocol):
    """Words a backend must understand; values are f32 [B, rows, width] unless said otherwise."""

    dtype: np.dtype[np.generic]
    """What products are computed in: weights that are not quantised, carried states."""
    cache_dtype: np.dtype[np.generic]
    """What `attention` keeps keys and values in."""
    presents_rows: bool
    """Whether `attention` presents only the new rows of a buffer cache, for the caller to put in their place."""

    def narrow(self, x: str) -> str:
        """From f32 to `dtype`."""
        ...

    def widen(self, x: str) -> str:
        """From `dtype` to f32."""
        ...

    def linear(self, x: str, weight: Matrix) -> str:
        """x W^T."""
        ...

    def rms_norm(self, x: str, gamma: str, epsilon: float) -> str:
        """Root-mean-square norm over the last axis."""
        ...

    def add_rms_norm(self, x: str, residual: str, gamma: str, epsilon: float) -> tuple[str, str]:
        """Norm of x + residual, and the sum itself."""
        ...

    def swiglu(self, gate: str, up: str) -> str:
        """silu(gate) * up."""
        ...

    def gelu(self, x: str) -> str:
        """The exact (erf) form."""
        ...

    def sums_before(self, x: str, count: int) -> str:
        """For each of the `count` values along the last axis the sum of those before it."""
        ...

    def attention(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """Causal attention with rotary positions; returns output, present key, present value."""
        ...


class OrtLowering:
    """ONNX Runtime: fused norms, MatMulNBits, and GroupQueryAttention that grows or updates its cache in place."""

    dtype: np.dtype[np.generic] = np.dtype(np.float32)
    cache_dtype: np.dtype[np.generic] = np.dtype(np.float32)
    presents_rows = False

    def __init__(self, graph: GraphBuilder, rounder: Rounder | None = None) -> None:
        """`rounder` rounds the 4-bit matrices it knows something of; the others are rounded to the nearest."""
        self._g, self._rounder = graph, rounder

    def narrow(self, x: str) -> str:
        """Products are computed in f32."""
        return x

    def widen(self, x: str) -> str:
        """Products are computed in f32."""
        return x

    def linear(self, x: str, weight: Matrix) -> str:
        """MatMul, or MatMulNBits with 8-bit activations (accuracy level 4: 3.5 times faster on CPU than level 0)."""
        g, name, shape = self._g, weight.name, (weight.outputs, weight.inputs)
        if weight.precision is Precision.FP32:
            values = g.weight(name, np.float32, shape[::-1], lambda: weight.read().T)
            return g.op("MatMul", x, values)
        bits = weight.precision.bits
        packed = g.weight(f"{name}.q{bits}", np.uint8, packed_shape(*shape, bits), lambda: self._packed(weight))
        count = blocks(weight.inputs, bits)
        steps = g.weight(f"{name}.scale", np.float32, (weight.outputs, count), lambda: self._scales(weight))
        return g.op(
            "MatMulNBits", x, packed, steps, domain=MICROSOFT, K=weight.inputs, N=weight.outputs, bits=bits,
            block_size=block_size(weight.inputs, bits), accuracy_level=4,
        )  # fmt: skip

    def _packed(self, weight: Matrix) -> npt.NDArray[np.uint8]:
        bits, rounded = weight.precision.bits, weight.rounded(self._rounder)
        return pack(weight.read(), bits) if rounded is None else pack_integers(rounded.integers, bits)

    def _scales(self, weight: Matrix) -> npt.NDArray[np.float32]:
        rounded = weight.rounded(self._rounder)
        return scales(weight.read(), weight.precision.bits) if rounded is None else rounded.scales

    def rms_norm(self, x: str, gamma: str, epsilon: float) -> str:
        """SimplifiedLayerNormalization (an ONNX Runtime operator that lives in the default domain)."""
        return self._g.op("SimplifiedLayerNormalization", x, gamma, axis=-1, epsilon=epsilon, stash_type=1)

    def add_rms_norm(self, x: str, residual: str, gamma: str, epsilon: float) -> tuple[str, str]:
        """SkipSimplifiedLayerNormalization."""
        normed, _, _, total = self._g.ops(
            "SkipSimplifiedLayerNormalization", x, residual, gamma, outputs=4, domain=MICROSOFT, epsilon=epsilon
        )
        return normed, total

    def swiglu(self, gate: str, up: str) -> str:
        """QuickGelu with alpha 1 is silu."""
        return self._g.op("Mul", self._g.op("QuickGelu", gate, domain=MICROSOFT, alpha=1.0), up)

    def gelu(self, x: str) -> str:
        """Gelu."""
        return self._g.op("Gelu", x, domain=MICROSOFT)

    def sums_before(self, x: str, count: int) -> str:
        """CumSum."""
        return self._g.op("CumSum", x, self._g.const(2, np.int64), exclusive=1)

    def attention(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """GroupQueryAttention; in place where the caller binds past and present to the same memory."""
        output, key, value = self._g.ops(
            "GroupQueryAttention", q, k, v, cache.past_key, cache.past_value, cache.past_lengths, cache.total_length,
            cache.cosine, cache.sine, outputs=3, domain=MICROSOFT, num_heads=heads.query,
            kv_num_heads=heads.key_value, do_rotary=1, rotary_interleaved=0, scale=heads.width**-0.5,
        )  # fmt: skip
        return output, key, value
