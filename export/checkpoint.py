"""Tensors of an official checkpoint, each asked for by name and shape, none overlooked.

Purpose: read `.safetensors` piece by piece, check what is read, and remember what was not.
Knows: file format, names that decoding never needs. Does not know: graphs, quantisation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from export.errors import CheckpointError

Array = npt.NDArray[np.float32]

# Tensors of an official checkpoint that turning text into speech never touches.
UNNEEDED: Final = re.compile(
    r"speaker_encoder\..*"  # reference audio -> speaker vector (Base)
    r"|encoder\..*"  # speech tokenizer: audio -> codes
    r"|decoder\.quantizer\.rvq_(first|rest)\.input_proj\.weight"  # only the encoder quantises
    r"|decoder\.quantizer\.rvq_(first|rest)\.vq\.layers\.\d+\._codebook\.(initialized|inited)"
)
_LFS: Final = b"version https://git-lfs"
FLOATS: Final = ("F32", "F16", "BF16", "F64")


class TensorSource(Protocol):
    """Where the networks take their tensors from; see `TensorFile` for what each word promises."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor that must be there."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        ...

    def claim(self, name: str, shape: tuple[int, ...]) -> None:
        """Check that a tensor is there and of this shape, and count it as used."""
        ...

    def read(self, name: str) -> Array:
        """The tensor as float32."""
        ...


class TensorFile:
    """One `.safetensors` file, read tensor by tensor as float32.

    Raises `CheckpointError` by file when it cannot be read, by tensor name when one is missing or of another shape.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            file: Any = safe_open(path, framework="numpy")
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{path} cannot be read as safetensors: {_cause(path) or error}") from error
        self._file = file
        self._names: set[str] = set(file.keys())
        self._used: set[str] = set()

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor that must be there."""
        if name not in self._names:
            raise CheckpointError(f"{self.path}: tensor {name} is missing")
        return tuple(self._file.get_slice(name).get_shape())

    def has(self, name: str) -> bool:
        """Whether the file holds a tensor of this name."""
        return name in self._names

    def claim(self, name: str, shape: tuple[int, ...]) -> None:
        """Check that a tensor is there, in floating point and of this shape, and count it as used."""
        found = self.shape(name)
        if found != shape:
            raise CheckpointError(f"{self.path}: tensor {name} has shape {list(found)}, expected {list(shape)}")
        kind = self._file.get_slice(name).get_dtype()
        if kind not in FLOATS:
            raise CheckpointError(
                f"{self.path}: tensor {name} is stored as {kind}, expected one of {', '.join(FLOATS)}"
            )
        self._used.add(name)

    def read(self, name: str) -> Array:
        """The tensor as float32, copied out of the file; `claim` it first."""
        self.shape(name)  # says by name what the library calls a missing entry
        values: Array = self._file.get_tensor(name).astype(np.float32)
        if not np.isfinite(values).all():
            raise CheckpointError(f"{self.path}: tensor {name} holds values that are not finite")
        return values

    def read_rows(self, name: str, start: int, stop: int) -> Array:
        """Rows [start, stop) as float32."""
        rows: Array = self._file.get_slice(name)[start:stop].astype(np.float32)
        return rows

    def unused(self) -> tuple[str, ...]:
        """Names nobody claimed, in order; raises `CheckpointError` for one that is not known to be unneeded."""
        left = sorted(self._names - self._used)
        for name in left:
            if not UNNEEDED.fullmatch(name):
                raise CheckpointError(
                    f"{self.path}: tensor {name} is unknown; exporting without it would change how the voice sounds"
                )
        return tuple(left)


def _cause(path: Path) -> str:
    """What is wrong with a file that is none, where more is known than its reader says."""
    if not path.exists():
        parts = len(list(path.parent.glob(f"{path.stem}-*-of-*{path.suffix}")))
        return f"it is in {parts} parts; load and save it as one (max_shard_size of save_pretrained)" if parts else ""
    try:
        with path.open("rb") as file:
            start = file.read(1024)
    except OSError as error:  # its reader says of what may not be read that it is not there
        return error.strerror or str(error)
    if len(start) < 1024 and start.startswith(_LFS):
        return f"it only says where Git LFS has the file; run `git lfs pull` in {path.parent}"
    return ""
