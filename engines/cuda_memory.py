"""Memory of a GPU: all of it at once, the largest first, and blocks that the host and the device share.

Purpose: allocate what the stages say they want before anything runs, and nothing afterwards. Knows: names, shapes,
dtypes, alignment. Does not know: what the tensors mean, TensorRT.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.cuda_api import CudaApi, Stream
from engines.runner import Tensor

ALIGNMENT: Final = 256
"""Bytes; where TensorRT wants its tensors to begin."""


@dataclass(frozen=True, slots=True)
class Want:
    """A tensor somebody wants."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike

    @property
    def nbytes(self) -> int:
        """Its size, bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def aligned(size_bytes: int) -> int:
    """The next multiple of `ALIGNMENT`."""
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def allocate(cuda: CudaApi, wants: Mapping[str, Want]) -> dict[str, Tensor]:
    """Zeroed memory of the device for every want, the largest first. Raises `DeviceError` where there is not enough."""
    tensors = {}
    for name, want in sorted(wants.items(), key=lambda item: -item[1].nbytes):
        address = cuda.allocate(max(aligned(want.nbytes), ALIGNMENT))
        tensors[name] = Tensor(want.shape, np.dtype(want.dtype), address, cuda, None)
    return tensors


class SharedBlock:
    """Tensors that the host writes and the device reads, or the other way round, in one piece of pinned memory.

    Where the device has memory of its own, a block of it mirrors the host's, and one copy moves all of them; where it
    shares the host's, there is one block and nothing is moved.
    """

    def __init__(self, cuda: CudaApi, wants: Mapping[str, Want]) -> None:
        """Allocate both sides, zeroed."""
        offsets, self._size = {}, 0
        for name, want in wants.items():
            offsets[name] = self._size
            self._size += aligned(want.nbytes)
        memory = cuda.allocate_host(self._size)
        self._cuda, self._host = cuda, memory.address
        self._mapped = memory.device_address is not None
        self._device = cuda.allocate(self._size) if memory.device_address is None else memory.device_address
        raw = np.ctypeslib.as_array((ctypes.c_uint8 * self._size).from_address(self._host))
        raw.fill(0)
        self.arrays: dict[str, npt.NDArray[Any]] = {}
        """The host's side, by name."""
        self.addresses: dict[str, int] = {}
        """The device's side, by name."""
        for name, want in wants.items():
            start = offsets[name]
            self.arrays[name] = raw[start : start + want.nbytes].view(want.dtype).reshape(want.shape)
            self.addresses[name] = self._device + start

    def send(self, stream: Stream) -> None:
        """Bring the host's side over."""
        if not self._mapped:
            self._cuda.copy(self._device, self._host, self._size, stream)

    def fetch(self, stream: Stream, size_bytes: int | None = None) -> None:
        """Bring the device's side (its first bytes) back."""
        if not self._mapped:
            self._cuda.copy(self._host, self._device, size_bytes or self._size, stream)
