"""The frame graph for ONNX Runtime's CUDA provider: as on the processor, but for attention.

Purpose: GroupQueryAttention has no float32 kernel on CUDA, so what goes into it, and the caches, are float16; all else,
the stored weights above all, is the processor's graph, so a bundle serves both with one payload.
Knows: which kernels that provider has (`docs/OperatorKernels.md` of ONNX Runtime). Does not know: which layers follow
which, devices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from export.graph import GraphBuilder
from export.lowering import Cache, Heads, OrtLowering
from export.rounding import Rounder


class OrtCudaLowering(OrtLowering):
    """`OrtLowering` with float16 caches."""

    cache_dtype: np.dtype[np.generic] = np.dtype(np.float16)

    def __init__(self, graph: GraphBuilder, rounder: Rounder | None = None) -> None:
        """As `OrtLowering`."""
        super().__init__(graph, rounder)
        self._halved: dict[str, str] = {}

    def attention(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """GroupQueryAttention in float16; returns output f32, present key and value f16."""
        narrow = replace(cache, cosine=self._half(cache.cosine), sine=self._half(cache.sine))
        output, key, value = super().attention(self._half(q), self._half(k), self._half(v), heads, narrow)
        return self._g.op("Cast", output, to=TensorProto.FLOAT), key, value

    def _half(self, x: str) -> str:
        """A cast to float16, one for each value: those of rotary tables become constants when the graph is loaded."""
        if x not in self._halved:
            self._halved[x] = self._g.op("Cast", x, to=TensorProto.FLOAT16)
        return self._halved[x]
