"""ONNX Runtime on a device: the same door, with memory the host cannot reach. The device here is the processor's
provider, handled as CUDA's would be; what only CUDA itself can show is not shown here."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import cast

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

from engines import runner_ort_cuda
from engines.errors import BundleError, DeviceError
from engines.runner import Place, Tensor
from engines.runner_ort import host_tensor
from engines.runner_ort_cuda import CUDA, OrtDevice, OrtDeviceBinding, OrtDeviceRunner, cuda_fault
from tests.small_graph import write_graph

STAND_IN = OrtDevice("CPUExecutionProvider", "cpu")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """next_total = total + x; negative = -total."""
    nodes = [helper.make_node("Add", ["total", "x"], ["next_total"]), helper.make_node("Neg", ["total"], ["negative"])]
    path = tmp_path_factory.mktemp("graphs") / "sum.onnx"
    return write_graph(path, nodes, ["total", "x"], ["next_total", "negative"], ["N", 2])


def test_what_stays_on_the_device_is_updated_there(graph: Path) -> None:
    runner = OrtDeviceRunner(graph, STAND_IN)
    total = runner.allocate((3, 2), np.float32, Place.DEVICE)
    x, negative = (runner.allocate((3, 2), np.float32, Place.HOST) for _ in range(2))
    add = runner.bind({"x": x, "total": total}, {"next_total": total})
    look = runner.bind({"x": x, "total": total}, {"negative": negative})
    with pytest.raises(TypeError, match="lives on the device"):
        total.host  # noqa: B018
    for _ in range(3):
        x.host[:] = [[1, 2], [3, 4], [5, 6]]
        add.run()
    look.run()
    assert negative.host.tolist() == [[-3, -6], [-9, -12], [-15, -18]]
    runner.clear(total.rows(1, 3))
    look.run()
    assert negative.host.tolist() == [[-3, -6], [0, 0], [0, 0]]


def test_rows_of_device_memory_are_bound_by_address(graph: Path) -> None:
    runner = OrtDeviceRunner(graph, STAND_IN)
    total, x = runner.allocate((3, 2), np.float32, Place.DEVICE), runner.allocate((3, 2), np.float32, Place.HOST)
    seen = runner.allocate((3, 2), np.float32, Place.HOST)
    x.host[:] = 1
    part = total.rows(1, 2)
    runner.bind({"x": x.rows(0, 1), "total": part}, {"next_total": part}).run()
    runner.bind({"x": x, "total": total}, {"negative": seen}).run()
    assert seen.host.tolist() == [[0, 0], [-1, -1], [0, 0]]


def test_only_the_hosts_inputs_are_bound_again_and_each_tensor_where_it_lives() -> None:
    bound = list[tuple[str, str, int, int]]()

    class Session:
        """Notes what is bound."""

        def io_binding(self) -> Session:
            return self

        def bind_input(self, name: str, memory: str, device: int, _kind: object, _shape: object, address: int) -> None:
            bound.append((name, memory, device, address))

        bind_output = bind_input

        def run_with_iobinding(self, _binding: object) -> None:
            bound.append(("run", "", 0, 0))

    there, out = (Tensor((1,), np.dtype(np.float32), address, None, None) for address in (8, 16))
    here = host_tensor((1,), np.float32)
    inputs, outputs = {"total": there, "x": here}, {"next_total": out, "negative": here}
    binding = OrtDeviceBinding(cast("ort.InferenceSession", Session()), CUDA, inputs, outputs)
    once = [("total", "cuda", 0, 8), ("next_total", "cuda", 0, 16), ("negative", "cpu", 0, here.address)]
    assert bound == once
    binding.run()
    binding.run()
    assert bound[3:] == [("x", "cpu", 0, here.address), ("run", "", 0, 0)] * 2


def test_memory_of_the_device_is_zeroed_whatever_was_there(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(shape: tuple[int, ...], kind: np.dtype[np.generic], memory: str, device: int) -> ort.OrtValue:
        assert device == 0, "the one that the provider's options name"
        return ort.OrtValue.ortvalue_from_numpy(np.full(shape, 7, kind), memory, device)

    monkeypatch.setattr(ort.OrtValue, "ortvalue_from_shape_and_type", used)
    runner = OrtDeviceRunner(graph, STAND_IN)
    total = runner.allocate((3, 2), np.float32, Place.DEVICE)
    x, negative = (runner.allocate((3, 2), np.float32, Place.HOST) for _ in range(2))
    negative.host[:] = 5
    runner.bind({"x": x, "total": total}, {"negative": negative}).run()
    assert not negative.host.any()


def test_a_device_without_room_says_how_much_was_wanted(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("Failed to allocate memory for requested buffer")

    runner = OrtDeviceRunner(graph, STAND_IN)
    monkeypatch.setattr(ort.OrtValue, "ortvalue_from_shape_and_type", full)
    with pytest.raises(DeviceError, match=r"no room for 6 MB \(Failed to allocate.*\); take fewer slots"):
        runner.allocate((1000, 1500), np.float32, Place.DEVICE)


def test_a_closed_runner_is_gone_with_its_last_binding(graph: Path) -> None:
    runner = OrtDeviceRunner(graph, STAND_IN)
    session = weakref.ref(runner._session)
    total, x = (runner.allocate((1, 2), np.float32, place) for place in (Place.DEVICE, Place.HOST))
    binding = runner.bind({"x": x, "total": total}, {"next_total": total})
    runner.close()
    assert session() is not None, "somebody may still run it"
    del binding
    assert session() is None


def test_host_memory_is_cleared_and_names_are_checked(graph: Path) -> None:
    runner = OrtDeviceRunner(graph, STAND_IN)
    x = runner.allocate((1, 2), np.float32, Place.HOST)
    x.host[:] = 5
    runner.clear(x)
    assert not x.host.any()
    with pytest.raises(BundleError, match=r"sum\.onnx lacks moon"):
        runner.bind({"x": x, "total": x}, {"moon": x})


def test_a_runtime_without_cuda_says_so() -> None:
    if CUDA.provider in ort.get_available_providers():
        pytest.skip("this onnxruntime has the CUDA provider")
    assert "has no CUDA provider" in (cuda_fault() or "")


def test_nothing_is_wrong_with_a_device_that_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_ort_cuda, "CUDA", STAND_IN)
    assert cuda_fault() is None


def test_a_cuda_provider_that_does_not_start_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch, graph: Path) -> None:
    if CUDA.provider in ort.get_available_providers():
        pytest.skip("this onnxruntime has the CUDA provider")
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA.provider, "CPUExecutionProvider"])
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        assert "cannot use the CUDA device" in (cuda_fault() or "")
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(DeviceError, match="cannot use"):
        OrtDeviceRunner(graph)


def test_what_is_said_while_cudas_libraries_are_looked_for_is_no_sound(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], graph: Path
) -> None:
    """`speak -o -` writes its sound to standard output."""
    if CUDA.provider in ort.get_available_providers():
        pytest.skip("this onnxruntime has the CUDA provider")
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA.provider, "CPUExecutionProvider"])
    monkeypatch.setattr(ort, "preload_dlls", lambda: print("no libcudnn.so.9"), raising=False)
    OrtDeviceRunner(graph, STAND_IN)
    assert "libcudnn" not in "".join(capfd.readouterr()), "the processor needs none"
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(DeviceError, match="cannot use"):
        OrtDeviceRunner(graph)
    told = capfd.readouterr()
    assert ("libcudnn" in told.out, "libcudnn" in told.err) == (False, True)
