"""A stand-in for cuda-python's `cuda.bindings.driver`, which keeps what it was asked."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest

from engines.cuda_memory import ALIGNMENT

_L2 = "L2_CACHE_SIZE"


class Error(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_STUB_LIBRARY = 34
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_SYSTEM_NOT_READY = 802
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_UNKNOWN = 999


class Driver(types.ModuleType):
    """cuda.bindings.driver: every call succeeds with a number, unless told otherwise."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.driver")
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.errors: dict[str, Error] = {}
        self.integrated = 0
        self.CUmemorytype = types.SimpleNamespace(CU_MEMORYTYPE_UNIFIED=4)
        self.CUstreamCaptureMode = types.SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL=1)
        self.CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
        self.CUevent_flags = types.SimpleNamespace(CU_EVENT_BLOCKING_SYNC=1, CU_EVENT_DISABLE_TIMING=2)
        self.CU_MEMHOSTALLOC_DEVICEMAP = 2
        self.CUDA_MEMCPY3D = types.SimpleNamespace
        names = ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "INTEGRATED", "CAN_MAP_HOST_MEMORY", _L2)
        self.CUdevice_attribute = types.SimpleNamespace(**{f"CU_DEVICE_ATTRIBUTE_{name}": name for name in names})
        self._next = 4096

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: self._call(name, *arguments)

    def _call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        self.calls.append((name, arguments))
        error = self.errors.get(name, Error.CUDA_SUCCESS)
        self._next += ALIGNMENT
        attributes = {
            "COMPUTE_CAPABILITY_MAJOR": 8, "COMPUTE_CAPABILITY_MINOR": 7, "INTEGRATED": self.integrated, _L2: 60 << 20,
        }  # fmt: skip
        answers: dict[str, tuple[Any, ...]] = {
            "cuGetErrorName": (Error(arguments[0]).name.encode() if name == "cuGetErrorName" else b"",),
            "cuGetErrorString": (b"words of the driver",),
            "cuDeviceGet": (0,),
            "cuDevicePrimaryCtxRetain": ("context",),
            "cuCtxGetStreamPriorityRange": (0, -5),
            "cuMemGetInfo": (3_000_000, 8_000_000),
            "cuDeviceGetName": (b"Orin\0\0",),
            "cuDeviceTotalMem": (8_000_000,),
            "cuDeviceGetAttribute": (attributes.get(str(arguments[0]) if arguments else "", 1),),
        }
        return error, *answers.get(name, (self._next,))

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.calls if called == name]


def install(made: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if cuda-python were this."""
    package = types.ModuleType("cuda.bindings")
    package.driver = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", package)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", made)
