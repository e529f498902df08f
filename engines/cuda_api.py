"""The border to CUDA: every call of this program to it goes through here.

Purpose: streams, events, memory, copies and recorded sequences of work, as plain numbers and exceptions. Knows:
cuda-python (its layout since 12.6, in 13 too) and what its errors mean for people. Does not know: TensorRT, what the
memory holds. Tests put another one in its place, which records the calls.

It speaks to the driver itself: on a Jetson, whose driver is as old as its JetPack, the CUDA runtime that cuda-python
brings would refuse any driver older than itself (12.9 that of JetPack 6).

Streams, events and sequences are the driver's handles as integers. After the set-up nothing but `synchronize` waits,
and that for one event; before it only streams made here are waited for, since another voice may be recording. Threads
may share it; each call is CUDA's own, which takes care of that.
"""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from typing import Any, Final, NewType

from engines import cuda_errors
from engines.errors import DeviceError, DeviceLostError, GpuError
from engines.machine_memory import machine_memory_bytes

Stream = NewType("Stream", int)
Event = NewType("Event", int)
Sequence = NewType("Sequence", int)
"""A recorded sequence of work, launched at once (a CUDA graph)."""

_LONGEST_NAME: Final = 256
_END_STREAM: Final = "cuStreamDestroy"
_FORGET: Final = "cuGraphExecDestroy"
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
            from cuda.bindings import driver
        except ImportError as error:
            raise GpuError(f"cuda-python is missing ({error}); install speakd with its extra `tensorrt`") from error
        _complain_if_old()
        self._cuda: Any = driver
        self._otherwise = cuda_errors.NOT_STARTED
        self._entered = threading.local()
        try:
            self._answer("cuInit", 0)
            self._device = self._answer("cuDeviceGet", 0)
            # the one in which TensorRT and ONNX Runtime work too, so it is never given back
            self._context = self._answer("cuDevicePrimaryCtxRetain", self._device)
            self.device = self._describe()
            _, self._urgent = self._call("cuCtxGetStreamPriorityRange")
        except DeviceError as error:
            raise GpuError(str(error)) from error
        self._otherwise = cuda_errors.STICKY
        self._undo: list[tuple[str, int]] = []

    # -- set-up: what is made here is given back by `close` ---------------------------------------------------------

    def attribute(self, name: str) -> int:
        """What the driver knows of the device by that name, such as "L2_CACHE_SIZE"."""
        what = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._answer("cuDeviceGetAttribute", what, self._device))

    def stream(self, *, urgent: bool) -> Stream:
        """A stream of its own; work of an urgent one goes first on the device."""
        priority = self._urgent if urgent else 0
        flags = int(self._cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
        return Stream(self._made(_END_STREAM, "cuStreamCreateWithPriority", flags, priority))

    def event(self) -> Event:
        """An event that was not recorded yet. Who waits for it sleeps."""
        kinds = self._cuda.CUevent_flags
        flags = int(kinds.CU_EVENT_BLOCKING_SYNC) | int(kinds.CU_EVENT_DISABLE_TIMING)
        return Event(self._made("cuEventDestroy", "cuEventCreate", flags))

    def allocate(self, size_bytes: int) -> int:
        """The address of zeroed memory of the device. Raises `DeviceError` where there is not enough."""
        try:
            address = self._made("cuMemFree", "cuMemAlloc", size_bytes)
        except DeviceError as error:
            sizes = f"{size_bytes / 1e6:.0f} MB were asked for, {self.free_bytes() / 1e6:.0f} MB are free"
            raise DeviceError(f"{error} ({sizes})") from error
        self.clear(address, size_bytes, self._set_up)
        self._wait(self._set_up)
        return address

    def allocate_host(self, size_bytes: int) -> HostMemory:
        """Memory of the host, never paged out, mapped where the device shares it. Not zeroed."""
        mapped = self.device.integrated
        flags = self._cuda.CU_MEMHOSTALLOC_DEVICEMAP if mapped else 0
        address = self._made("cuMemFreeHost", "cuMemHostAlloc", size_bytes, flags)
        return HostMemory(address, int(self._call("cuMemHostGetDevicePointer", address, 0)) if mapped else None)

    def upload(self, to: int, source: int, size_bytes: int) -> None:
        """Copy any memory of the host to the device, and wait for it."""
        self.copy(to, source, size_bytes, self._set_up)
        self._wait(self._set_up)

    def download(self, to: int, source: int, size_bytes: int) -> None:
        """Copy from the device to any memory of the host, after everything that was put on streams made here."""
        self.settle()
        self.copy(to, source, size_bytes, self._set_up)
        self._wait(self._set_up)

    def free_bytes(self) -> int:
        """Memory of the device that nobody uses now, or that whoever asks is given: the host's caches, where it is one.

        Of shared memory CUDA counts only what was never touched, which is next to nothing once files were read.
        """
        free_bytes, _ = self._call("cuMemGetInfo")
        available = machine_memory_bytes()[0] if self.device.integrated else None
        return max(int(free_bytes), available or 0)

    def begin_recording(self, stream: Stream) -> None:
        """What this thread puts on the stream is recorded, and not done, until `end_recording`."""
        self._call("cuStreamBeginCapture", stream, self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)

    def end_recording(self, stream: Stream) -> Sequence:
        """What was recorded, ready to be launched. Where it raises, `abandon_recording` is still to be called."""
        graph = self._call("cuStreamEndCapture", stream)
        try:
            sequence = Sequence(self._made(_FORGET, "cuGraphInstantiate", graph, 0))
        finally:
            self._call("cuGraphDestroy", graph)
        self._call("cuGraphUpload", sequence, stream)
        return sequence

    def abandon_recording(self, stream: Stream) -> None:
        """Leave a recording that failed, however far it came; the stream does again what is put on it."""
        error, graph = self._cuda.cuStreamEndCapture(stream)
        if int(error) == 0:
            self._call("cuGraphDestroy", graph)

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
        self._call("cuGraphLaunch", sequence, stream)

    def copy(self, to: int, source: int, size_bytes: int, stream: Stream) -> None:
        """Copy within the device, or between it and host memory of `allocate_host`."""
        self._call("cuMemcpyAsync", to, source, size_bytes, stream)

    def copy_rows(
        self, to: int, to_pitch: int, source: int, source_pitch: int, width: int, rows: int, stream: Stream
    ) -> None:
        """Copy rows of `width` bytes that lie `..._pitch` bytes apart."""
        self.copy_blocks(to, to_pitch, rows, source, source_pitch, rows, width, rows, 1, stream)

    def copy_blocks(
        self, to: int, to_pitch: int, to_rows: int, source: int, source_pitch: int, source_rows: int,
        width: int, rows: int, blocks: int, stream: Stream,
    ) -> None:  # fmt: skip
        """`copy_rows` for several blocks of rows; blocks lie `..._rows` rows apart."""
        what, anywhere = self._cuda.CUDA_MEMCPY3D(), self._cuda.CUmemorytype.CU_MEMORYTYPE_UNIFIED
        what.srcMemoryType = what.dstMemoryType = anywhere
        what.srcDevice, what.srcPitch, what.srcHeight = source, source_pitch, source_rows
        what.dstDevice, what.dstPitch, what.dstHeight = to, to_pitch, to_rows
        what.WidthInBytes, what.Height, what.Depth = width, rows, blocks
        self._call("cuMemcpy3DAsync", what, stream)

    def clear(self, address: int, size_bytes: int, stream: Stream) -> None:
        """Fill with zeros."""
        self._call("cuMemsetD8Async", address, 0, size_bytes, stream)

    def clear_rows(self, address: int, pitch: int, width: int, rows: int, stream: Stream) -> None:
        """Fill rows of `width` bytes that lie `pitch` bytes apart with zeros."""
        self._call("cuMemsetD2D8Async", address, pitch, 0, width, rows, stream)

    def record(self, event: Event, stream: Stream) -> None:
        """The event happens when all that is on the stream now is done."""
        self._call("cuEventRecord", event, stream)

    def wait(self, stream: Stream, event: Event) -> None:
        """What comes later on the stream waits for the event, as it was recorded last; the host does not."""
        self._call("cuStreamWaitEvent", stream, event, 0)

    def synchronize(self, event: Event) -> None:
        """Wait, asleep, until the event has happened. Raises `DeviceLostError` when work before it failed."""
        self._call("cuEventSynchronize", event)

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
            self._call("cuStreamSynchronize", stream)

    def _describe(self) -> DeviceInfo:
        name = self._answer("cuDeviceGetName", _LONGEST_NAME, self._device)
        major, minor = (self.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        return DeviceInfo(
            name=name.decode(errors="replace").split("\0")[0].strip(),
            architecture=f"sm_{major}{minor}",
            integrated=self.attribute("INTEGRATED") == 1 and self.attribute("CAN_MAP_HOST_MEMORY") == 1,
            memory_bytes=int(self._answer("cuDeviceTotalMem", self._device)),
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
        """What the driver answers in the device's context, which every thread has to enter once."""
        if not hasattr(self._entered, "here"):
            self._answer("cuCtxSetCurrent", self._context)
            self._entered.here = True
        return self._answer(function, *arguments)

    def _answer(self, function: str, *arguments: Any) -> Any:
        try:
            error, *values = getattr(self._cuda, function)(*arguments)
        except RuntimeError as lacking:  # the driver is missing or lacks a function
            raise DeviceLostError(f"CUDA failed in {function}: {lacking}; {cuda_errors.NO_DRIVER}") from lacking
        except (KeyError, ValueError) as new:  # a younger driver's
            raise DeviceLostError(f"CUDA failed in {function}: {cuda_errors.NEW} ({new}); {self._otherwise}") from new
        if int(error) != 0:
            raise DeviceLostError(self._explain(function, error))
        return values[0] if len(values) == 1 else values

    def _explain(self, function: str, error: Any) -> str:
        name = self._cuda.cuGetErrorName(error)[1].decode()
        text = self._cuda.cuGetErrorString(error)[1].decode()
        return f"CUDA failed in {function}: {text} ({name}); {cuda_errors.REMEDIES.get(name, self._otherwise)}"


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
