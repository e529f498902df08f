"""A desktop's NVIDIA GPU, by NVIDIA's management library.

Purpose: one reading of the GPU in use through `pynvml` (package `nvidia-ml-py`), which is optional and imported late.
Knows: NVML's calls and their units. Does not know: metrics, what a reading means. To be called off the event loop. Not
yet seen on a device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from app.sensors import GpuClock

_T = TypeVar("_T")

_SLOWED: Final = {
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "heat",
    0x0000000000000040: "heat (hardware)",
    0x0000000000000080: "power brake",
}
"""Bits of nvmlClocksEventReasons that mean trouble. The power limit is not among them: a busy desktop GPU touches it
all the time, and what that costs shows in the measured times."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One look at a GPU; None is what it does not tell."""

    name: str
    driver: str | None
    temperature_c: float | None
    power_w: float | None
    load: float | None
    """Share of the time that it is busy, 0 to 1."""
    clock: GpuClock | None
    slowed: tuple[str, ...]
    """Why it runs slower than it could; empty when it does not."""
    memory_used_bytes: int | None
    memory_total_bytes: int | None


def read_gpu() -> GpuReading | None:
    """The GPU in use; None without one, or without NVML. Loads the library once."""
    library = _library()
    if library is None:
        return None
    try:
        handle = _card(library)
    except library.NVMLError:
        return None

    def ask(question: Callable[[], _T]) -> _T | None:
        try:
            return question()
        except library.NVMLError:  # not every device answers every question
            return None

    memory = ask(lambda: library.nvmlDeviceGetMemoryInfo(handle))
    load = ask(lambda: library.nvmlDeviceGetUtilizationRates(handle).gpu)
    milliwatts = ask(lambda: library.nvmlDeviceGetPowerUsage(handle))
    return GpuReading(
        name=_word(ask(lambda: library.nvmlDeviceGetName(handle))) or "NVIDIA GPU",
        driver=_word(ask(library.nvmlSystemGetDriverVersion)),
        temperature_c=ask(lambda: float(library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU))),
        power_w=None if milliwatts is None else milliwatts / 1000,
        load=None if load is None else load / 100,
        clock=ask(lambda: _clock(library, handle)),
        slowed=_reasons(ask(lambda: int(library.nvmlDeviceGetCurrentClocksThrottleReasons(handle))) or 0),
        memory_used_bytes=None if memory is None else int(memory.used),
        memory_total_bytes=None if memory is None else int(memory.total),
    )


def _card(library: Any) -> Any:
    """The GPU that this process works on, else the first: CUDA begins with the fastest, NVML with the first slot, and
    only their processes tell which is which. Raises `NVMLError` without one."""
    for index in range(1, library.nvmlDeviceGetCount()):
        with suppress(library.NVMLError):
            card = library.nvmlDeviceGetHandleByIndex(index)
            if any(process.pid == os.getpid() for process in library.nvmlDeviceGetComputeRunningProcesses(card)):
                return card
    return library.nvmlDeviceGetHandleByIndex(0)


def _clock(library: Any, handle: Any) -> GpuClock:
    now = library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM)
    most = library.nvmlDeviceGetMaxClockInfo(handle, library.NVML_CLOCK_SM)
    return GpuClock(now * 1e6, most * 1e6, most * 1e6)


def _reasons(bits: int) -> tuple[str, ...]:
    return tuple(reason for bit, reason in _SLOWED.items() if bits & bit)


def _word(answer: str | bytes | None) -> str | None:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer


@cache
def _library() -> Any:
    """`pynvml`, initialised; None where there is no such package or no driver."""
    try:
        import pynvml  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
