"""When the daemon has TensorRT plans built, and what is said meanwhile.

Purpose: before the voices are opened, or behind them while clients are served; then the voice changes over to the new
plan. Knows: who builds, who is told. Does not know: how a plan is built (`app.plan_builder`), when a daemon starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import structlog

from app.plan_builder import MakePlanBuilder
from app.pulse import OPENING, Pulse
from app.reload import renew_model
from app.services import Services
from app.systemd_notify import SystemdNotify
from engines.errors import SpeechError

PATIENCE_S: Final = 60.0
"""Asked of the service manager, again and again while plans are built or engines opened."""
_log: Final = structlog.stdlib.get_logger("speakd")


class Plans:
    """The plans of one daemon. Belongs to the event loop."""

    def __init__(self, services: Services, pulse: Pulse, notify: SystemdNotify, make_builder: MakePlanBuilder) -> None:
        self._services, self._pulse, self._notify = services, pulse, notify
        self._builder = make_builder(services.config, self._tell)
        self.changing = asyncio.Lock()
        """Held by whoever replaces the table of voices."""

    async def build_missing(self, bundles: Iterable[str]) -> None:
        """Before the voices are opened: those that cannot be built speak without."""
        for bundle in bundles:
            await self._build(bundle)
        self._pulse.opening = OPENING

    async def build_behind(self, bundles: Iterable[str]) -> None:
        """While clients are served: change over to each plan when it is there."""
        for bundle in bundles:
            if await self._build(bundle):
                self._pulse.building = "changing over to the new plan"
                try:
                    async with self.changing:
                        await renew_model(self._services, bundle)
                except SpeechError as error:
                    _log.error("the new plan cannot be used; the voice goes on as it was", error=str(error))
            self._pulse.building = ""

    async def _build(self, bundle: str) -> bool:
        builder = self._builder
        return builder is not None and await builder.lacks(bundle) and await builder.build(bundle)

    def _tell(self, line: str) -> None:
        """How far a plan is: for `/ready` and the service manager."""
        if self._services.voices is not None:
            self._pulse.building = line
            return
        self._pulse.opening = line
        self._notify.extend_timeout(PATIENCE_S)
        self._notify.status(line)
