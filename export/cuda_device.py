"""The CUDA runtime, as far as a build needs it: what the GPU is, and memory to try an engine in.

Purpose: a thin border. Knows: cuda-python's `cuda.bindings.runtime`, 12.6 and later. Does not know: engines.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from cuda.bindings import runtime as cuda

from export.build_door import Gpu
from export.errors import BuildError
from export.tensorrt_trouble import NO_GPU, why_failed


def first_gpu() -> Gpu:
    """The GPU that CUDA calls number 0; asking how much memory is free opens it. Raises `BuildError` for none."""
    error, count = cuda.cudaGetDeviceCount()
    if error != cuda.cudaError_t.cudaSuccess or count < 1:
        raise BuildError(NO_GPU)
    found = _given(cuda.cudaGetDeviceProperties(0))
    free, total = _given(cuda.cudaMemGetInfo())
    return Gpu(
        name=found.name.decode(errors="replace").rstrip("\0 "),
        capability=(found.major, found.minor),
        free_bytes=free,
        total_bytes=total,
    )


class DeviceMemory:
    """Named pieces of device memory and one stream; everything waits for its end, since nothing here is in a hurry."""

    def __init__(self) -> None:
        self.stream: int = int(_given(cuda.cudaStreamCreate()))
        self._pieces: dict[str, tuple[int, int]] = {}

    def room(self, name: str, nbytes: int) -> int:
        """The address of a piece of at least so many bytes; what was in a smaller one is lost."""
        address, size = self._pieces.get(name, (0, 0))
        if size < max(nbytes, 1):
            if address:
                _given(cuda.cudaFree(address))
            address = int(_given(cuda.cudaMalloc(max(nbytes, 1))))
            self._pieces[name] = (address, max(nbytes, 1))
        return address

    def upload(self, name: str, array: npt.NDArray[Any]) -> int:
        """Bring a contiguous array over; returns its address."""
        address = self.room(name, array.nbytes)
        _given(cuda.cudaMemcpy(address, array.ctypes.data, array.nbytes, cuda.cudaMemcpyKind.cudaMemcpyHostToDevice))
        return address

    def download(self, name: str, into: npt.NDArray[Any]) -> None:
        """Fill a contiguous array from a piece."""
        kind = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        _given(cuda.cudaMemcpy(into.ctypes.data, self._pieces[name][0], into.nbytes, kind))

    def wait(self) -> None:
        """Until everything on the stream is done."""
        _given(cuda.cudaStreamSynchronize(self.stream))

    def close(self) -> None:
        """Give everything back."""
        for address, _ in self._pieces.values():
            _given(cuda.cudaFree(address))
        self._pieces.clear()
        _given(cuda.cudaStreamDestroy(self.stream))


def _given(answer: tuple[Any, ...]) -> Any:
    """What a call returned beside its error. Raises `BuildError` for an error."""
    error, *values = answer
    if error != cuda.cudaError_t.cudaSuccess:
        raise BuildError(why_failed("or try an engine", [f"CUDA: {error.name}"]))
    return values[0] if len(values) == 1 else tuple(values)
