"""The shape whose frames `scripts/gpu_check` times, and what a frame of it must read.

Knows: the released 0.6B model's dimensions. Does not know: weights, devices. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass


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

    def frame_bytes(self, bits: float, batch: int, context: int, cache_bytes: int, head_bits: float = 0.0) -> float:
        """Bytes one frame must read: every matrix at every use, and `context` rows of each sequence's cache.

        `bits`: of a weight, its share of the scales included; `head_bits`: of the heads', where it is another.
        """
        residuals = self.codebooks - 1
        weights = self.layer_weights * (self.layers + residuals * self.predictor_layers)
        heads = self.hidden * (self.vocabulary + residuals * self.codes)
        cache = 2 * self.layers * self.kv_heads * self.head_dim * batch * context * cache_bytes
        return (weights * bits + heads * (head_bits or bits)) / 8 + cache


SMOKE = Shape(
    hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=64, vocabulary=96, predictor_layers=1, codes=64,
    codebooks=4, top_k=8, positions=16,
)  # fmt: skip
