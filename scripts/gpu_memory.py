"""The device's memory for one case of `scripts/gpu_check`: how much is taken, and how fast it is.

Knows: NVML through `app.nvml`, CUDA through `engines.cuda_api`. Does not know: engines.
"""

from __future__ import annotations

import time
from typing import Any

from app.nvml import read_gpu
from engines.cuda_api import CudaApi
from engines.errors import DeviceError, SpeechError


class MemoryWatch:
    """What is taken on the device from now on. To be made before this process makes its first call to CUDA."""

    def __init__(self) -> None:
        """NVML sees everything; without it CUDA is asked, whose own context is there by then and not counted."""
        self._read = _nvml_used_mb if _nvml_used_mb() is not None else _cuda_used_mb
        self._before_mb = self._read()

    def found(self) -> dict[str, Any]:
        """`memory_mb` more than before, by anybody; empty where nobody tells."""
        now_mb = self._read()
        if self._before_mb is None or now_mb is None:
            return {}
        counted = self._read is _nvml_used_mb
        return {"memory_mb": now_mb - self._before_mb, **({} if counted else {"memory_without_context": True})}


def _nvml_used_mb() -> float | None:
    gpu = read_gpu()
    return None if gpu is None or gpu.memory_used_bytes is None else gpu.memory_used_bytes / 1e6


def _cuda_used_mb() -> float | None:
    try:
        cuda = CudaApi()
        return (cuda.device.memory_bytes - cuda.free_bytes()) / 1e6
    except SpeechError:
        return None


def copy_bandwidth_gb_s(size_bytes: int = 1 << 28, copies: int = 20) -> float | None:
    """Bytes read and written a second, GB/s; for devices without PyTorch. None where the memory is not there."""
    cuda = CudaApi()
    try:
        source, target = cuda.allocate(size_bytes), cuda.allocate(size_bytes)
    except DeviceError:
        cuda.close()
        return None
    stream = cuda.stream(urgent=False)
    cuda.copy(target, source, size_bytes, stream)
    cuda.settle()
    began = time.perf_counter()
    for _ in range(copies):
        cuda.copy(target, source, size_bytes, stream)
    cuda.settle()
    took_s = time.perf_counter() - began
    cuda.close()
    return 2 * size_bytes * copies / took_s / 1e9
