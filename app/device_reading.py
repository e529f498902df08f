"""The state of the device the engine runs on, whatever it is.

Purpose: one record out of what the kernel, NVML and jetson-stats tell, and what it means for speed. Knows: which source
goes first. Does not know: metrics, engines. To be called off the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import sensors
from app.jetson_stats import read_jtop
from app.nvml import GpuReading, read_gpu
from app.sensors import GpuClock
from engines.machine_memory import machine_memory_bytes

_SLOWEST: Final = 0.05  # a clock below that is a parked one, not a measure of speed


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """One look; None is what nobody tells."""

    name: str | None
    """Of the board or the GPU."""
    driver: str | None = None
    temperatures_c: dict[str, float]
    power_w: dict[str, float]
    clock: GpuClock | None
    gpu_load: float | None
    """Share of the time that the GPU is busy, 0 to 1."""
    throttled: tuple[str, ...]
    """Why the device is slower than its power mode allows; empty when it is not."""
    power_mode: str | None
    overcurrent_events: int = 0
    memory_available_bytes: int | None
    """Of the GPU, or of the board where they share it."""
    memory_total_bytes: int | None

    @property
    def speed(self) -> float:
        """Share of the GPU's full clock that it has for work, above 0 to 1: the power mode's cap; while it is
        throttled, its clock. 1 where no clock is told. An idle GPU's low clock says nothing and is not counted."""
        if self.clock is None or not self.clock.most_hz:
            return 1.0
        hz = min(self.clock.now_hz, self.clock.limit_hz) if self.throttled else self.clock.limit_hz
        return min(max(hz / self.clock.most_hz, _SLOWEST), 1.0)


def read_device(root: Path = Path("/")) -> DeviceReading:
    """Read all sources. Never raises for what is missing."""
    gpu, sys = read_gpu(), root / "sys"
    temperatures, power, clock = sensors.temperatures_c(sys), sensors.power_w(sys), sensors.gpu_clock(sys)
    load, mode = sensors.gpu_load(sys), sensors.power_mode(root)
    if gpu is not None:
        clock, load = clock or gpu.clock, gpu.load if load is None else load
        temperatures |= {} if gpu.temperature_c is None else {"gpu": gpu.temperature_c}
        power |= {} if gpu.power_w is None else {"gpu": gpu.power_w}
    elif load is None or mode is None:
        more = read_jtop()
        if more is not None:
            load, mode = more.gpu_load if load is None else load, mode or more.power_mode
    available, total = _memory(gpu, root)
    return DeviceReading(
        name=gpu.name if gpu is not None else sensors.board(root),
        driver=None if gpu is None else gpu.driver,
        temperatures_c=temperatures,
        power_w=power,
        clock=clock,
        gpu_load=load,
        throttled=sensors.throttled(sys) + (() if gpu is None else gpu.slowed),
        power_mode=mode,
        overcurrent_events=sensors.overcurrent_events(sys),
        memory_available_bytes=available,
        memory_total_bytes=total,
    )


def _memory(gpu: GpuReading | None, root: Path) -> tuple[int | None, int | None]:
    """Available and all, bytes: the GPU's own, else the machine's, which a Jetson's GPU shares."""
    if gpu is not None and gpu.memory_total_bytes and gpu.memory_used_bytes is not None:
        return gpu.memory_total_bytes - gpu.memory_used_bytes, gpu.memory_total_bytes
    return machine_memory_bytes(root)
