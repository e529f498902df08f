"""Graphs run by ONNX Runtime on a CUDA device: what is used where TensorRT is missing.

Purpose: the runner's door over ONNX Runtime's CUDA provider. Knows: the provider's options, memory of its device,
which copies ONNX Runtime makes and when. Does not know: what the graphs compute, whether a better backend is there.

Tensors of `Place.DEVICE` live on the device and are bound once. Those of `Place.HOST` stay with the host: ONNX Runtime
copies a host input when it is *bound* (microsoft/onnxruntime#15438), so they are bound again before each run, and it
copies host outputs back at the end of the run, which waits for the device. No CUDA graph: it would need every copy's
address fixed. Memory of the device is cleared by a graph of one node, so that no other library is needed for it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from engines.errors import DeviceError
from engines.runner import Place, Tensor
from engines.runner_ort import GraphNames, host_tensor, open_session, run_bound


@dataclass(frozen=True, slots=True)
class OrtDevice:
    """A provider of ONNX Runtime with memory of its own."""

    provider: str
    memory: str
    """ONNX Runtime's name of that memory."""
    options: dict[str, str] = field(default_factory=dict)


CUDA: Final = OrtDevice(
    "CUDAExecutionProvider",
    "cuda",
    {
        "device_id": "0",
        "arena_extend_strategy": "kSameAsRequested",  # no doubling: the weights would be held one and a half times
        "cudnn_conv_algo_search": "HEURISTIC",  # trying every algorithm would hold up each new block length for seconds
        "use_tf32": "0",  # products as exact as on the processor, so that the same codes win
    },
)


def cuda_fault() -> str | None:
    """Why ONNX Runtime cannot use CUDA here; None where it can. Opens a session on the device: about a second once."""
    if CUDA.provider not in ort.get_available_providers():
        return f"the installed onnxruntime {ort.__version__} has no CUDA provider (onnxruntime-gpu has)"
    try:
        Eraser(CUDA)
    except DeviceError as error:
        return str(error)
    return None


class OrtDeviceBinding:
    """Tensors bound to one session; see `engines.runner.Binding`."""

    def __init__(
        self,
        session: ort.InferenceSession,
        device: OrtDevice,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Tensor],
    ) -> None:
        self._session = session
        self._memory = (*inputs.values(), *outputs.values())
        self._from_host = {name: tensor for name, tensor in inputs.items() if tensor.array is not None}
        self._binding = session.io_binding()
        for name, tensor in inputs.items():
            if tensor.array is None:
                self._binding.bind_input(name, device.memory, 0, tensor.dtype, tensor.shape, tensor.address)
        for name, tensor in outputs.items():
            place = device.memory if tensor.array is None else "cpu"
            self._binding.bind_output(name, place, 0, tensor.dtype, tensor.shape, tensor.address)

    def run(self) -> None:
        """Bring the host's inputs over, run, bring its outputs back."""
        for name, tensor in self._from_host.items():
            self._binding.bind_input(name, "cpu", 0, tensor.dtype, tensor.shape, tensor.address)
        run_bound(self._session, self._binding)


class OrtDeviceRunner:
    """One graph in one session on a device; see `engines.runner.Runner`."""

    def __init__(self, graph: Path, device: OrtDevice = CUDA) -> None:
        """Load `graph`. Raises `BundleError` when it cannot be loaded, `DeviceError` when the device cannot be used."""
        self._device = device
        self._eraser = Eraser(device)
        self._session = _open(graph, device)
        self._names = GraphNames(graph.name, self._session)

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike, place: Place) -> Tensor:
        """Zeroed memory where it is wanted. Raises `DeviceError` where the device has no room."""
        if place is Place.HOST:
            return host_tensor(shape, dtype)
        kind = np.dtype(dtype)
        try:
            value = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind, self._device.memory, 0)
        except Exception as error:
            size_mb = prod(shape) * kind.itemsize / 1e6
            raise DeviceError(
                f"the device has no room for {size_mb:.0f} MB ({error}); take fewer slots, fewer positions or a"
                " smaller model"
            ) from error
        tensor = Tensor(shape, kind, value.data_ptr(), value, None)
        self.clear(tensor)
        return tensor

    def clear(self, tensor: Tensor) -> None:
        """Fill with zeros."""
        if tensor.array is not None:
            tensor.array.fill(0)
        else:
            self._eraser.clear(tensor.address, tensor.nbytes)

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> OrtDeviceBinding:
        """Tie tensors to names; every input must be given. Raises `BundleError` naming what does not match."""
        self._names.check(inputs, outputs)
        return OrtDeviceBinding(self._session, self._device, inputs, outputs)

    def close(self) -> None:
        """Drop the session; its memory goes with the last binding."""
        del self._session


class Eraser:
    """Clears memory of a device by a graph that writes so many zero bytes."""

    def __init__(self, device: OrtDevice) -> None:
        """Raises `DeviceError` when the device cannot be used."""
        self._device = device
        self._session = _open(_zeros_graph(), device)
        self._binding = self._session.io_binding()
        self._size = np.zeros(1, dtype=np.int64)

    def clear(self, address: int, size_bytes: int) -> None:
        """Fill with zeros."""
        self._size[0] = size_bytes
        self._binding.bind_cpu_input("size", self._size)
        self._binding.bind_output("zeros", self._device.memory, 0, np.uint8, (size_bytes,), address)
        run_bound(self._session, self._binding)


def _zeros_graph() -> bytes:
    from onnx import TensorProto, helper, numpy_helper  # a tenth of a second that the processor need not wait

    zero = numpy_helper.from_array(np.zeros(1, np.uint8))
    node = helper.make_node("ConstantOfShape", ["size"], ["zeros"], value=zero)
    size = helper.make_tensor_value_info("size", TensorProto.INT64, [1])
    zeros = helper.make_tensor_value_info("zeros", TensorProto.UINT8, ["N"])
    graph = helper.make_graph([node], "zeros", [size], [zeros])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return bytes(model.SerializeToString())


def _open(graph: Path | bytes, device: OrtDevice) -> ort.InferenceSession:
    """A session that really runs on the device: ONNX Runtime itself would go on without one, and only warn."""
    if device.memory == CUDA.memory and hasattr(ort, "preload_dlls"):
        with contextlib.redirect_stdout(sys.stderr):  # it prints what it misses; standard output may carry sound
            ort.preload_dlls()
    session = open_session(graph, [(device.provider, dict(device.options))])
    if device.provider not in session.get_providers():
        raise DeviceError(
            "ONNX Runtime cannot use the CUDA device (its message above says why: mostly a library of CUDA or cuDNN"
            " that is missing or of another version)"
        )
    return session
