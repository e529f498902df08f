"""What jetson-stats tells, where its service runs.

Purpose: fill in, on a Jetson, what the kernel's files do not tell (GPU load and power mode on boards whose names this
program does not know). jetson-stats is under the AGPL: it is never required, never installed by us, and imported only
when its service is there. Knows: its client. Does not know: metrics. To be called off the event loop: it waits for the
service. Not yet seen on a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SOCKET: Final = Path("/run/jtop.sock")


@dataclass(frozen=True, slots=True)
class JtopReading:
    """What was told; None is what was not."""

    gpu_load: float | None
    """Share of the time that the GPU is busy, 0 to 1."""
    power_mode: str | None


def read_jtop(socket: Path = _SOCKET) -> JtopReading | None:
    """One reading; None where there is no service, no client, or they do not understand each other."""
    if not socket.exists():
        return None
    try:
        from jtop import jtop  # type: ignore[import-not-found,import-untyped,unused-ignore]

        with jtop() as client:
            if not client.ok():
                return None
            percent, mode = client.stats.get("GPU"), client.nvpmodel
            load = percent / 100 if isinstance(percent, int | float) else None
            return JtopReading(load, None if mode is None else str(mode))
    except Exception:  # another version's client raises whatever its socket does to it
        return None
