"""Plans are of the format that their graphs have now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, numpy_helper

from engines.plan_set import PLAN_FORMAT
from export.attention_tensorrt import AttentionForm
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, build_tensorrt, read_source
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

GRAPHS_OF_FORMAT = {3: "67bbd10844bd5629"}
_SHORT = 16


def meaning(model: ModelProto) -> Iterator[bytes]:
    """What a graph computes, whatever its tensors between inputs and outputs are called: not the weights."""
    known: dict[str, str] = {}
    for tensor in model.graph.initializer:
        known[tensor.name] = f"{tensor.data_type} {list(tensor.dims)}"
        if not tensor.external_data and np.prod(tensor.dims) <= _SHORT:
            known[tensor.name] += f" {numpy_helper.to_array(tensor).tolist()}"
    for value in (*model.graph.input, *model.graph.output):
        yield value.SerializeToString(deterministic=True)
    for place, node in enumerate(model.graph.node):
        yield f"{node.op_type} {[known.get(name, name) for name in node.input]}".encode()
        yield from attributes(node)
        known.update({name: f"{place}.{number}" for number, name in enumerate(node.output) if name})
    yield str([known[value.name] for value in model.graph.output]).encode()


def attributes(node: NodeProto) -> Iterator[bytes]:
    for attribute in sorted(node.attribute, key=lambda one: one.name):
        yield attribute.SerializeToString(deterministic=True)


def test_plans_of_other_graphs_have_another_format(tmp_path: Path) -> None:
    """A plan of graphs that were mended since must not be loaded: where this fails, raise PLAN_FORMAT and write the
    new digest down. A change that leaves every plan as good as it was may keep the format.
    """
    digest, source = hashlib.sha256(), read_source(write_checkpoint(TinySpec(), tmp_path), 64, 1024)
    for form in AttentionForm:
        kinds = [(FrameShape.STEPPED, precision) for precision in Precision]
        for shape, precision in (*kinds, (FrameShape.UNROLLED, Precision.INT4)):
            graphs = build_tensorrt(source, TensorRtChoice(form, shape, precision=precision, slots=2, positions=64))
            for role in graphs.graphs:
                for part in meaning(graphs.model(role)):
                    digest.update(part)
    assert {PLAN_FORMAT: digest.hexdigest()[:16]} == GRAPHS_OF_FORMAT
