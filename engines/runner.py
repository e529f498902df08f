"""The door to whatever runs the graphs.

Purpose: name what the talker and the codec need from a backend: memory, a binding of named tensors to that memory made
once, and a run. Knows: shapes, dtypes, addresses. Does not know: ONNX Runtime, TensorRT, what the graphs compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class Place(Enum):
    """Where a tensor must be reachable."""

    HOST = "host"
    """The host reads or writes it between runs; a backend with a device of its own brings it over around each run."""
    DEVICE = "device"
    """Only graphs touch it (key/value caches, codec states); the host can at most clear it."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Contiguous memory that graphs are bound to; it lives as long as the `owner` it keeps."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    address: int
    """Of its first byte, in the memory where graphs reach it."""
    owner: object
    array: npt.NDArray[Any] | None
    """The same memory for the host; None where the host cannot reach it."""

    @property
    def host(self) -> npt.NDArray[Any]:
        """The memory as an array of `shape`; only for tensors the host can reach.

        Raises `TypeError` for the others.
        """
        if self.array is None:
            raise TypeError("this tensor lives on the device; the host cannot reach it")
        return self.array

    @property
    def nbytes(self) -> int:
        """Its size, bytes."""
        return self.dtype.itemsize * prod(self.shape)

    def rows(self, low: int, high: int) -> Tensor:
        """Rows [low, high) along the first axis: a view of the same memory."""
        stride = self.dtype.itemsize * prod(self.shape[1:])
        view = None if self.array is None else self.array[low:high]
        return Tensor((high - low, *self.shape[1:]), self.dtype, self.address + low * stride, self.owner, view)

    def reshaped(self, *shape: int) -> Tensor:
        """The same memory under another shape of the same size."""
        if prod(shape) != prod(self.shape):
            raise ValueError(f"cannot see {self.shape} as {shape}")
        view = None if self.array is None else self.array.reshape(shape)
        return Tensor(shape, self.dtype, self.address, self.owner, view)


class Binding(Protocol):
    """Named tensors tied to one graph; running it reads the inputs' memory and writes the outputs' memory."""

    def run(self) -> None:
        """Run the graph once and return when its outputs can be read.

        Raises `DeviceError` when the backend fails.
        """
        ...


class Runner(Protocol):
    """One loaded graph."""

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike, place: Place) -> Tensor:
        """Zeroed memory for tensors of this graph; it is never moved and never grows."""
        ...

    def clear(self, tensor: Tensor) -> None:
        """Fill a tensor (or a view of one) with zeros, wherever it lives."""
        ...

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> Binding:
        """Tie tensors to the graph's names; an output may share memory with an input that the graph updates in place.

        Outputs that are left out are not fetched. Raises `BundleError` for a name the graph does not have.
        """
        ...

    def close(self) -> None:
        """Let the graph go; bindings made from it must not be run any more."""
        ...
