"""The GPU, as far as a build needs it: what it is, and memory to try an engine in.

Purpose: engines' border to CUDA in the words of a build. Knows: `engines.cuda_api`. Does not know: TensorRT, engines.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from engines.cuda_api import CudaApi
from engines.errors import SpeechError
from export.build_door import Gpu
from export.errors import BuildError


def first_gpu() -> Gpu:
    """The GPU that the runtime would use. Raises `BuildError` for none."""
    try:
        cuda = CudaApi()
        free_bytes = cuda.free_bytes()
    except SpeechError as error:
        raise BuildError(f"engines are built on the GPU that runs them: {error}") from error
    device = cuda.device
    return Gpu(name=device.name, architecture=device.architecture, free_bytes=free_bytes)


class DeviceMemory:
    """Named pieces of the device's memory, and a stream. Nothing here is in a hurry. Raises `DeviceError`."""

    def __init__(self) -> None:
        self._cuda = CudaApi()
        self.stream = self._cuda.stream(urgent=False)
        self._pieces: dict[str, tuple[int, int]] = {}

    def room(self, name: str, size_bytes: int) -> int:
        """The address of a piece of at least so many bytes; what was in a smaller one is lost."""
        address, size = self._pieces.get(name, (0, 0))
        if size < max(size_bytes, 1):
            address = self._cuda.allocate(max(size_bytes, 1))
            self._pieces[name] = (address, max(size_bytes, 1))
        return address

    def upload(self, name: str, array: npt.NDArray[Any]) -> int:
        """Bring a contiguous array over; returns its address."""
        address = self.room(name, array.nbytes)
        self._cuda.upload(address, array.ctypes.data, array.nbytes)
        return address

    def download(self, name: str, into: npt.NDArray[Any]) -> None:
        """Fill a contiguous array from a piece, once everything before is done."""
        self._cuda.download(into.ctypes.data, self._pieces[name][0], into.nbytes)

    def close(self) -> None:
        """Give everything back."""
        self._cuda.close()
