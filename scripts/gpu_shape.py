"""The shape whose frames `scripts/gpu_check` times, and what a frame of it must read.

Knows: the released 0.6B model's dimensions. Does not know: weights, devices. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bits:
    """Stored bits of a number, its share of the scales included."""

    matrices: float
    """Of all layers, but for `down`: the product back from the feed-forward's width."""
    down: float
    heads: float
    cache: float


def plain(bits: int) -> Bits:
    """Nothing is quantised."""
    return Bits(bits, bits, bits, bits)


def copied_bytes(free_bytes: int) -> int:
    """How much to copy for a device's bandwidth: far more than any cache holds, and twice that must be free."""
    return min(1 << 32, free_bytes // 4)


BITS: Final = {
    ("tensorrt", "int4"): Bits(4.125, 4.125, 16, 16),
    ("tensorrt", "int8"): Bits(8.125, 8.125, 16, 16),
    ("tensorrt", "fp8"): Bits(8, 16, 16, 16),
    ("tensorrt", "fp16"): plain(16),
    ("tensorrt", "fp32"): plain(32),
    ("cuda", "int4"): Bits(4.25, 4.25, 8.25, 16),
}
"""By backend and precision, as their graphs are built. Blocks of 128 integers share a scale: float16 for TensorRT,
float32 for ONNX Runtime, whose heads are int8 with int4 matrices; TensorRT's heads are as wide as its products."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions; the defaults are the released 0.6B model's."""

    hidden: int = 1024
    layers: int = 28
    heads: int = 16
    kv_heads: int = 8
    head_dim: int = 128
    intermediate: int = 3072
    vocabulary: int = 3072
    predictor_layers: int = 5
    codes: int = 2048
    codebooks: int = 16
    top_k: int = 50
    positions: int = 512

    @property
    def layer_weights(self) -> int:
        """Numbers in the matrices of one layer."""
        attention = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        return attention + 3 * self.hidden * self.intermediate

    def reads(self, bits: Bits, batch: int, context: int) -> dict[str, float]:
        """Bytes one frame must read, and `context` rows of each sequence's cache with it.

        `frame_bytes` counts every matrix at every use, `frame_bytes_once` each matrix once: the predictor's layers
        (`predictor_bytes`) are used for each residual code, and a cache that holds them reads them from memory once.
        """
        residuals = self.codebooks - 1
        layer = ((self.layer_weights - self._down_weights) * bits.matrices + self._down_weights * bits.down) / 8
        heads = self.hidden * (self.vocabulary + residuals * self.codes) * bits.heads / 8
        cache = 2 * self.layers * self.kv_heads * self.head_dim * batch * context * bits.cache / 8
        predictor = self.predictor_layers * layer
        once = self.layers * layer + predictor + heads + cache
        return {
            "frame_bytes": once + (residuals - 1) * predictor, "frame_bytes_once": once, "predictor_bytes": predictor,
        }  # fmt: skip

    @property
    def _down_weights(self) -> int:
        return self.hidden * self.intermediate


SMOKE = Shape(
    hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=64, vocabulary=96, predictor_layers=1, codes=64,
    codebooks=4, top_k=8, positions=16,
)  # fmt: skip
