"""What TensorRT's ONNX parser accepts, as a table that graphs are held to where TensorRT is not.

Purpose: name every node of a graph that a given TensorRT would refuse or, worse, take and compute something else.
Knows: operators, the version that brought them, their types and the forms that work. Sources: the operator tables and
the changelog of onnx-tensorrt (8.5 for most operators; LayerNormalization 8.6; int64 and FP8 9.0; int4 10.0), the
release notes of 10.14 and 10.15 (attention), what NVIDIA's own projects met on devices (NVIDIA/TensorRT-Model-Connect:
see `export.attention_tensorrt`; TensorRT-Edge-LLM), and real parser runs of 10.15.1 and 11.2.1 on our graphs (`scripts/
trt_parse`). Does not know: what TensorRT will fuse, build or run; a graph without faults here may still be slow.

Some rules are ours: what the model needs in float32 must be float32, although the parser would take it narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, shape_inference

Version = tuple[int, int]

FLOAT, HALF, INT32, INT64, BOOL = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
)  # fmt: skip
INT4, INT8, FP8 = TensorProto.INT4, TensorProto.INT8, TensorProto.FLOAT8E4M3FN
WIDE: Final = frozenset({FLOAT})
FLOATS: Final = frozenset({FLOAT, HALF})
NUMBERS: Final = frozenset({FLOAT, HALF, INT32, INT64})
ANY: Final = NUMBERS | {BOOL}

LARGEST_OPSETS: Final[dict[Version, int]] = {(10, 3): 21, (10, 15): 24}
"""Largest opset our graphs may declare, from that version on: what brought int4, and what brought TensorScatter."""

INT4_BLOCKS: Final = (64, 128)
"""Sizes by the documentation of TensorRT 11 (quantization schemes); the parser takes others too."""
INT8_BLOCKS_SINCE: Final = (10, 15)
"""The oldest version whose parser was seen to take them. The documentation of Dequantize knew blocks of int4 alone at
first, and knows those of int8 in 11."""


class Facts:
    """Types, shapes and origins of a model's values, and the TensorRT that is to take it."""

    def __init__(self, model: ModelProto, version: Version) -> None:
        self.version = version
        graph = shape_inference.infer_shapes(model, strict_mode=True).graph
        self.kinds: dict[str, int] = {value.name: value.data_type for value in graph.initializer}
        self.shapes: dict[str, list[int | str]] = {value.name: list(value.dims) for value in graph.initializer}
        for value in (*graph.value_info, *graph.input, *graph.output):
            self.kinds[value.name] = value.type.tensor_type.elem_type
            dims = value.type.tensor_type.shape.dim
            self.shapes[value.name] = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims]
        self.initializers = {value.name: value for value in graph.initializer}
        self.inputs = {value.name for value in graph.input}
        self.outputs = {value.name for value in graph.output}
        self.readers: dict[str, list[str]] = {}
        self.products: Counter[str] = Counter()
        """How many products with weights each value is the left factor of."""
        weights = set(self.initializers)
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node.op_type)
            if node.op_type == "DequantizeLinear" and node.input[0] in weights:
                weights.add(node.output[0])
            if node.op_type == "MatMul" and node.input[1] in weights:
                self.products[node.input[0]] += 1


Fault = Callable[[NodeProto, Facts], Iterator[str]]


def attributes(node: NodeProto) -> dict[str, object]:
    """A node's attributes as values."""
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def constant(*places: int) -> Fault:
    """The inputs at these places, where given, must be initializers."""

    def faults(node: NodeProto, facts: Facts) -> Iterator[str]:
        for place in places:
            if place < len(node.input) and node.input[place] not in facts.initializers:
                yield f"input {place} must be a constant"

    return faults


def _attention(node: NodeProto, facts: Facts) -> Iterator[str]:
    yield "its fused kernels do not build, or are wrong, over a long cache: give the products one by one"


def _scatter(node: NodeProto, facts: Facts) -> Iterator[str]:
    said = attributes(node)
    past, shape = node.input[0], facts.shapes[node.input[0]]
    if said.get("mode", b"linear") != b"linear":
        yield "circular mode is not supported"
    if len(shape) != 4 or said.get("axis", -2) != -2:
        yield "the cache must be 4-D and written along its rows"
    elif not isinstance(shape[2], int):
        yield "the cache's number of rows must be fixed"
    if len(node.input) < 3:
        yield "give the write indices"
    if past not in facts.inputs or node.output[0] not in facts.outputs:
        yield "the cache must come in as an input and go out as an output, to be updated in place"


def _rotary(node: NodeProto, facts: Facts) -> Iterator[str]:
    if len(node.input) != 4 or len(facts.shapes[node.input[0]]) != 4:
        yield "our graphs give 4-D inputs with position ids"


def _dequantize(node: NodeProto, facts: Facts) -> Iterator[str]:
    said, kind = attributes(node), facts.kinds[node.input[0]]
    if len(node.input) > 2:
        yield "no zero point: only symmetric signed types are supported"
    if node.input[0] in facts.initializers:
        if node.input[1] not in facts.initializers:
            yield "the scale of a weight must be a constant"
        if set(facts.readers[node.output[0]]) != {"MatMul"}:
            yield "only matrix products may read a quantised weight, or it is unpacked into memory"
    if kind == INT4 and (said.get("axis") not in (0, 1) or said.get("block_size") not in INT4_BLOCKS):
        yield "int4 comes in blocks of 64 or 128 along axis 0 or 1"
    if kind == FP8 and facts.shapes[node.input[1]]:
        yield "a weight in E4M3 with more than one scale is unpacked to float16"
    if kind == INT8 and said.get("block_size") and facts.version < INT8_BLOCKS_SINCE:
        yield "int8 does not come in blocks yet, but with a scale per output"


def _quantize(node: NodeProto, facts: Facts) -> Iterator[str]:
    if attributes(node).get("output_dtype") != FP8:
        yield "only E4M3 activations are quantised in the graph"
    if facts.shapes[node.input[1]]:
        yield "only one scale for all activations multiplies E4M3"


def _top_k(node: NodeProto, facts: Facts) -> Iterator[str]:
    yield from constant(1)(node, facts)
    said = attributes(node)
    if said.get("sorted", 1) != 1 or said.get("largest", 1) != 1:
        yield "the values must come largest first"


def _cast(node: NodeProto, facts: Facts) -> Iterator[str]:
    if attributes(node)["to"] not in ANY:
        yield "casts to this type are not supported"


@dataclass(frozen=True, slots=True)
class Rule:
    """One operator."""

    since: Version
    kinds: frozenset[int] = FLOATS
    """Types its inputs may have, apart from constants that only say a shape, an axis or a count."""
    faults: tuple[Fault, ...] = field(default_factory=tuple)
    extra: frozenset[int] = frozenset()
    """Further types of inputs after the first (indices, conditions, quantised weights)."""


INDEX: Final = frozenset({INT32, INT64})
RULES: Final[dict[str, Rule]] = {
    "Add": Rule((8, 5), NUMBERS),
    "And": Rule((8, 5), frozenset({BOOL})),
    "ArgMax": Rule((8, 5), WIDE),
    "Attention": Rule((10, 14), FLOATS, (_attention,)),
    "Cast": Rule((8, 5), ANY, (_cast,)),
    "Clip": Rule((8, 5), WIDE),
    "Concat": Rule((8, 5), NUMBERS),
    "Conv": Rule((8, 5), FLOATS, (constant(1, 2),)),
    "Cos": Rule((8, 5), WIDE),
    "DequantizeLinear": Rule((10, 0), frozenset({INT4, INT8, FP8}), (_dequantize,), FLOATS),
    "Div": Rule((8, 5), WIDE),
    "Equal": Rule((8, 5), NUMBERS),
    "Erf": Rule((8, 5), WIDE),
    "Gather": Rule((8, 5), NUMBERS, (), INDEX),
    "GatherElements": Rule((8, 5), NUMBERS, (), INDEX),
    "Greater": Rule((8, 5), NUMBERS),
    "GreaterOrEqual": Rule((8, 5), NUMBERS),
    "LayerNormalization": Rule((8, 6), WIDE, (constant(1, 2),)),
    "Less": Rule((8, 5), NUMBERS),
    "LessOrEqual": Rule((8, 5), NUMBERS),
    "MatMul": Rule((8, 5), FLOATS),
    "Mul": Rule((8, 5), frozenset({FLOAT, INT32, INT64})),
    "QuantizeLinear": Rule((9, 0), FLOATS, (_quantize, constant(1))),
    "RMSNormalization": Rule((10, 15), WIDE, (constant(1),)),
    "Range": Rule((8, 5), INDEX),
    "ReduceMean": Rule((8, 5), WIDE, (constant(1),), INDEX),
    "ReduceSum": Rule((8, 5), WIDE, (constant(1),), INDEX),
    "Reshape": Rule((8, 5), ANY, (constant(1),), INDEX),
    "RotaryEmbedding": Rule((10, 15), WIDE, (_rotary, constant(1, 2)), INDEX),
    "ScatterElements": Rule((8, 5), NUMBERS, (), INDEX),
    "Shape": Rule((8, 5), ANY),
    "Sigmoid": Rule((8, 5), WIDE),
    "Sin": Rule((8, 5), WIDE),
    "Slice": Rule((8, 5), ANY, (constant(1, 2, 3),), INDEX),
    "Softmax": Rule((8, 5), WIDE),
    "Split": Rule((8, 5), ANY, (constant(1),), INDEX),
    "Sqrt": Rule((8, 5), WIDE),
    "Squeeze": Rule((8, 5), ANY, (constant(1),), INDEX),
    "Sub": Rule((8, 5), NUMBERS),
    "Sum": Rule((8, 5), WIDE),
    "TensorScatter": Rule((10, 15), FLOATS, (_scatter,), INDEX),
    "TopK": Rule((8, 5), WIDE, (_top_k,), INDEX),
    "Transpose": Rule((8, 5), ANY),
    "Unsqueeze": Rule((8, 5), ANY, (constant(1),), INDEX),
    "Where": Rule((8, 5), frozenset({BOOL}), (), NUMBERS),
}


def faults_of(model: ModelProto, version: Version) -> list[str]:
    """What TensorRT `version` would make trouble about, by node; empty when nothing is known against the graph."""
    found = []
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    largest = max(opset for since, opset in LARGEST_OPSETS.items() if since <= version)
    if set(opsets) != {""} or opsets[""] > largest:
        found.append(f"opsets {opsets}: only the standard ones up to {largest} are known")
    unknown = [node for node in model.graph.node if node.domain or node.op_type not in RULES]
    if unknown:
        return [*found, *(f"{node.name} ({node.op_type}): the operator is not known" for node in unknown)]
    facts = Facts(model, version)
    for tensor in facts.initializers.values():
        if tensor.data_type in FLOATS and tensor.data_location != TensorProto.EXTERNAL:
            values = numpy_helper.to_array(tensor).astype(np.float64)
            if not np.isfinite(values).all():
                found.append(f"constant {tensor.name} is not finite in its type")
    for node in model.graph.node:
        found += [f"{node.name} ({node.op_type}): {fault}" for fault in _node_faults(node, facts, version)]
    return found + [f"{rows}: {count} products read it; join their weights" for rows, count in _shared_rows(facts)]


def _shared_rows(facts: Facts) -> Iterator[tuple[str, int]]:
    """Values that several products with weights read.

    TensorRT may fuse such products side by side, and then computes something else where one slot speaks (10.13.3 on
    Thor, TensorRT-Edge-LLM issues 105 and 151; that project turns the fusion off from 10.15 on).
    """
    for rows, count in facts.products.items():
        if count > 1:
            yield rows, count


def _node_faults(node: NodeProto, facts: Facts, version: Version) -> Iterator[str]:
    rule = RULES[node.op_type]
    if version < rule.since:
        yield f"the operator came with TensorRT {rule.since[0]}.{rule.since[1]}"
    if "" in (*node.input, *node.output):
        yield "an optional input or output in the middle is left out"
        return
    for place, name in enumerate(node.input):
        kind = facts.kinds.get(name)
        if kind is None or kind not in (rule.kinds | rule.extra if place else rule.kinds):
            said = TensorProto.DataType.Name(kind) if kind is not None else "unknown"
            yield f"input {place} has type {said}"
    for fault in rule.faults:
        yield from fault(node, facts)
