"""The weights of a bundle: one safetensors file that the graphs point into.

Purpose: collect what the graphs need first (name, dtype, shape, how to make it), decide where each tensor will lie, and
write them one at a time, so that the memory in use stays that of the largest tensor.
Knows: the safetensors layout. Does not know: what the tensors mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from export.errors import ExportError

Make = Callable[[], npt.NDArray[np.generic]]

DTYPES: Final[dict[np.dtype[np.generic], str]] = {
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(np.int64): "I64",
    np.dtype(np.uint8): "U8",
}
PAGE_BYTES: Final = 4096  # the data starts on a page, so that a reader can map it


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor that will be in the payload."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    make: Make

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class Payload:
    """Tensors by name, written as one safetensors file."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], make: Make) -> None:
        """Register a tensor; a name that is there already keeps its first maker (weights are shared by name)."""
        entry = Entry(np.dtype(dtype), shape, make)
        known = self._entries.setdefault(name, entry)
        if (known.dtype, known.shape) != (entry.dtype, entry.shape):
            raise ExportError(f"tensor {name} was registered as {known.dtype}{known.shape}, now {entry.dtype}{shape}")

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(entry.nbytes for entry in self._entries.values())

    def _ordered(self) -> list[tuple[str, Entry]]:
        # widest dtype first keeps every tensor aligned to its own item size without holes
        return sorted(self._entries.items(), key=lambda item: -item[1].dtype.itemsize)

    def _header(self) -> bytes:
        header, start = {}, 0
        for name, entry in self._ordered():
            stop = start + entry.nbytes
            header[name] = {"dtype": DTYPES[entry.dtype], "shape": list(entry.shape), "data_offsets": [start, stop]}
            start = stop
        text = json.dumps(header, separators=(",", ":")).encode()
        return text + b" " * (-(8 + len(text)) % PAGE_BYTES)

    def spans(self) -> dict[str, tuple[int, int]]:
        """Offset and length in the file, in bytes, of every tensor registered so far."""
        start, spans = 8 + len(self._header()), {}
        for name, entry in self._ordered():
            spans[name] = (start, entry.nbytes)
            start += entry.nbytes
        return spans

    def write(self, path: Path, advance: Callable[[int], None]) -> None:
        """Write the file; `advance` is told the bytes of each tensor written."""
        header = self._header()
        with path.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            for name, entry in self._ordered():
                values = entry.make()
                if values.shape != entry.shape or values.dtype != entry.dtype:
                    raise ExportError(f"tensor {name} came out as {values.dtype}{values.shape}, not as announced")
                file.write(np.ascontiguousarray(values).data)
                advance(entry.nbytes)
