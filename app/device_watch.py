"""Keeps an eye on the device while the daemon runs.

Purpose: `DeviceWatch`: reads the device every few seconds, tells the engines how fast it says it is, and writes into
the log when heat, the supply or a power mode changes that. Knows: readings, engines' door for them. Does not know:
where readings come from, what an engine makes of them. Belongs to the event loop; reads off it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from app.device_reading import DeviceReading, read_device
from app.threads import in_thread
from app.voices import VoiceModel

_EVERY_S: Final = 2.0
_STEPS: Final = 20  # speeds are told in twentieths: a clock that trembles is no news
_log: Final = structlog.stdlib.get_logger("speakd")


class DeviceWatch:
    """One per daemon."""

    def __init__(
        self, models: Callable[[], Iterable[VoiceModel]], read: Callable[[], DeviceReading] = read_device
    ) -> None:
        self._models = models
        self._read = read
        self._last: DeviceReading | None = None

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            self.note(await in_thread("sensors", self._read))
            await asyncio.sleep(_EVERY_S)

    def note(self, reading: DeviceReading) -> None:
        """Take a reading: tell the engines, and say what is new."""
        speed = told_speed(reading)
        for model in self._models():
            model.engine.device_runs_at(speed)
        before, self._last = self._last, reading
        if before is None:
            self._first(reading)
            return
        if reading.throttled != before.throttled:
            say = _log.warning if reading.throttled else _log.info
            say("the device is throttled" if reading.throttled else "the device is no longer throttled",
                by=list(reading.throttled), speed=speed)  # fmt: skip
        if reading.power_mode != before.power_mode:
            _log.info("the power mode has changed", mode=reading.power_mode, before=before.power_mode, speed=speed)
        if reading.overcurrent_events > before.overcurrent_events:
            _log.warning("the supply was overdrawn; the device cut its clocks", events=reading.overcurrent_events)

    def _first(self, reading: DeviceReading) -> None:
        if reading.name is not None or reading.power_mode is not None:
            _log.info("the device", name=reading.name, power_mode=reading.power_mode, speed=told_speed(reading))
        if reading.throttled:
            _log.warning("the device is throttled", by=list(reading.throttled), speed=told_speed(reading))


def told_speed(reading: DeviceReading) -> float:
    """The share of the full speed that engines are told, above 0 to 1."""
    return max(round(_STEPS * reading.speed), 1) / _STEPS
