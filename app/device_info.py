"""`speak --device-info`: the device, what would speak on it, and how it is.

Purpose: print one table for a person who asks why it is slow. Knows: facts of the engine room, readings. Does not know:
where either comes from.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.config import Config
from app.device_reading import DeviceReading, read_device
from engines.device_facts import DeviceFacts, device_facts


def show_device(bundle: Path, config: Config) -> int:
    """Print the table. Raises `BundleError` where the bundle cannot be used at all."""
    facts = device_facts(bundle, config.engine.opened_with())
    table = Table(show_header=False, box=None)
    for name, value in rows(facts, read_device()):
        table.add_row(name, value)
    Console(highlight=False, file=sys.stdout).print(table)
    return 0


def rows(facts: DeviceFacts, reading: DeviceReading) -> Iterator[tuple[str, str]]:
    """One fact a line, as (name, value)."""
    yield "device", reading.name or f"{platform.machine()}, {platform.system()}"
    if reading.driver:
        yield "driver", reading.driver
    yield "speaks with", facts.sentence
    yield from facts.versions.items()
    yield "Python", platform.python_version()
    yield "plans", "\n".join(facts.plans) or "none for this voice"
    yield "temperature", _all(reading.temperatures_c, "°C")
    yield "power", _all(reading.power_w, "W")
    yield "power mode", reading.power_mode or "not told"
    yield "GPU clock", _clock(reading)
    yield "GPU load", "not told" if reading.gpu_load is None else f"{reading.gpu_load:.0%}"
    yield "throttled", ", ".join(reading.throttled) or "no"
    if reading.overcurrent_events:
        yield "overdrawn", f"{reading.overcurrent_events} times since the start"
    if reading.memory_total_bytes is not None and reading.memory_available_bytes is not None:
        available, total = reading.memory_available_bytes, reading.memory_total_bytes
        yield "memory", f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB available"


def _all(values: dict[str, float], unit: str) -> str:
    return ", ".join(f"{name} {value:.1f} {unit}" for name, value in values.items()) or "not told"


def _clock(reading: DeviceReading) -> str:
    clock = reading.clock
    if clock is None:
        return "not told"
    return f"{clock.now_hz / 1e6:.0f} MHz; at most {clock.limit_hz / 1e6:.0f} now, {clock.most_hz / 1e6:.0f} ever"
