"""A small builder of ONNX graphs, node by node, every node named by its path.

Purpose: say `g.op("Add", a, b)` and get a named node; weights go to the payload, small constants inline.
Knows: ONNX's protobufs. Does not know: any model.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, StringStringEntryProto, TensorProto, ValueInfoProto, helper, numpy_helper

from export.payload import Make, Payload

OPSET: Final = 21
IR_VERSIONS: Final = {21: 10, 24: 11}
"""The oldest container version ONNX pairs with each opset used here; readers refuse newer ones, never older ones."""
MICROSOFT: Final = "com.microsoft"
MICROSOFT_OPSET: Final = 1

Shape = tuple[int | str, ...]
Attribute = int | float | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View:
    """How a graph reads a tensor that the payload stores as plain bytes (types that safetensors lacks)."""

    kind: int
    """A `TensorProto.DataType`."""
    shape: tuple[int, ...]


class GraphBuilder:
    """Collects nodes of one graph; values are referred to by name (str)."""

    def __init__(self, name: str, payload: Payload, opset: int = OPSET) -> None:
        self.name = name
        self.payload = payload
        self._opset = opset
        self._nodes: list[NodeProto] = []
        self._naming: dict[str, list[NodeProto]] = {}
        """The nodes that make or read each value."""
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._inline: dict[str, TensorProto] = {}
        self._weights: dict[str, View | None] = {}
        self._path: list[str] = []
        self._taken: Counter[str] = Counter()

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names of the nodes made inside begin with this path element."""
        self._path.append(name)
        yield
        self._path.pop()

    def _unique(self, leaf: str) -> str:
        path = "/" + "/".join([*self._path, leaf])
        self._taken[path] += 1
        count = self._taken[path]
        return path if count == 1 else f"{path}_{count}"

    def input(self, name: str, dtype: npt.DTypeLike, shape: Shape) -> str:
        """Declare a graph input."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, dtype: npt.DTypeLike, shape: Shape) -> None:
        """Declare a graph output under `name`, fed by `value`."""
        if value != name:
            self._rename(value, name)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def _rename(self, value: str, name: str) -> None:
        nodes = self._naming.pop(value, [])
        for node in nodes:
            for names in (node.input, node.output):
                for index, known in enumerate(names):
                    if known == value:
                        names[index] = name
        self._naming.setdefault(name, []).extend(nodes)

    def ops(self, kind: str, *inputs: str, outputs: int, domain: str = "", **attributes: Attribute) -> list[str]:
        """Add a node with several outputs; an empty string leaves an optional input out."""
        name = self._unique(kind)
        values = [f"{name}:{index}" for index in range(outputs)]
        node = helper.make_node(kind, list(inputs), values, name=name, domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        for value in {*inputs, *values}:
            self._naming.setdefault(value, []).append(node)
        return values

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add a node with one output; returns its value."""
        return self.ops(kind, *inputs, outputs=1, domain=domain, **attributes)[0]

    def const(self, values: npt.ArrayLike, dtype: npt.DTypeLike) -> str:
        """A small constant, kept inline; equal ones are shared."""
        array = np.asarray(values, dtype=dtype)
        facts = f"{array.dtype}{array.shape}".encode() + array.tobytes()
        digest = f"const.{hashlib.blake2b(facts, digest_size=8).hexdigest()}"
        if digest not in self._inline:
            self._inline[digest] = numpy_helper.from_array(array, digest)
        return digest

    def ints(self, *values: int) -> str:
        """A constant int64 vector (shapes, axes, slice bounds)."""
        return self.const(values, np.int64)

    def weight(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], make: Make, view: View | None = None
    ) -> str:
        """A tensor of the payload, by its name there; `view` says how the graph is to read its bytes."""
        self.payload.add(name, dtype, shape, make)
        self._weights.setdefault(name, view)
        return name

    def slice(self, value: str, axis: int, start: int, stop: int = 2**62) -> str:
        """`value[..., start:stop, ...]` along an axis; negative bounds count from the end."""
        return self.op("Slice", value, self.ints(start), self.ints(stop), self.ints(axis))

    def model(self, payload_file: str) -> ModelProto:
        """The finished model; weights refer to `payload_file`, whose layout must be final by now.

        Nodes, inputs and weights that no output needs are left out.
        """
        nodes = self._needed()
        read = {value for node in nodes for value in node.input}
        spans = self.payload.spans()
        weights = [self._external(name, payload_file, *spans[name]) for name in self._weights if name in read]
        inline = [tensor for name, tensor in self._inline.items() if name in read]
        inputs = [value for value in self._inputs if value.name in read]
        graph = helper.make_graph(nodes, self.name, inputs, self._outputs, initializer=[*weights, *inline])
        opsets = [helper.make_opsetid("", self._opset)]
        if any(node.domain == MICROSOFT for node in nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, MICROSOFT_OPSET))
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSIONS[self._opset], producer_name="speakd"
        )

    def _needed(self) -> list[NodeProto]:
        wanted, kept = {value.name for value in self._outputs}, []
        for node in reversed(self._nodes):  # nodes are made in order, so readers come after what they read
            if wanted.intersection(node.output):
                wanted.update(node.input)
                kept.append(node)
        return kept[::-1]

    def _external(self, name: str, file: str, offset: int, length: int) -> TensorProto:
        entry, view = self.payload[name], self._weights[name]
        plain = View(helper.np_dtype_to_tensor_dtype(entry.dtype), entry.shape)
        kind, shape = (view or plain).kind, (view or plain).shape
        tensor = TensorProto(name=name, data_type=kind, data_location=TensorProto.EXTERNAL)
        tensor.dims.extend(shape)
        facts = {"location": file, "offset": str(offset), "length": str(length)}
        tensor.external_data.extend(StringStringEntryProto(key=key, value=value) for key, value in facts.items())
        return tensor


def save_model(model: ModelProto, path: Path) -> None:
    """Write a model; the same one gives the same bytes."""
    path.write_bytes(model.SerializeToString(deterministic=True))
