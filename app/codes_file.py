"""The codes of a run, in a file.

Purpose: `CodesFile`: `.npy`, int32 [frames, codebooks], written aside and renamed; a pipe or a device is written to as
it is. Knows: paths, NumPy's file format. Does not know: where codes come from.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np

from app.file_sink import is_special
from app.sink import SinkError
from engines.contract import Codes


class CodesFile:
    """A file for codes. Refuses at once a place nothing can be written to."""

    def __init__(self, path: Path) -> None:
        self._special = is_special(path)
        self._path = path if self._special else path.resolve()
        parent = self._path.parent
        if self._special:
            return
        if not parent.is_dir() or self._path.is_dir() or not os.access(parent, os.W_OK):
            raise SinkError(f"cannot write the codes to '{path}': no file can be created there")

    def write(self, codes: Codes) -> None:
        """Write all codes. Blocks. Raises `SinkError`, and then leaves nothing."""
        part = self._path if self._special else self._path.with_name(self._path.name + ".part")
        data = io.BytesIO()  # NumPy itself asks a file where it stands, which a pipe cannot say
        np.save(data, codes, allow_pickle=False)
        try:
            with part.open("wb") as file:
                file.write(data.getbuffer())
            if not self._special:
                part.replace(self._path)
        except OSError as error:
            if not self._special:
                part.unlink(missing_ok=True)
            raise SinkError(f"cannot write the codes to '{self._path}': {error.strerror or error}") from error
