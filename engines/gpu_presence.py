"""Whether an NVIDIA GPU is here, by what the kernel shows: no library is loaded for it.

Purpose: tell a machine without a GPU from one whose GPU cannot be used, so that falling back is explained by its cause.
Knows: the device files of NVIDIA's drivers. Does not know: CUDA, what a GPU can do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from engines.errors import GpuError, NoGpuError

_DEVICES: Final = Path("/dev")
_FILES: Final = ("nvidia[0-9]*", "nvhost-gpu", "nvgpu/igpu0/ctrl", "dxg")
"""Desktops and Thor; Orin before and since its driver's new names; Windows' Linux."""


def check_gpu(devices: Path = _DEVICES) -> None:
    """Raise `NoGpuError` where there is none, `GpuError` where this user may not use it."""
    files = [file for pattern in _FILES for file in sorted(devices.glob(pattern))]
    if not files:
        raise NoGpuError("no NVIDIA GPU is here")
    if not any(os.access(file, os.R_OK | os.W_OK) for file in files):
        raise GpuError(f"this user may not open {files[0]}; add it to the groups video and render")
