"""Single words of the lowering for TensorRT, run by ONNX Runtime against plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from export.attention_tensorrt import AttentionForm
from export.graph import GraphBuilder
from export.lowering import Matrix, Precision
from export.lowering_tensorrt import OPSETS, TensorRtLowering
from export.payload import Payload
from export.quantise import block_size, pack_signed, positive_scales
from export.rounding import Rounder
from tests.tensorrt_machine import FORMS
from tests.unpacking import unpack_signed

ROWS, INPUTS, OUTPUTS = 3, 128, 10
Floats = npt.NDArray[np.float32]
Word = Callable[[GraphBuilder, TensorRtLowering, str], str]


def some(*shape: int) -> Floats:
    return np.random.default_rng(len(shape)).normal(0, 1, shape).astype(np.float32)


def run(
    folder: Path, word: Word, x: Floats, form: AttentionForm, dtype: npt.DTypeLike, rounder: Rounder | None = None
) -> Floats:
    g = GraphBuilder("word", Payload(), OPSETS[form])
    value = word(g, TensorRtLowering(g, form, dtype, rounder), g.input("x", np.float32, x.shape))
    g.output(value, "y", np.float32, ("a", "b", "c"))
    g.payload.write(folder / "weights", lambda _: None)
    (folder / "word.onnx").write_bytes(g.model("weights").SerializeToString())
    options = ort.SessionOptions()
    # Its optimiser would turn quantised products into ones of its own, with 8-bit activations.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(folder / "word.onnx", options, providers=["CPUExecutionProvider"])
    found: Any = session.run(["y"], {"x": x})[0]
    return np.asarray(found, np.float32)


def linear(values: Floats, precision: Precision) -> Word:
    weight = Matrix("w", values.shape[0], values.shape[1], lambda: values, precision)
    return lambda _, low, x: low.linear(x, weight)


@pytest.mark.parametrize("precision", [Precision.INT4, Precision.INT8])
@pytest.mark.parametrize("form", FORMS)
def test_blocks_of_integers_mean_what_was_packed(tmp_path: Path, form: AttentionForm, precision: Precision) -> None:
    x, values = some(1, ROWS, INPUTS), some(OUTPUTS, INPUTS)
    parts = 1 if precision is Precision.INT8 else INPUTS // block_size(INPUTS, 4)
    scale = positive_scales(values, precision.bits, parts)
    expected = x @ unpack_signed(pack_signed(values, scale, precision.bits), scale, precision.bits).T
    found = run(tmp_path, linear(values, precision), x, form, np.float32)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert np.abs(found - x @ values.T).max() > 1e-3


def test_a_rounder_decides_where_it_knows_something(tmp_path: Path) -> None:
    x, values = some(1, ROWS, INPUTS), some(OUTPUTS, INPUTS)
    given, rounder = some(200, INPUTS).astype(np.float64), Rounder()
    rounder.learn({"w": given.T @ given})
    rounded = rounder.round("w", lambda: values, 4)
    assert rounded is not None
    expected = x @ (rounded.integers * np.repeat(rounded.scales, block_size(INPUTS, 4), axis=1)).T
    found = run(tmp_path, linear(values, Precision.INT4), x, AttentionForm.ROWS, np.float32, rounder)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_floats_of_eight_bits_on_both_sides(tmp_path: Path, form: AttentionForm) -> None:
    x, values = some(1, ROWS, INPUTS), some(OUTPUTS, INPUTS)
    x[0, 0, 0] = 1000.0  # beyond E4M3: saturates
    scale = np.abs(values).max() / 448
    narrow = (values / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale
    seen = x.clip(-448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    found = run(tmp_path, linear(values, Precision.FP8), x, form, np.float32)
    np.testing.assert_allclose(found, seen @ narrow.T, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("precision", "apart"), [
    (Precision.FP32, 0.001), (Precision.INT8, 0.01), (Precision.INT4, 0.15),
])  # fmt: skip
def test_gated_values_beyond_float16_stay_numbers(tmp_path: Path, precision: Precision, apart: float) -> None:
    """As the code predictor of the released 0.6B has them, and what comes of them.

    By ONNX's own evaluator: on x86 ONNX Runtime drops the casts around a float16 product and never narrows anything.
    """
    x, values = some(1, ROWS, INPUTS), some(OUTPUTS, INPUTS)
    x[0, 0, 0] = 400.0
    g = GraphBuilder("gated", Payload())
    low = TensorRtLowering(g, AttentionForm.ROWS, np.float16)
    gated = low.swiglu(g.input("x", np.float32, x.shape), "x")
    g.output(linear(values, precision)(g, low, gated), "y", np.float32, ("a", "b", "c"))
    g.payload.write(tmp_path / "weights", lambda _: None)
    (tmp_path / "gated.onnx").write_bytes(g.model("weights").SerializeToString())
    with np.errstate(over="ignore", invalid="ignore"):  # the evaluator computes both sides of its sigmoid
        expected = (x * x / (1 + np.exp(-x))) @ values.T
        found: Any = ReferenceEvaluator(onnx.load(tmp_path / "gated.onnx")).run(None, {"x": x})
    assert np.abs(expected).max() > 65504
    assert np.linalg.norm(found[0] - expected) < apart * np.linalg.norm(expected)


@pytest.mark.parametrize("shape", [(OUTPUTS, 24), (OUTPUTS, 96), (7, INPUTS)])
def test_matrices_that_do_not_fill_blocks_stay_wide(tmp_path: Path, shape: tuple[int, int]) -> None:
    x, values = some(1, ROWS, shape[1]), some(*shape)
    found = run(tmp_path, linear(values, Precision.INT4), x, AttentionForm.ROWS, np.float32)
    np.testing.assert_allclose(found, x @ values.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_norms_and_activations_are_wide_whatever_the_products(
    tmp_path: Path, form: AttentionForm, dtype: npt.DTypeLike
) -> None:
    x, gamma = some(1, ROWS, INPUTS) * 1e4, some(INPUTS)  # squares of these overflow float16

    def word(g: GraphBuilder, low: TensorRtLowering, value: str) -> str:
        normed, total = low.add_rms_norm(value, value, g.const(gamma, np.float32), 1e-6)
        return low.gelu(low.swiglu(normed, g.op("Mul", total, g.const(1e-4, np.float32))))

    total = (2 * x).astype(np.float64)
    normed = total / np.sqrt((total**2).mean(axis=-1, keepdims=True) + 1e-6) * gamma
    gated = normed / (1 + np.exp(-normed)) * total * 1e-4
    expected = gated / 2 * (1 + np.vectorize(erf)(gated / 2**0.5))
    np.testing.assert_allclose(run(tmp_path, word, x, form, dtype), expected, rtol=1e-3, atol=1e-4)
