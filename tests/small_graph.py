"""Graphs of a few nodes, for tests of what runs graphs.

Purpose: nodes between float values of one shape, as a file. Does not know: who runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx import NodeProto, TensorProto, helper


def write_graph(
    path: Path, nodes: Sequence[NodeProto], inputs: Sequence[str], outputs: Sequence[str], shape: Sequence[int | str]
) -> Path:
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (*inputs, *outputs)}
    graph = helper.make_graph(nodes, path.stem, [values[name] for name in inputs], [values[name] for name in outputs])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path
