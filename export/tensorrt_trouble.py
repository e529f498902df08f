"""What TensorRT's complaints mean, and what helps.

Purpose: from the errors a builder logged to one sentence with the remedy. Knows: words of TensorRT's and CUDA's
messages. Does not know: the library itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

NOT_INSTALLED: Final = (
    "TensorRT is not installed here: on a desktop `pip install 'tensorrt>=10.3' 'cuda-python>=12.9.1'`, on a Jetson the"
    " packages tensorrt and python3-libnvinfer of JetPack, and an environment that sees the system's Python packages"
)
NO_GPU: Final = (
    "TensorRT finds no GPU it can use: `nvidia-smi` must show one (on a Jetson `tegrastats`), with a driver that"
    " this TensorRT supports; engines are built on the device that runs them"
)
_MEMORY: Final = re.compile(
    r"out of memory|OutOfMemory|insufficient (memory|workspace)|cudaErrorMemoryAllocation|MEM_ALLOC_FAILED"
    r"|unable to allocate|failed to allocate|requested amount of GPU memory",
    re.IGNORECASE,
)
_NO_GPU: Final = re.compile(
    r"CPU-only builder|no CUDA-capable device|CUDA initialization failure|driver version is insufficient|cudaError 35"
    r"|Error Code 6: API Usage Error \(CUDA",
    re.IGNORECASE,
)
_TOO_OLD: Final = re.compile(
    r"SM \d+ .*not supported|Target GPU SM \d+|unsupported SM|compute capability", re.IGNORECASE
)
_DISK: Final = re.compile(r"No space left on device", re.IGNORECASE)
_LONGEST: Final = 300


def why_failed(what: str, messages: Sequence[str]) -> str:
    """One sentence on a build of `what` that failed with these messages, the oldest first."""
    said = "\n".join(messages)
    if _MEMORY.search(said):
        return (
            f"the GPU's memory was too small to build {what}: end other programs that use the GPU (the daemon too),"
            " or take fewer slots (--slots), fewer positions, or a lower precision (--precision)"
        )
    if _NO_GPU.search(said):
        return NO_GPU
    if _TOO_OLD.search(said):
        return f"this TensorRT does not support this GPU ({_last(messages)}); take a version that does"
    if _DISK.search(said):
        return f"the disk was full while {what} was built; make room, or choose another directory with --cache"
    return (
        f"TensorRT could not build {what}: {_last(messages)}; another form may build (--attention rows,"
        " --frame stepped, --precision fp16)"
    )


def _last(messages: Sequence[str]) -> str:
    said = " ".join(messages[-1].split()) if messages else "it did not say why"
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
