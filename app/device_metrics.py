"""A device's reading in Prometheus' form.

Purpose: names and units of the device's gauges. Knows: readings. Does not know: where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily

from app.device_reading import DeviceReading


def device_families(reading: DeviceReading) -> Iterator[GaugeMetricFamily]:
    """All that is told; what is not is left out."""
    yield _by("place", "speakd_temperature_celsius", "Temperature of the device", reading.temperatures_c)
    yield _by("place", "speakd_power_watts", "Power the device draws", reading.power_w)
    yield _by("reason", "speakd_throttled", "1 for what slows the device down", dict.fromkeys(reading.throttled, 1.0))
    clock = reading.clock
    clocks = {} if clock is None else {"now": clock.now_hz, "allowed": clock.limit_hz, "most": clock.most_hz}
    yield _by("which", "speakd_gpu_clock_hertz", "Clock of the GPU", clocks)
    load = reading.gpu_load
    yield _by("gpu", "speakd_gpu_load_ratio", "Time the GPU is busy", {} if load is None else {"0": load})
    yield _one("speakd_device_speed_ratio", "Share of its full clock that the GPU has for work", reading.speed)
    yield _one("speakd_overcurrent_events", "Times the supply was overdrawn", reading.overcurrent_events)
    memory = {"available": reading.memory_available_bytes, "total": reading.memory_total_bytes}
    told = {which: float(value) for which, value in memory.items() if value is not None}
    yield _by("which", "speakd_device_memory_bytes", "Memory of the GPU, or of the board that shares it", told)
    info = GaugeMetricFamily("speakd_device_info", "What the device is", labels=["name", "power_mode"])
    info.add_metric([reading.name or "", reading.power_mode or ""], 1.0)
    yield info


def _by(label: str, name: str, help_text: str, values: dict[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _one(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=value)
