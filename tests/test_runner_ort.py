"""ONNX Runtime behind the runner's door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from engines.errors import BundleError, DeviceError
from engines.runner import Place
from engines.runner_ort import OrtRunner, open_session
from tests.small_graph import write_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """next_total = total + x; picked = total[x], which fails for large x."""
    nodes = [
        helper.make_node("Add", ["total", "x"], ["next_total"]),
        helper.make_node("Cast", ["x"], ["index"], to=TensorProto.INT64),
        helper.make_node("Gather", ["total", "index"], ["picked"]),
    ]
    path = tmp_path_factory.mktemp("graphs") / "sum.onnx"
    return write_graph(path, nodes, ["total", "x"], ["next_total", "picked"], ["N"])


def test_bound_memory_is_read_and_written_in_place(graph: Path) -> None:
    runner = OrtRunner(graph)
    x, total = runner.allocate((3,), np.float32, Place.HOST), runner.allocate((3,), np.float32, Place.DEVICE)
    binding = runner.bind({"x": x, "total": total}, {"next_total": total})
    for turn in range(1, 4):
        x.host[:] = [0, 1, 2]
        binding.run()
        assert total.host.tolist() == [0, turn, 2 * turn]
    runner.clear(total.rows(0, 2))
    assert total.host.tolist() == [0, 0, 6]


def test_outputs_left_out_are_not_touched(graph: Path) -> None:
    runner = OrtRunner(graph)
    x, total, picked = (runner.allocate((3,), np.float32, Place.HOST) for _ in range(3))
    total.host[:] = [5, 6, 7]
    x.host[:] = [2, 1, 0]
    runner.bind({"x": x, "total": total}, {"picked": picked}).run()
    assert total.host.tolist() == [5, 6, 7]
    assert picked.host.tolist() == [7, 6, 5]


def test_a_failing_run_says_what_failed(graph: Path) -> None:
    runner = OrtRunner(graph)
    x, total = (runner.allocate((3,), np.float32, Place.HOST) for _ in range(2))
    x.host[:] = 10**6
    with pytest.raises(DeviceError, match="Gather"):
        runner.bind({"x": x, "total": total}, {"next_total": total}).run()


def test_memory_is_aligned_zeroed_and_sliced_without_a_copy(graph: Path) -> None:
    runner = OrtRunner(graph)
    tensor = runner.allocate((4, 2, 3), np.int32, Place.HOST)
    assert tensor.address % 64 == 0
    assert not tensor.host.any()
    part = tensor.rows(1, 3)
    part.host[:] = 7
    assert tensor.host[1:3].min() == 7
    assert not tensor.host[[0, 3]].any()
    assert part.address == tensor.address + 24
    assert part.host.ctypes.data == part.address
    assert part.reshaped(12).host.tolist() == [7] * 12
    with pytest.raises(ValueError, match="cannot see"):
        part.reshaped(11)


def test_names_must_match(graph: Path) -> None:
    runner = OrtRunner(graph)
    x = runner.allocate((3,), np.float32, Place.HOST)
    with pytest.raises(BundleError, match=r"sum\.onnx wants inputs .*: total"):
        runner.bind({"x": x}, {})
    with pytest.raises(BundleError, match=r"sum\.onnx lacks moon, sun"):
        runner.bind({"x": x, "total": x, "sun": x}, {"moon": x})


@pytest.mark.parametrize("content", [b"", b"not a graph", None])
def test_what_is_not_a_graph_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "frame.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BundleError, match=r"frame\.onnx cannot be loaded"):
        OrtRunner(path)


@pytest.mark.parametrize("spinning", [True, False])
def test_threads_spin_only_where_it_is_wanted(graph: Path, spinning: bool) -> None:
    options = open_session(graph, ["CPUExecutionProvider"], 2, spinning=spinning).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads, options.enable_mem_pattern) == (2, 1, False)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == str(int(spinning))


def test_memory_that_has_run_out_is_not_the_graphs_fault(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : std::bad_alloc")

    monkeypatch.setattr("engines.runner_ort.ort.InferenceSession", full)
    with pytest.raises(BundleError, match=r"cannot be loaded.*memory has run out") as told:
        OrtRunner(graph)
    assert "export the bundle again" not in str(told.value)


def test_a_closed_runner_is_gone(graph: Path) -> None:
    runner = OrtRunner(graph)
    x = runner.allocate((3,), np.float32, Place.HOST)
    runner.close()
    with pytest.raises(AttributeError):
        runner.bind({"x": x, "total": x}, {})
