"""How TensorRT gets what the network description asks for: standard ONNX operators only, strongly typed.

Purpose: the words of `export.lowering` as nodes that TensorRT's parser takes (10.3 and later with `AttentionForm.ROWS`,
10.15 and later with `IN_PLACE`). Types are in the graph and nowhere else: products (matrix products, convolutions,
attention) in `dtype`, everything between them (residual stream, norms, activations, softmax, sampling, SnakeBeta) in
float32; TensorRT fuses the casts into its pointwise kernels, and the residual stream cannot overflow.
Knows: TensorRT's operators and quantised weights. Does not know: which layers follow which, what TensorRT will fuse.
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from export.attention_tensorrt import AttentionForm, TensorRtAttention
from export.checkpoint import Array
from export.graph import GraphBuilder, View
from export.lowering import Cache, Heads, Matrix, Precision
from export.quantise import block_size, pack_signed, pack_signed_integers, positive_scales
from export.rounding import Rounder
from export.tensorrt_rules import INT4_BLOCKS

OPSETS: Final = {AttentionForm.IN_PLACE: 24, AttentionForm.ROWS: 21}
"""TensorScatter came with opset 24; int4 with 21, beyond which TensorRT 10.3 knows nothing."""
INTEGERS: Final = {Precision.INT4: TensorProto.INT4, Precision.INT8: TensorProto.INT8}
FP8_LIMIT: Final = 448.0  # largest E4M3 value
PEAK_SHARE: Final = 1 / 32
"""What gated values are multiplied with while they are narrow. In the code predictor of the released 0.6B a few reach
about twice what float16 holds (llama.cpp pull request 28231; NaN in float16 also by QwenLM/Qwen3-TTS issue 43), and
would be infinite, then no numbers. A power of two costs only what is below 0.002, which loses some of its bits."""


class TensorRtLowering:
    """One graph's lowering. `dtype` float16 is for use, float32 for reference."""

    def __init__(
        self, graph: GraphBuilder, form: AttentionForm, dtype: npt.DTypeLike, rounder: Rounder | None = None
    ) -> None:
        """`rounder` rounds the 4-bit matrices it knows something of; the others are rounded to the nearest."""
        self._g, self._form, self._rounder = graph, form, rounder
        self.dtype: np.dtype[np.generic] = np.dtype(dtype)
        self.cache_dtype = self.dtype
        self.presents_rows = form is AttentionForm.ROWS
        self._attention = TensorRtAttention(graph, form, self.narrow, self.widen)
        self._narrowed: dict[str, str] = {}
        self._peaked: set[str] = set()

    @property
    def _is_full(self) -> bool:
        return self.dtype == np.float32

    def narrow(self, x: str) -> str:
        """Cast to `dtype`; once per value."""
        if self._is_full:
            return x
        if x not in self._narrowed:
            self._narrowed[x] = self._g.op("Cast", x, to=TensorProto.FLOAT16)
        return self._narrowed[x]

    def widen(self, x: str) -> str:
        """Cast to float32."""
        return x if self._is_full else self._g.op("Cast", x, to=TensorProto.FLOAT)

    # -- products -------------------------------------------------------------------------------------------------

    def linear(self, x: str, weight: Matrix) -> str:
        """MatMul with W^T [inputs, outputs]; quantised weights through DequantizeLinear right before it.

        Blocks run along the inputs (axis 0), the form TensorRT's own tools write. A matrix that cannot be cut into
        blocks which TensorRT takes stays as it is. Gated values (`swiglu`) are made smaller for the product, and its
        rows larger again.
        """
        g, precision = self._g, weight.precision
        if precision is Precision.FP8:
            return self._float8(x, weight)
        peaked = x in self._peaked and not self._is_full
        x = self.narrow(g.op("Mul", x, g.const(PEAK_SHARE, np.float32)) if peaked else x)
        factor = self._integers(weight) if precision in INTEGERS and self._parts(weight) else self._plain(weight)
        rows = self.widen(g.op("MatMul", x, factor))
        return g.op("Mul", rows, g.const(1 / PEAK_SHARE, np.float32)) if peaked else rows

    def _plain(self, weight: Matrix) -> str:
        shape, dtype = (weight.inputs, weight.outputs), self.dtype
        return self._g.weight(weight.name, dtype, shape, lambda: weight.read().T.astype(dtype))

    def _parts(self, weight: Matrix) -> int:
        """How many scales a row of the quantised weight has; 0 where it cannot be one."""
        if weight.outputs % 2:
            return 0
        if weight.precision is Precision.INT8 and self._form is AttentionForm.ROWS:
            return 1  # that form is for versions which know no blocks of int8
        block = block_size(weight.inputs, weight.precision.bits)
        taken = weight.precision is Precision.INT8 or block in INT4_BLOCKS
        return weight.inputs // block if taken and weight.inputs % block == 0 else 0

    def _integers(self, weight: Matrix) -> str:
        g, bits, dtype, parts = self._g, weight.precision.bits, self.dtype, self._parts(weight)

        def scales() -> npt.NDArray[np.floating]:
            rounded = weight.rounded(self._rounder)
            wide = positive_scales(weight.read(), bits, parts) if rounded is None else rounded.scales
            return _above_zero(wide.astype(dtype))

        def integers() -> npt.NDArray[np.uint8]:
            rounded = weight.rounded(self._rounder)
            if rounded is not None:
                return pack_signed_integers(rounded.integers, bits)
            return pack_signed(weight.read(), scales(), bits)

        view = View(INTEGERS[weight.precision], (weight.inputs, weight.outputs))
        size = weight.inputs * weight.outputs * bits // 8
        packed = g.weight(f"{weight.name}.s{bits}", np.uint8, (size,), integers, view)
        if weight.precision is Precision.INT8 and parts == 1:
            steps = g.weight(f"{weight.name}.scale", dtype, (weight.outputs,), lambda: scales()[:, 0])
            return g.op("DequantizeLinear", packed, steps, axis=1)
        steps = g.weight(f"{weight.name}.scale", dtype, (parts, weight.outputs), lambda: scales().T)
        return g.op("DequantizeLinear", packed, steps, axis=0, block_size=weight.inputs // parts)

    def _float8(self, x: str, weight: Matrix) -> str:
        """Both sides in E4M3: the weight with one scale, the rows as they are, saturating at 448.

        One scale for all: only where both sides have a single one does TensorRT multiply E4M3; else it unpacks to
        float16 (seen by NVIDIA with 11.x, pull request 1386 of NVIDIA/TensorRT-Model-Connect). A float's precision does
        not depend on its scale, so nothing is lost by that, and the rows need no calibration while they stay below the
        limit; where they may not (`swiglu` feeds the down projection), the description leaves the matrix wide.
        """
        g, dtype, shape = self._g, self.dtype, (weight.inputs, weight.outputs)

        def scale(values: Array) -> npt.NDArray[np.floating]:
            return _above_zero(np.asarray(np.abs(values).max() / np.float32(FP8_LIMIT), dtype))

        def floats() -> npt.NDArray[np.uint8]:
            values = weight.read()
            scaled = (values / scale(values).astype(np.float32)).clip(-FP8_LIMIT, FP8_LIMIT)
            return np.ascontiguousarray(scaled.T.astype(ml_dtypes.float8_e4m3fn)).view(np.uint8)

        view = View(TensorProto.FLOAT8E4M3FN, shape)
        packed = g.weight(f"{weight.name}.f8", np.uint8, shape, floats, view)
        step = g.weight(f"{weight.name}.scale", dtype, (), lambda: scale(weight.read()))
        one = g.const(1.0, dtype)
        rows = g.op("QuantizeLinear", self.narrow(x), one, output_dtype=TensorProto.FLOAT8E4M3FN)
        rows = g.op("DequantizeLinear", rows, one)
        return self.widen(g.op("MatMul", rows, g.op("DequantizeLinear", packed, step)))

    def attention(self, q: str, k: str, v: str, heads: Heads, cache: Cache) -> tuple[str, str, str]:
        """See `export.attention_tensorrt`."""
        return self._attention.run(q, k, v, heads, cache)

    # -- between products -----------------------------------------------------------------------------------------

    def rms_norm(self, x: str, gamma: str, epsilon: float) -> str:
        """RMSNormalization, or its arithmetic where TensorRT does not know the operator."""
        g = self._g
        if self._form is AttentionForm.IN_PLACE:
            return g.op("RMSNormalization", x, gamma, axis=-1, epsilon=epsilon)
        mean = g.op("ReduceMean", g.op("Mul", x, x), g.ints(-1), keepdims=1)
        root = g.op("Sqrt", g.op("Add", mean, g.const(epsilon, np.float32)))
        return g.op("Mul", g.op("Div", x, root), gamma)

    def add_rms_norm(self, x: str, residual: str, gamma: str, epsilon: float) -> tuple[str, str]:
        """Add, then the norm."""
        total = self._g.op("Add", x, residual)
        return self.rms_norm(total, gamma, epsilon), total

    def swiglu(self, gate: str, up: str) -> str:
        """gate * sigmoid(gate) * up (the operator Swish is unknown before TensorRT 11)."""
        g = self._g
        gated = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
        self._peaked.add(gated)
        return gated

    def gelu(self, x: str) -> str:
        """x / 2 * (1 + erf(x / sqrt 2))."""
        g = self._g
        error = g.op("Erf", g.op("Mul", x, g.const(0.5**0.5, np.float32)))
        half = g.op("Mul", x, g.const(0.5, np.float32))
        return g.op("Mul", half, g.op("Add", error, g.const(1.0, np.float32)))

    def sums_before(self, x: str, count: int) -> str:
        """Sums under a triangle: TensorRT 10.3 has no layer for CumSum and makes a loop of it, one trip for each value.

        No matrix product, whose factors TensorRT may shorten (TF32).
        """
        g = self._g
        before = g.const(np.tril(np.ones((count, count)), -1), np.float32)
        return g.op("ReduceSum", g.op("Mul", g.op("Unsqueeze", x, g.ints(-2)), before), g.ints(-1), keepdims=0)


def _above_zero(scale: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Scales that a narrow type rounded to zero become its smallest step."""
    return np.asarray(np.maximum(scale, np.finfo(scale.dtype).tiny))
