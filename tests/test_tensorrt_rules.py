"""Every graph for TensorRT, tiny and at its true size, obeys the table of what TensorRT takes; and the table bites."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from engines.plan_set import SLOTS
from export.attention_tensorrt import AttentionForm
from export.errors import ExportError
from export.graph import GraphBuilder
from export.lowering import Precision
from export.payload import Payload
from export.tensorrt import FrameShape, Role, TensorRtChoice, TensorRtSource, build_tensorrt, read_source
from export.tensorrt_rules import Version, faults_of
from tests.true_shapes import HIDDEN, true_source

OLDEST: dict[AttentionForm, Version] = {AttentionForm.IN_PLACE: (10, 15), AttentionForm.ROWS: (10, 3)}


def check(source: TensorRtSource, choice: TensorRtChoice) -> None:
    graphs = build_tensorrt(source, choice)
    for role in graphs.graphs:
        assert faults_of(graphs.model(role), OLDEST[choice.form]) == []


@pytest.fixture(scope="module")
def tiny_source(tiny_checkpoint: Path) -> TensorRtSource:
    return read_source(tiny_checkpoint, 64, 1024)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", AttentionForm)
def test_tiny_graphs(
    tiny_source: TensorRtSource,
    form: AttentionForm,
    shape: FrameShape,
    precision: Precision,
    dtype: type[np.floating],
) -> None:
    check(tiny_source, TensorRtChoice(form, shape, dtype, precision, 2, 64))


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", AttentionForm)
def test_tiny_graphs_of_any_slots(
    tiny_source: TensorRtSource, form: AttentionForm, shape: FrameShape, slots: int
) -> None:
    check(tiny_source, TensorRtChoice(form, shape, slots=slots, positions=64))


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("form", AttentionForm)
@pytest.mark.parametrize("size", HIDDEN)
def test_stepped_graphs_at_their_true_size(size: str, form: AttentionForm, precision: Precision) -> None:
    check(true_source(size), TensorRtChoice(form, FrameShape.STEPPED, precision=precision))


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("form", AttentionForm)
@pytest.mark.parametrize("size", HIDDEN)
def test_unrolled_graphs_at_their_true_size(size: str, form: AttentionForm, precision: Precision) -> None:
    check(true_source(size), TensorRtChoice(form, FrameShape.UNROLLED, precision=precision))


def test_the_payload_at_true_size_is_what_the_types_say() -> None:
    """Bytes of the 0.6B voice without its codec: int4 in blocks of 128, all that is not quantised in float16."""
    graphs = build_tensorrt(true_source("0.6B"), TensorRtChoice(precision=Precision.INT4))
    codec = 105_639_617 + 16 * 2048 * 512
    quantised = 440_467_456 - 28 * 2 * 1024 + 5 * 15_728_640  # talker layers and predictor layers, norms apart
    wide = 3072 * 1024 * 2 + 15 * 2 * 2048 * 1024
    expected = quantised * (0.5 + 2 / 128) + 2 * (wide + codec)
    assert graphs.payload.nbytes == pytest.approx(expected, rel=0.02)


def test_other_numbers_of_slots_are_refused() -> None:
    with pytest.raises(ExportError, match="3 slots"):
        TensorRtChoice(slots=3)


@pytest.mark.parametrize("positions", [0, 4097])
def test_caches_beyond_the_rotary_tables_are_refused(positions: int) -> None:
    with pytest.raises(ExportError, match=f"{positions} rows of cache"):
        build_tensorrt(true_source("0.6B"), TensorRtChoice(positions=positions))


def in_blocks(kind: int, block: int) -> ModelProto:
    """One product with a weight of so many inputs a scale."""
    weight = helper.make_tensor("w", kind, (128, 2), [1] * 256)
    scale = numpy_helper.from_array(np.ones((128 // block, 2), np.float32), "s")
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], "dequantize", axis=0, block_size=block),
        helper.make_node("MatMul", ["x", "d"], ["y"], "product"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, size)) for n, size in (("x", 128), ("y", 2)))
    graph = helper.make_graph(nodes, "one", [x], [y], [weight, scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    ("kind", "block", "version", "taken"),
    [
        (TensorProto.INT4, 128, (10, 3), True),
        (TensorProto.INT4, 64, (10, 3), True),
        (TensorProto.INT4, 32, (10, 15), False),
        (TensorProto.INT8, 32, (10, 15), True),
        (TensorProto.INT8, 128, (10, 3), False),
    ],
)
def test_blocks_that_a_version_takes(kind: int, block: int, version: tuple[int, int], taken: bool) -> None:
    assert (not faults_of(in_blocks(kind, block), version)) is taken


Fill = Callable[[GraphBuilder], str]


def one_node(fill: Fill, opset: int = 24) -> ModelProto:
    g = GraphBuilder("one", Payload(), opset)
    g.input("x", np.float32, (1, 2, 3, 16))
    g.input("h", np.float16, (1, 2, 3, 16))
    g.input("cache", np.float32, (1, 2, "P", 16))
    g.input("at", np.int64, (1,))
    value = fill(g)
    made = g.model("none")
    made.graph.output.append(helper.make_empty_tensor_value_info(value))
    made.graph.node.extend(g._nodes)
    made.graph.input.extend(g._inputs)
    made.graph.initializer.extend(g._inline.values())
    return made


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (lambda g: g.op("Swish", "x"), "not known"),
        (lambda g: g.op("CumSum", "x", g.const(3, np.int64)), "not known"),
        (lambda g: g.op("Gelu", "x", domain="com.microsoft"), "not known"),
        (lambda g: g.op("Softmax", "h", axis=-1), "type FLOAT16"),
        (lambda g: g.op("Attention", "x", "x", "x", scale=1.0), "one by one"),
        (lambda g: g.op("Clip", "x", "", g.const(1.0, np.float32)), "left out"),
        (lambda g: g.op("TensorScatter", "cache", "x", "at", axis=-2, mode="circular"), "circular"),
        (lambda g: g.op("TensorScatter", "cache", "x", "at", axis=-2), "must be fixed"),
        (lambda g: g.op("TensorScatter", g.op("Mul", "x", "x"), "x", "at", axis=-2), "in place"),
        (lambda g: g.op("Reshape", "x", g.op("Shape", "x")), "must be a constant"),
        (lambda g: g.op("Mul", "x", g.const(np.inf, np.float32)), "not finite"),
        (lambda g: g.op("Cast", "x", to=TensorProto.DOUBLE), "casts to this type"),
    ],
)
def test_faults_are_found(fill: Fill, said: str) -> None:
    assert any(said in fault for fault in faults_of(one_node(fill), (10, 15)))


def test_eight_bit_floats_have_one_scale() -> None:
    def fill(g: GraphBuilder, *scales: float) -> str:
        scale = g.const(scales if len(scales) > 1 else scales[0], np.float32)
        narrow = g.op("QuantizeLinear", "x", scale, output_dtype=TensorProto.FLOAT8E4M3FN, axis=3)
        return g.op("DequantizeLinear", narrow, scale, axis=3)

    assert faults_of(one_node(lambda g: fill(g, 1.0)), (10, 15)) == []
    faults = faults_of(one_node(lambda g: fill(g, *[1.0] * 16)), (10, 15))
    assert [fault.split(": ")[1] for fault in faults] == [
        "only one scale for all activations multiplies E4M3",
        "a weight in E4M3 with more than one scale is unpacked to float16",
    ]


def test_products_side_by_side_are_to_be_joined() -> None:
    def fill(g: GraphBuilder) -> str:
        left, right = (g.op("MatMul", "x", g.const(np.full((16, 2), value), np.float32)) for value in (1, 2))
        return g.op("Add", left, right)

    assert faults_of(one_node(fill), (10, 15)) == ["x: 2 products read it; join their weights"]


def test_older_versions_know_less() -> None:
    def fill(g: GraphBuilder) -> str:
        return g.op("RMSNormalization", "x", g.const(np.ones(16), np.float32), axis=-1)

    assert faults_of(one_node(fill), (10, 15)) == []
    older = faults_of(one_node(fill), (10, 13))
    assert any("came with TensorRT 10.15" in fault for fault in older)
    assert any("opsets" in fault for fault in older)


def test_the_step_graph_is_the_same_whatever_the_slots(tiny_source: TensorRtSource) -> None:
    nodes = [
        build_tensorrt(tiny_source, TensorRtChoice(shape=FrameShape.STEPPED, slots=slots)).model(Role.STEP).graph.node
        for slots in (1, 8)
    ]
    assert nodes[0] == nodes[1]


@pytest.mark.parametrize("form", AttentionForm)
def test_for_one_slot_nothing_but_rows_and_frames_is_left_open(
    tiny_source: TensorRtSource, form: AttentionForm
) -> None:
    graphs = build_tensorrt(tiny_source, TensorRtChoice(form, FrameShape.STEPPED, slots=1, positions=64))
    left = {}
    for role in graphs.graphs:
        shapes = [value.type.tensor_type.shape.dim for value in graphs.model(role).graph.input]
        left[role] = {dimension.dim_param for shape in shapes for dimension in shape} - {""}
    assert left == {Role.PREFILL: {"S"}, Role.TALKER: set(), Role.STEP: {"S"}, Role.CODEC: {"T"}}
