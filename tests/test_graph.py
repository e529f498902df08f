"""The graph builder: names, sharing, and models that ONNX itself finds sound."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from export.graph import MICROSOFT, GraphBuilder
from export.payload import Payload


def test_nodes_are_named_by_their_path_and_never_twice() -> None:
    g = GraphBuilder("g", Payload())
    x = g.input("x", np.float32, ("n",))
    with g.scope("layers.0"), g.scope("mlp"):
        first, second = g.op("Neg", x), g.op("Neg", x)
    assert (first, second) == ("/layers.0/mlp/Neg:0", "/layers.0/mlp/Neg_2:0")
    assert g.op("Neg", x) == "/Neg:0"


def test_equal_constants_are_one_and_differing_types_are_not() -> None:
    g = GraphBuilder("g", Payload())
    assert g.const([1, 2], np.int64) == g.ints(1, 2)
    assert g.const([1, 2], np.int32) != g.ints(1, 2)
    assert g.const([[1, 2]], np.int64) != g.ints(1, 2)


def test_a_finished_model_passes_the_checker_and_runs() -> None:
    g = GraphBuilder("g", Payload())
    x = g.input("x", np.float32, ("n", 4))
    g.output(g.slice(g.op("Add", x, g.const(1.0, np.float32)), 1, -2), "y", np.float32, ("n", 2))
    model = g.model("weights.safetensors")
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString())
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(session.run(["y"], {"x": values})[0], values[:, 2:] + 1)


@pytest.mark.parametrize("domain", ["", MICROSOFT])
def test_a_model_declares_the_domains_it_uses_and_no_other(domain: str) -> None:
    g = GraphBuilder("g", Payload())
    g.output(g.op("Gelu", g.input("x", np.float32, ("n",)), domain=domain), "y", np.float32, ("n",))
    declared = [entry.domain for entry in g.model("weights.safetensors").opset_import]
    assert declared == list(dict.fromkeys(["", domain]))
