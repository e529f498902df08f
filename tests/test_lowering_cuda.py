"""The frame graph for ONNX Runtime's CUDA provider: the same network, with keys and values in float16. It runs here on
the processor's provider, which has the same operators in both widths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from engines.bundle import open_bundle
from engines.contract import Sampling
from engines.manifest import Manifest
from engines.runner import Runner
from engines.runner_ort import OrtRunner
from engines.runner_ort_cuda import OrtDevice, OrtDeviceRunner
from engines.sampling import resolve_sampling
from engines.talker import Talker
from export.exporter import export_checkpoint

STAND_IN = OrtDevice("CPUExecutionProvider", "cpu")
ROWS, STEPS = 9, 12
MOST_APART = 0.05
"""Of the logits' spread."""

KERNELS = {
    "": {
        "Add", "And", "ArgMax", "Cast", "Clip", "Concat", "ConstantOfShape", "Conv", "ConvTranspose", "Cos", "CumSum",
        "Div", "Equal", "Gather", "GatherElements", "Greater", "GreaterOrEqual", "LayerNormalization", "Less",
        "LessOrEqual", "MatMul", "Mul", "Range", "ReduceSum", "Reshape", "ScatterElements", "Shape",
        "SimplifiedLayerNormalization", "Sin", "Slice", "Softmax", "Split", "Squeeze", "Sub", "Sum", "TopK",
        "Transpose", "Unsqueeze", "Where",
    },
    "com.microsoft": {
        "Gelu", "GroupQueryAttention", "MatMulNBits", "QuickGelu", "SkipSimplifiedLayerNormalization",
    },
}  # fmt: skip
"""Operators with a CUDA kernel for the types they have in these graphs, by ONNX Runtime's docs/OperatorKernels.md
(commit 001d12d2): Less and Equal for int64, ArgMax for float32, GroupQueryAttention for float16 and bfloat16 alone.
What is not among them would run on the processor, with copies to and fro, and nobody would be told."""


def frames(runner: Runner, manifest: Manifest, cache_dtype: type[np.floating]) -> tuple[np.ndarray, np.ndarray]:
    """Codes [STEPS, 2, codebooks] and logits [2, vocabulary] of the first frame of two slots, from fixed rows."""
    talker = Talker(runner, manifest, 2, 64, 16, with_logits=True, cache_dtype=cache_dtype)
    rng = np.random.default_rng(5)
    for slot in range(2):
        rows = rng.standard_normal((ROWS, manifest.talker.hidden)).astype(np.float32)
        talker.begin(slot, resolve_sampling(Sampling(greedy=True), 0, manifest.sampling))
        talker.forbid_end(slot, forbidden=True)
        talker.prefill(slot, rows[:4], rows[:4], last=False)
        talker.prefill(slot, rows[4:], rows[4:], last=True)
    first = np.stack([talker.logits(slot).copy() for slot in range(2)])
    codes = []
    for _ in range(STEPS):
        talker.step([0, 1])
        codes.append(np.concatenate([talker.codes(slot) for slot in range(2)]))
    return np.stack(codes), first


def test_half_wide_caches_change_little(tiny_bundle: Path) -> None:
    manifest = open_bundle(tiny_bundle).manifest
    assert manifest.graphs.frame_cuda is not None
    codes, logits = frames(OrtRunner(tiny_bundle / manifest.graphs.frame), manifest, np.float32)
    runner = OrtDeviceRunner(tiny_bundle / manifest.graphs.frame_cuda, STAND_IN)
    near, near_logits = frames(runner, manifest, np.float16)
    assert np.abs(near_logits - logits).max() < MOST_APART * logits.std()
    assert not np.array_equal(near_logits, logits)  # it is another graph
    assert (near[0] == codes[0]).mean() > 0.9


@pytest.fixture(scope="module")
def graph(tiny_bundle: Path) -> onnx.GraphProto:
    return onnx.load(tiny_bundle / "frame.cuda.onnx", load_external_data=False).graph


def test_attention_is_half_wide_and_nothing_else(graph: onnx.GraphProto) -> None:
    caches = [
        value for value in (*graph.input, *graph.output) if value.name.startswith(("past_k", "past_v", "present"))
    ]
    assert {value.type.tensor_type.elem_type for value in caches} == {TensorProto.FLOAT16}
    made = {value: node for node in graph.node for value in node.output}
    for node in graph.node:
        if node.op_type == "GroupQueryAttention":
            rows_and_tables = (*node.input[:3], *node.input[7:9])
            assert {made[name].op_type for name in rows_and_tables} == {"Cast"}
    casts = [node for node in graph.node if node.op_type == "Cast"]
    tables = [node for node in casts if node.input[0].endswith(("cosine", "sine"))]
    assert len(tables) == 4  # of talker and predictor, cast once each


@pytest.mark.parametrize("precision", ["fp32", "int8", "int4"])
def test_every_operator_has_a_kernel_on_cuda(tiny_checkpoint: Path, tmp_path: Path, precision: str) -> None:
    bundle = tmp_path / precision
    export_checkpoint(tiny_checkpoint, bundle, precision, measured=False)
    for name in ("frame.cuda.onnx", "codec.onnx"):
        nodes = onnx.load(bundle / name, load_external_data=False).graph.node
        assert [node.op_type for node in nodes if node.op_type not in KERNELS[node.domain]] == []


def test_both_graphs_share_the_payload(tiny_bundle: Path, graph: onnx.GraphProto) -> None:
    plain = onnx.load(tiny_bundle / "frame.onnx", load_external_data=False).graph

    def weights(of: onnx.GraphProto) -> dict[str, list[str]]:
        return {one.name: [entry.value for entry in one.external_data] for one in of.initializer if one.external_data}

    assert weights(graph) == weights(plain)
