"""The border to CUDA, over a stand-in for cuda-python: what is called, what errors say, what is given back."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from enum import IntEnum
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.cuda_api import _LEAST, CudaApi, _complain_if_old
from engines.cuda_memory import ALIGNMENT, SharedBlock, Want, allocate
from engines.errors import DeviceError, DeviceLostError, GpuError
from tests.fake_cuda import FakeCuda


class Error(IntEnum):
    cudaSuccess = 0  # noqa: N815 - CUDA's names
    cudaErrorMemoryAllocation = 2  # noqa: N815
    cudaErrorInsufficientDriver = 35  # noqa: N815
    cudaErrorDevicesUnavailable = 46  # noqa: N815
    cudaErrorIllegalAddress = 700  # noqa: N815
    cudaErrorSystemNotReady = 802  # noqa: N815
    cudaErrorCompatNotSupportedOnDevice = 804  # noqa: N815
    cudaErrorStreamCaptureUnsupported = 900  # noqa: N815
    cudaErrorUnknown = 999  # noqa: N815


class Runtime(types.ModuleType):
    """cuda.bindings.runtime: every call succeeds with a number, unless told otherwise."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.runtime")
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.errors: dict[str, Error] = {}
        self.integrated = 0
        self.cudaMemcpyKind = types.SimpleNamespace(cudaMemcpyDefault=4)
        self.cudaStreamCaptureMode = types.SimpleNamespace(cudaStreamCaptureModeThreadLocal=1)
        self.cudaStreamNonBlocking, self.cudaEventBlockingSync, self.cudaEventDisableTiming = 1, 1, 2
        self.cudaHostAllocDefault, self.cudaHostAllocMapped = 0, 2
        self.cudaMemcpy3DParms = types.SimpleNamespace
        self.make_cudaPitchedPtr = self.make_cudaExtent = lambda *numbers: numbers
        names = ("ComputeCapabilityMajor", "ComputeCapabilityMinor", "Integrated", "CanMapHostMemory")
        self.cudaDeviceAttr = types.SimpleNamespace(**{f"cudaDevAttr{name}": name for name in names})
        self._next = 4096

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: self._call(name, *arguments)

    def _call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        self.calls.append((name, arguments))
        error = self.errors.get(name, Error.cudaSuccess)
        self._next += ALIGNMENT
        attributes = {"ComputeCapabilityMajor": 8, "ComputeCapabilityMinor": 7, "Integrated": self.integrated}
        answers: dict[str, tuple[Any, ...]] = {
            "cudaGetErrorName": (Error(arguments[0]).name.encode() if name == "cudaGetErrorName" else b"",),
            "cudaGetErrorString": (b"words of the driver",),
            "cudaDeviceGetStreamPriorityRange": (0, -5),
            "cudaMemGetInfo": (3_000_000, 8_000_000),
            "cudaGetDeviceProperties": (types.SimpleNamespace(name=b"Orin\0\0", totalGlobalMem=8_000_000),),
            "cudaDeviceGetAttribute": (attributes.get(str(arguments[0]) if arguments else "", 1),),
        }
        return error, *answers.get(name, (self._next,))

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.calls if called == name]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    made, package = Runtime(), types.ModuleType("cuda.bindings")
    package.runtime = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", package)
    monkeypatch.setitem(sys.modules, "cuda.bindings.runtime", made)
    return made


def test_the_device_says_what_it_is(runtime: Runtime) -> None:
    device = CudaApi().device
    assert (device.name, device.architecture, device.integrated) == ("Orin", "sm_87", False)
    runtime.integrated = 1
    assert CudaApi().device.integrated


def test_without_a_device_the_remedy_is_told(runtime: Runtime) -> None:
    runtime.errors["cudaSetDevice"] = Error.cudaErrorInsufficientDriver
    with pytest.raises(GpuError, match="install an NVIDIA driver"):
        CudaApi()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (Error.cudaErrorSystemNotReady, "nvidia-fabricmanager"),
        (Error.cudaErrorCompatNotSupportedOnDevice, "LD_LIBRARY_PATH"),
        (Error.cudaErrorDevicesUnavailable, "nvidia-smi -c 0"),
        (Error.cudaErrorUnknown, "modprobe nvidia-uvm"),
    ],
)
def test_a_cuda_that_does_not_start_is_not_to_be_cured_by_starting_again(
    runtime: Runtime, error: Error, remedy: str
) -> None:
    runtime.errors["cudaSetDevice"] = error
    with pytest.raises(GpuError, match=remedy) as raised:
        CudaApi()
    assert "must be started again" not in str(raised.value)


def test_without_cuda_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(GpuError, match="extra `tensorrt`"):
        CudaApi()


def test_a_driver_that_is_missing_is_told_whatever_way_cuda_python_says_it(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12.8 raises where later ones answer with an error."""

    def absent(_device: int) -> None:
        raise RuntimeError("Failed to dlopen libcuda.so.1")

    monkeypatch.setattr(runtime, "cudaSetDevice", absent, raising=False)
    with pytest.raises(GpuError, match=r"dlopen libcuda.so.1; the NVIDIA driver's library"):
        CudaApi()


@pytest.mark.parametrize(("version", "complaints"), [("12.9.0", 1), ("12.9.1", 0), ("13.0.0", 0), (None, 0)])
def test_a_cuda_python_that_holds_everybody_up_is_told_once(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str | None,
    complaints: int,
) -> None:  # fmt: skip
    """Until 12.9.0 its `cudaEventSynchronize` keeps the interpreter, so that nobody is answered in the meantime."""

    def found(package: str) -> str:
        if package != "cuda-bindings" or version is None:
            raise metadata.PackageNotFoundError(package)
        return version

    monkeypatch.setattr(metadata, "version", found)
    _complain_if_old.cache_clear()
    CudaApi()
    CudaApi()
    said = [record.getMessage() for record in caplog.records]
    told = f"cuda-python {version} holds up the whole program whenever it waits for the GPU; install 12.9.1 or later"
    assert said == [told] * complaints
    _complain_if_old.cache_clear()


def test_every_place_that_asks_for_cuda_python_asks_for_one_that_does_not() -> None:
    root = Path(__file__).parent.parent
    places = ["pyproject.toml", "export/tensorrt_trouble.py", "scripts/setup_gpu.sh"]
    texts = "".join((root / place).read_text(encoding="utf-8") for place in places)
    asked = re.findall(r"(?:cuda-python>=|least=)([\d.]+)", texts)
    assert asked == [".".join(map(str, _LEAST))] * 4


def test_the_talker_goes_before_the_codec(runtime: Runtime) -> None:
    cuda = CudaApi()
    cuda.stream(urgent=True)
    cuda.stream(urgent=False)
    assert runtime.called("cudaStreamCreateWithPriority") == [(1, -5), (1, 0)]


def test_no_room_names_sizes_and_remedy(runtime: Runtime) -> None:
    runtime.errors["cudaMalloc"] = Error.cudaErrorMemoryAllocation
    with pytest.raises(DeviceError, match=r"lower engine.slots.*7 MB were asked for, 3 MB are free"):
        CudaApi().allocate(7_000_000)


@pytest.mark.parametrize(("integrated", "free_bytes"), [(0, 3_000_000), (1, 6_000_000)])
def test_caches_count_as_free_where_memory_is_shared(
    integrated: int, free_bytes: int, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA tells the kernel's MemFree there, and page caches fill that within hours."""
    runtime.integrated = integrated
    monkeypatch.setattr("engines.cuda_api.machine_memory_bytes", lambda: (6_000_000, 8_000_000))
    assert CudaApi().free_bytes() == free_bytes
    monkeypatch.setattr("engines.cuda_api.machine_memory_bytes", lambda: (None, None))
    assert CudaApi().free_bytes() == 3_000_000


def test_an_error_at_work_is_final(runtime: Runtime) -> None:
    cuda = CudaApi()
    event = cuda.event()
    runtime.errors["cudaEventSynchronize"] = Error.cudaErrorIllegalAddress
    with pytest.raises(DeviceLostError, match=r"words of the driver \(cudaErrorIllegalAddress\).*started again"):
        cuda.synchronize(event)


def test_everything_is_given_back_the_latest_first(runtime: Runtime) -> None:
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.allocate(100)
    cuda.begin_recording(stream)
    cuda.end_recording(stream)
    cuda.end_work()
    assert runtime.calls[-1][0] == "cudaGraphExecDestroy", "before what it ran"
    assert not runtime.called("cudaFree")
    cuda.close()
    names = [name for name, _ in runtime.calls]
    assert names.index("cudaGraphExecDestroy") < names.index("cudaFree")
    assert runtime.calls[-1] == ("cudaStreamDestroy", (stream,)), "what was made first goes last"
    cuda.close()
    assert len(runtime.called("cudaFree")) == len(runtime.called("cudaGraphExecDestroy")) == 1


@pytest.mark.parametrize(("fails", "graphs"), [("cudaStreamEndCapture", 0), ("cudaGraphInstantiate", 1), ("", 1)])
def test_a_recording_that_failed_is_left_without_a_trace(runtime: Runtime, fails: str, graphs: int) -> None:
    """While it is recorded (""), when it ends, and when it is made ready."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.begin_recording(stream)
    if fails:
        runtime.errors[fails] = Error.cudaErrorIllegalAddress
        with pytest.raises(DeviceLostError, match=fails):
            cuda.end_recording(stream)
        runtime.errors["cudaStreamEndCapture"] = Error.cudaErrorIllegalAddress  # nothing is recorded any more
    cuda.abandon_recording(stream)
    assert len(runtime.called("cudaGraphDestroy")) == graphs
    assert runtime.calls[-1][0] == "cudaGetLastError"


def test_another_voice_may_be_recording_meanwhile(runtime: Runtime) -> None:
    """CUDA then forbids to wait for the device, and what waits for it of itself (900, 901)."""
    runtime.errors |= dict.fromkeys(
        ("cudaDeviceSynchronize", "cudaMemset", "cudaMemcpy"), Error.cudaErrorStreamCaptureUnsupported
    )
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    address, array = cuda.allocate(100), np.zeros(100, np.uint8)
    cuda.upload(address, array.ctypes.data, 100)
    runtime.calls.clear()
    cuda.download(array.ctypes.data, address, 100)
    waited = runtime.called("cudaStreamSynchronize")
    assert waited[0] == (stream,), "what may still write it"
    assert [name for name, _ in runtime.calls[-2:]] == ["cudaMemcpyAsync", "cudaStreamSynchronize"]
    cuda.close()
    assert runtime.called("cudaFree")


def test_set_up_is_over_when_every_stream_is_done(runtime: Runtime) -> None:
    cuda = CudaApi()
    streams = [cuda.stream(urgent=urgent) for urgent in (True, False)]
    cuda.settle()
    assert runtime.called("cudaStreamSynchronize") == [(stream,) for stream in streams]
    runtime.errors["cudaStreamSynchronize"] = Error.cudaErrorIllegalAddress
    with pytest.raises(DeviceLostError, match="words of the driver"):
        cuda.settle()


def test_rows_and_blocks_say_where_they_lie(runtime: Runtime) -> None:
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.copy_rows(1, 20, 3, 40, 5, 6, stream)
    assert runtime.called("cudaMemcpy2DAsync") == [(1, 20, 3, 40, 5, 6, 4, stream)]
    cuda.clear_rows(1, 20, 5, 6, stream)
    assert runtime.called("cudaMemset2DAsync") == [(1, 20, 0, 5, 6, stream)]
    cuda.copy_blocks(1, 20, 7, 3, 40, 8, 5, 6, 9, stream)
    [(what, on)] = runtime.called("cudaMemcpy3DAsync")
    assert (what.dstPtr, what.srcPtr) == ((1, 20, 5, 7), (3, 40, 5, 8)), "address, pitch, width, rows to the next block"
    assert (what.extent, what.kind, on) == ((5, 6, 9), 4, stream)


def test_memory_is_zeroed_and_what_is_brought_over_is_there_when_it_is_said(runtime: Runtime) -> None:
    cuda = CudaApi()
    address = cuda.allocate(100)
    [set_up] = runtime.calls[-1][1]
    assert runtime.calls[-2:] == [
        ("cudaMemsetAsync", (address, 0, 100, set_up)), ("cudaStreamSynchronize", (set_up,)),
    ]  # fmt: skip
    cuda.upload(address, 77, 100)
    assert runtime.calls[-2:] == [
        ("cudaMemcpyAsync", (address, 77, 100, 4, set_up)), ("cudaStreamSynchronize", (set_up,)),
    ]  # fmt: skip


@pytest.mark.parametrize(("integrated", "flags", "mapped"), [(0, 0, 0), (1, 2, 1)])
def test_memory_of_the_host_is_mapped_where_the_device_shares_it(
    runtime: Runtime, integrated: int, flags: int, mapped: int
) -> None:
    runtime.integrated = integrated
    memory = CudaApi().allocate_host(100)
    assert runtime.called("cudaHostAlloc") == [(100, flags)]
    assert runtime.called("cudaHostGetDevicePointer") == [(memory.address, 0)] * mapped
    assert (memory.device_address is not None) == bool(mapped)


def test_work_is_put_on_the_stream_it_is_for(runtime: Runtime) -> None:
    cuda = CudaApi()
    stream, event = cuda.stream(urgent=True), cuda.event()
    cuda.begin_recording(stream)
    sequence = cuda.end_recording(stream)
    runtime.calls.clear()
    cuda.copy(1, 2, 3, stream)
    cuda.clear(1, 3, stream)
    cuda.record(event, stream)
    cuda.wait(stream, event)
    cuda.launch(sequence, stream)
    assert runtime.calls == [
        ("cudaMemcpyAsync", (1, 2, 3, 4, stream)),
        ("cudaMemsetAsync", (1, 0, 3, stream)),
        ("cudaEventRecord", (event, stream)),
        ("cudaStreamWaitEvent", (stream, event, 0)),
        ("cudaGraphLaunch", (sequence, stream)),
    ]


def test_what_was_recorded_is_on_the_device_before_it_is_launched(runtime: Runtime) -> None:
    """Or the first listener's frame would carry it there."""
    cuda = CudaApi()
    stream = cuda.stream(urgent=True)
    cuda.begin_recording(stream)
    sequence = cuda.end_recording(stream)
    assert runtime.calls[-1] == ("cudaGraphUpload", (sequence, stream))
    assert [flags for _, flags in runtime.called("cudaGraphInstantiate")] == [0]


def test_the_largest_is_allocated_first_and_all_of_it_aligned() -> None:
    cuda = FakeCuda()
    wants = {"small": Want((3,), np.int8), "large": Want((99, 7), np.float32), "middle": Want((5, 8), np.int64)}
    found = allocate(cuda, wants | {"nothing": Want((0,), np.uint8)})
    assert cuda.allocated == [11 * ALIGNMENT, 2 * ALIGNMENT, ALIGNMENT, ALIGNMENT]
    assert all(tensor.address % ALIGNMENT == 0 for tensor in found.values())
    assert [found[name].nbytes for name in wants] == [3, 99 * 7 * 4, 320]


@pytest.mark.parametrize("integrated", [True, False])
def test_a_shared_block_is_copied_only_where_it_must(integrated: bool) -> None:
    cuda = FakeCuda(integrated=integrated)
    block = SharedBlock(cuda, {"a": Want((3,), np.float32), "b": Want((2, 2), np.int64)})
    assert not block.arrays["b"].any()
    assert block.addresses["b"] == block.addresses["a"] + ALIGNMENT
    assert len(cuda.allocated) == (0 if integrated else 1)
    block.arrays["b"][1, 1] = 7
    stream = cuda.stream(urgent=False)
    block.send(stream)
    block.arrays["b"][1, 1] = 8
    block.fetch(stream)
    assert block.arrays["b"][1, 1] == (8 if integrated else 7)
    assert len(cuda.called("copy")) == (0 if integrated else 2)
