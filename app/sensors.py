"""Temperature, power, clock and throttling of the device, where the kernel tells.

Purpose: read a Jetson's thermal zones, INA3221 power monitors, GPU clock and load, throttle alerts and power mode from
the files the kernel and `nvpmodel` keep; none needs root. Knows: their names and units. Does not know: metrics, what a
reading means. To be called off the event loop. Not yet seen on a device: names are those of JetPack 6 on Orin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GPUS: Final = (".gpu", ".ga10b", ".gv11b", ".gp10b")
"""Endings of the GPU's name among the devices with clocks: Orin, Orin on JetPack 5, Xavier, TX2."""
_ALERT: Final = "-throttle-alert"


@dataclass(frozen=True, slots=True)
class GpuClock:
    """The GPU's clock, Hz."""

    now_hz: float
    limit_hz: float
    """The most that the power mode allows."""
    most_hz: float
    """The most that the chip can."""


def temperatures_c(sys: Path) -> dict[str, float]:
    """Degrees Celsius by zone; zones that are switched off are left out."""
    found: dict[str, float] = {}
    for zone in sorted((sys / "class/thermal").glob("thermal_zone*")):
        millidegrees = _number(zone / "temp")
        if millidegrees is not None and -100_000 < millidegrees < 200_000:
            found.setdefault(_text(zone / "type") or zone.name, millidegrees / 1000)
    return found


def power_w(sys: Path) -> dict[str, float]:
    """Watts by rail."""
    found: dict[str, float] = {}
    for monitor in (sys / "bus/i2c/drivers/ina3221").glob("*/hwmon/hwmon*"):
        for channel, name in _rails(monitor):
            millivolts = _number(monitor / f"in{channel}_input")
            milliamperes = _number(monitor / f"curr{channel}_input")
            if millivolts is not None and milliamperes is not None:
                found[name] = millivolts * milliamperes / 1e6
    return found


def gpu_clock(sys: Path) -> GpuClock | None:
    """The integrated GPU's clock; None where there is none."""
    gpu = _gpu(sys)
    if gpu is None:
        return None
    now, limit = _number(gpu / "cur_freq"), _number(gpu / "max_freq")
    if now is None or limit is None:
        return None
    steps = [float(word) for word in (_text(gpu / "available_frequencies") or "").split() if word.isdigit()]
    return GpuClock(now, limit, max(steps, default=limit))


def gpu_load(sys: Path) -> float | None:
    """Share of the time that the integrated GPU is busy, 0 to 1."""
    gpu = _gpu(sys)
    per_mille = None if gpu is None else _number(gpu / "device/load")
    return None if per_mille is None else per_mille / 1000


def throttled(sys: Path) -> tuple[str, ...]:
    """What is too hot, such as "gpu": the parts whose throttle alert is on."""
    hot = []
    for device in sorted((sys / "class/thermal").glob("cooling_device*")):
        kind = _text(device / "type") or ""
        if kind.endswith(_ALERT) and _number(device / "cur_state"):
            hot.append(kind.removesuffix(_ALERT))
    return tuple(hot)


def overcurrent_events(sys: Path) -> int:
    """How often the supply was overdrawn since the start; each time the clocks were cut for a moment."""
    counts = (_number(file) for file in (sys / "class/hwmon").glob("hwmon*/oc*_event_cnt"))
    return int(sum(count for count in counts if count is not None))


def power_mode(root: Path) -> str | None:
    """The mode that `nvpmodel` set, as "25W (1)"; None where there is no `nvpmodel`. Names are caps of clocks."""
    state = re.search(r"pmode:(\d+)", _text(root / "var/lib/nvpmodel/status") or "")
    if state is None:
        return None
    number = int(state[1])
    modes = re.findall(r"POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)", _text(root / "etc/nvpmodel.conf") or "")
    names = {int(id_): name for id_, name in modes}
    return f"{names[number]} ({number})" if number in names else str(number)


def board(root: Path) -> str | None:
    """The board's name, where the firmware tells one."""
    name = _text(root / "proc/device-tree/model")
    return name.strip("\0 ") if name else None


def _gpu(sys: Path) -> Path | None:
    devices = sorted((sys / "class/devfreq").glob("*"))
    return next((device for device in devices if device.name.endswith(_GPUS)), None)


def _rails(monitor: Path) -> Iterator[tuple[str, str]]:
    for label in sorted(monitor.glob("in*_label")):
        channel = label.name.removeprefix("in").removesuffix("_label")
        yield channel, _text(label) or f"{monitor.name}-{channel}"


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _number(file: Path) -> float | None:
    try:
        return float(_text(file) or "")
    except ValueError:
        return None
