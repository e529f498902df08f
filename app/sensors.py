"""Temperature and power of the device, where the kernel tells.

Purpose: read the thermal zones and the INA3221 power monitors of a Jetson from sysfs. Knows: their file names and
units. Does not know: metrics. To be called off the event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SYS: Final = Path("/sys")


def temperatures_c(root: Path = _SYS) -> dict[str, float]:
    """Degrees Celsius by zone; zones that are switched off are left out."""
    found: dict[str, float] = {}
    for zone in sorted((root / "class/thermal").glob("thermal_zone*")):
        millidegrees = _number(zone / "temp")
        if millidegrees is not None and -100_000 < millidegrees < 200_000:
            found.setdefault(_text(zone / "type") or zone.name, millidegrees / 1000)
    return found


def power_w(root: Path = _SYS) -> dict[str, float]:
    """Watts by rail."""
    found: dict[str, float] = {}
    for monitor in (root / "bus/i2c/drivers/ina3221").glob("*/hwmon/hwmon*"):
        for channel, name in _rails(monitor):
            millivolts = _number(monitor / f"in{channel}_input")
            milliamperes = _number(monitor / f"curr{channel}_input")
            if millivolts is not None and milliamperes is not None:
                found[name] = millivolts * milliamperes / 1e6
    return found


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
