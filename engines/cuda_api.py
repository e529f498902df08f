"""The border to CUDA: every call of this program to it goes through here.

Purpose: streams, events, memory, copies and recorded sequences of work, as plain numbers and exceptions. Knows:
cuda-python (its layout since 12.6, in 13 too) and what its errors mean for people. Does not know: TensorRT, what the
memory holds. Tests put another one in its place, which records the calls.

Streams, events and sequences are the driver's handles as integers. After the set-up nothing but `synchronize` waits,
and that for one event; before it only streams made here are waited for, since another voice may be recording. Threads
may share it; each call is CUDA's own, which takes care of that.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from typing import Any, Final, NewType

from engines.errors import DeviceError, DeviceLostError, GpuError
from engines.machine_memory import machine_memory_bytes

Stream = NewType("Stream", int)
Event = NewType("Event", int)
Sequence = NewType("Sequence", int)
"""A recorded sequence of work, launched at once (a CUDA graph)."""

_DEVICE: Final = 0
_REMEDIES: Final = {
    "cudaErrorMemoryAllocation": "give the device's memory free, or lower engine.slots or engine.positions",
    "cudaErrorInsufficientDriver": "install an NVIDIA driver as new as this CUDA, or newer",
    "cudaErrorNoDevice": "this machine shows no NVIDIA GPU to this process",
    "cudaErrorSystemDriverMismatch": "the driver was renewed while it was in use; restart the machine",
    "cudaErrorSystemNotReady": "a server with NVSwitch needs nvidia-fabricmanager, of the driver's version",
    "cudaErrorCompatNotSupportedOnDevice": "take CUDA's `compat` folder out of LD_LIBRARY_PATH, or renew the driver",
    "cudaErrorDevicesUnavailable": "another process has the GPU for itself; end it, or run `nvidia-smi -c 0` as root",
}
_END_STREAM: Final = "cudaStreamDestroy"
_FORGET: Final = "cudaGraphExecDestroy"
_NO_DRIVER: Final = "the NVIDIA driver's library (libcuda.so.1) is not found, or older than this cuda-python"
_STICKY: Final = "the device is unusable for this process, which must be started again"
_NOT_STARTED: Final = (
    "CUDA does not start here: see that `nvidia-smi` finds the GPU, that `modprobe nvidia-uvm` was done (not on a"
    " Jetson), and that this user is in the groups video and render"
)
_LEAST: Final = (12, 9, 1)
"""The first cuda-python that lets the interpreter go in every call, also while it waits for an event."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The GPU in use."""

    name: str
    """Such as "NVIDIA GeForce RTX 4090" or "Orin"."""
    architecture: str
    """Its compute capability, such as "sm_87"."""
    integrated: bool
    """Whether it shares the host's memory, as on Jetson: then nothing needs to be copied to it."""
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Memory of the host that the device reaches without a copy in between."""

    address: int
    device_address: int | None
    """Where the device sees the very same memory; None where it must be copied."""


class CudaApi:
    """The first GPU that this process sees."""

    def __init__(self) -> None:
        """Raises `GpuError` where there is none that can be used."""
        try:
            from cuda.bindings import runtime
        except ImportError as error:
            raise GpuError(f"cuda-python is missing ({error}); install speakd with its extra `tensorrt`") from error
        _complain_if_old()
        self._cuda: Any = runtime
        self._otherwise = _NOT_STARTED
        self._copy: Any = runtime.cudaMemcpyKind.cudaMemcpyDefault
        try:
            self._call("cudaSetDevice", _DEVICE)
            self.device = self._describe()
            _, self._urgent = self._call("cudaDeviceGetStreamPriorityRange")
        except DeviceError as error:
            raise GpuError(str(error)) from error
        self._otherwise = _STICKY
        self._undo: list[tuple[str, int]] = []

    # -- set-up: what is made here is given back by `close` ---------------------------------------------------------

    def stream(self, *, urgent: bool) -> Stream:
        """A stream of its own; work of an urgent one goes first on the device."""
        priority = self._urgent if urgent else 0
        return Stream(self._made(_END_STREAM, "cudaStreamCreateWithPriority", self._non_blocking, priority))

    def event(self) -> Event:
        """An event that was not recorded yet. Who waits for it sleeps."""
        flags = self._cuda.cudaEventBlockingSync | self._cuda.cudaEventDisableTiming
        return Event(self._made("cudaEventDestroy", "cudaEventCreateWithFlags", flags))

    def allocate(self, size_bytes: int) -> int:
        """The address of zeroed memory of the device. Raises `DeviceError` where there is not enough."""
        try:
            address = self._made("cudaFree", "cudaMalloc", size_bytes)
        except DeviceError as error:
            sizes = f"{size_bytes / 1e6:.0f} MB were asked for, {self.free_bytes() / 1e6:.0f} MB are free"
            raise DeviceError(f"{error} ({sizes})") from error
        self._call("cudaMemsetAsync", address, 0, size_bytes, self._set_up)
        self._wait(self._set_up)
        return address

    def allocate_host(self, size_bytes: int) -> HostMemory:
        """Memory of the host, never paged out, mapped where the device shares it. Not zeroed."""
        mapped = self.device.integrated
        flags = self._cuda.cudaHostAllocMapped if mapped else self._cuda.cudaHostAllocDefault
        address = self._made("cudaFreeHost", "cudaHostAlloc", size_bytes, flags)
        return HostMemory(address, int(self._call("cudaHostGetDevicePointer", address, 0)) if mapped else None)

    def upload(self, to: int, source: int, size_bytes: int) -> None:
        """Copy any memory of the host to the device, and wait for it."""
        self._call("cudaMemcpyAsync", to, source, size_bytes, self._copy, self._set_up)
        self._wait(self._set_up)

    def download(self, to: int, source: int, size_bytes: int) -> None:
        """Copy from the device to any memory of the host, after everything that was put on streams made here."""
        self.settle()
        self._call("cudaMemcpyAsync", to, source, size_bytes, self._copy, self._set_up)
        self._wait(self._set_up)

    def free_bytes(self) -> int:
        """Memory of the device that nobody uses now, or that whoever asks is given: the host's caches, where it is one.

        Of shared memory CUDA counts only what was never touched, which is next to nothing once files were read.
        """
        free_bytes, _ = self._call("cudaMemGetInfo")
        available = machine_memory_bytes()[0] if self.device.integrated else None
        return max(int(free_bytes), available or 0)

    def begin_recording(self, stream: Stream) -> None:
        """What this thread puts on the stream is recorded, and not done, until `end_recording`."""
        self._call("cudaStreamBeginCapture", stream, self._cuda.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal)

    def end_recording(self, stream: Stream) -> Sequence:
        """What was recorded, ready to be launched. Where it raises, `abandon_recording` is still to be called."""
        graph = self._call("cudaStreamEndCapture", stream)
        try:
            sequence = Sequence(self._made(_FORGET, "cudaGraphInstantiate", graph, 0))
        finally:
            self._call("cudaGraphDestroy", graph)
        self._call("cudaGraphUpload", sequence, stream)
        return sequence

    def abandon_recording(self, stream: Stream) -> None:
        """Leave a recording that failed, however far it came; the stream does again what is put on it."""
        error, graph = self._cuda.cudaStreamEndCapture(stream)
        if int(error) == 0:
            self._call("cudaGraphDestroy", graph)
        self._cuda.cudaGetLastError()  # or the next library to ask takes it for its own failure

    def settle(self) -> None:
        """Wait for what was put on streams made here. Raises `DeviceLostError` when some of it failed."""
        self._wait(*self._own_streams)

    def end_work(self) -> None:
        """Wait for all streams and give back what was recorded, so that what it ran may go; idempotent."""
        self._give_back([each for each in self._undo if each[0] == _FORGET])

    def close(self) -> None:
        """Wait for all streams and give everything back, the latest first; idempotent."""
        self._give_back(list(self._undo))

    # -- work, in the order of its stream ---------------------------------------------------------------------------

    def launch(self, sequence: Sequence, stream: Stream) -> None:
        """Do what was recorded."""
        self._call("cudaGraphLaunch", sequence, stream)

    def copy(self, to: int, source: int, size_bytes: int, stream: Stream) -> None:
        """Copy within the device, or between it and host memory of `allocate_host`."""
        self._call("cudaMemcpyAsync", to, source, size_bytes, self._copy, stream)

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, stream: Stream
    ) -> None:
        """Copy rows of `width` bytes that lie `..._pitch` bytes apart."""
        self._call("cudaMemcpy2DAsync", to, to_pitch, source, source_pitch, width, rows, self._copy, stream)

    def copy_blocks(
        self, to: int, to_pitch: int, to_rows: int, source: int, source_pitch: int, source_rows: int,
        width: int, rows: int, blocks: int, stream: Stream,
    ) -> None:  # fmt: skip
        """`copy_rows` for several blocks of rows; blocks lie `..._rows` rows apart."""
        cuda, what = self._cuda, self._cuda.cudaMemcpy3DParms()
        what.srcPtr = cuda.make_cudaPitchedPtr(source, source_pitch, width, source_rows)
        what.dstPtr = cuda.make_cudaPitchedPtr(to, to_pitch, width, to_rows)
        what.extent = cuda.make_cudaExtent(width, rows, blocks)
        what.kind = self._copy
        self._call("cudaMemcpy3DAsync", what, stream)

    def clear(self, address: int, size_bytes: int, stream: Stream) -> None:
        """Fill with zeros."""
        self._call("cudaMemsetAsync", address, 0, size_bytes, stream)

    def clear_rows(self, address: int, pitch: int, width: int, rows: int, stream: Stream) -> None:
        """Fill rows of `width` bytes that lie `pitch` bytes apart with zeros."""
        self._call("cudaMemset2DAsync", address, pitch, 0, width, rows, stream)

    def record(self, event: Event, stream: Stream) -> None:
        """The event happens when all that is on the stream now is done."""
        self._call("cudaEventRecord", event, stream)

    def wait(self, stream: Stream, event: Event) -> None:
        """What comes later on the stream waits for the event, as it was recorded last; the host does not."""
        self._call("cudaStreamWaitEvent", stream, event, 0)

    def synchronize(self, event: Event) -> None:
        """Wait, asleep, until the event has happened. Raises `DeviceLostError` when work before it failed."""
        self._call("cudaEventSynchronize", event)

    # -- inside -----------------------------------------------------------------------------------------------------

    @cached_property
    def _set_up(self) -> Stream:
        """For what is waited for at once."""
        return self.stream(urgent=False)

    @property
    def _own_streams(self) -> list[Stream]:
        return [Stream(handle) for function, handle in self._undo if function == _END_STREAM]

    def _wait(self, *streams: Stream) -> None:
        """Never for the device as a whole: CUDA forbids that while any stream of the process is being recorded."""
        for stream in streams:
            self._call("cudaStreamSynchronize", stream)

    @property
    def _non_blocking(self) -> int:
        return int(self._cuda.cudaStreamNonBlocking)

    def _describe(self) -> DeviceInfo:
        def attribute(name: str) -> int:
            return int(self._call("cudaDeviceGetAttribute", getattr(self._cuda.cudaDeviceAttr, name), _DEVICE))

        properties = self._call("cudaGetDeviceProperties", _DEVICE)
        major, minor = attribute("cudaDevAttrComputeCapabilityMajor"), attribute("cudaDevAttrComputeCapabilityMinor")
        return DeviceInfo(
            name=properties.name.decode(errors="replace").rstrip("\0 "),
            architecture=f"sm_{major}{minor}",
            integrated=attribute("cudaDevAttrIntegrated") == 1 and attribute("cudaDevAttrCanMapHostMemory") == 1,
            memory_bytes=int(properties.totalGlobalMem),
        )

    def _give_back(self, undo: list[tuple[str, int]]) -> None:
        """A broken device is left as it is."""
        try:
            self._wait(*self._own_streams)
            for function, handle in reversed(undo):
                self._undo.remove((function, handle))
                self._call(function, handle)
        except DeviceError:
            return  # its memory goes with the process

    def _made(self, undo: str, function: str, *arguments: Any) -> int:
        handle = int(self._call(function, *arguments))
        self._undo.append((undo, handle))
        return handle

    def _call(self, function: str, *arguments: Any) -> Any:
        try:
            error, *values = getattr(self._cuda, function)(*arguments)
        except RuntimeError as lacking:  # cuda-python before 12.9, where the driver is missing or lacks a function
            raise DeviceLostError(f"CUDA failed in {function}: {lacking}; {_NO_DRIVER}") from lacking
        if int(error) != 0:
            raise DeviceLostError(self._explain(function, error))
        return values[0] if len(values) == 1 else values

    def _explain(self, function: str, error: Any) -> str:
        name = self._cuda.cudaGetErrorName(error)[1].decode()
        text = self._cuda.cudaGetErrorString(error)[1].decode()
        return f"CUDA failed in {function}: {text} ({name}); {_REMEDIES.get(name, self._otherwise)}"


@cache
def _complain_if_old() -> None:
    """Say, once, that the whole program will stand still in every frame, where cuda-python is too old."""
    try:
        found = metadata.version("cuda-bindings")
    except metadata.PackageNotFoundError:
        return
    if tuple(int(part) for part in re.findall(r"\d+", found)[:3]) < _LEAST:
        told = "cuda-python %s holds up the whole program whenever it waits for the GPU; install %s or later"
        _log.warning(told, found, ".".join(map(str, _LEAST)))
