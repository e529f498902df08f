"""How the daemon is: its heartbeat, for /health, for the watchdog, and for itself.

Purpose: `Pulse`: says healthy only while the engine's threads move, feeds the watchdog only then, measures how late the
loop is, and ends the process when an engine has failed for good. Knows: engines' statistics, the watchdog's words.
Does not know: HTTP, signals.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from app.services import Services
from app.systemd_notify import SystemdNotify
from app.text_process import TextProcess

OPENING: Final = "opening the voices"
_BEAT_S: Final = 0.1
_STATUS_S: Final = 10.0
_log: Final = structlog.stdlib.get_logger("speakd")


@dataclass(frozen=True, slots=True)
class Condition:
    """How the daemon is."""

    ok: bool
    text: str
    """Why, in a few words."""


class Pulse:
    """Belongs to the event loop."""

    def __init__(self, services: Services, notify: SystemdNotify, text: TextProcess | None = None) -> None:
        self._services = services
        self._notify = notify
        self._text = text
        self.failure: str | None = None
        """Why an engine has ended, if one has."""
        self.opening = OPENING
        """What is being done before the first client can be served."""
        self.building = ""
        """A plan that is being built while clients are served, and how far it is."""
        self.refused = ""
        """Why the configuration was not taken over when it was last read again."""
        self._progress: dict[str, tuple[int, float]] = {}
        """Of each pool at work: tasks it has done, and since when no more."""

    def health(self) -> Condition:
        """Whether the daemon works: starting counts as working, a stuck or failed engine does not."""
        voices = self._services.voices
        if voices is None:
            return Condition(True, "starting")
        for model in voices.models:
            state = model.engine.statistics()
            if state.failure is not None:
                return Condition(False, f"{model.info.name}: {state.failure}")
            if state.busy_s > self._services.config.server.stall_s:
                return Condition(False, f"{model.info.name}: the engine has been stuck for {state.busy_s:.0f} s")
        if self._text is not None and self._text.failure is not None:
            return Condition(False, self._text.failure)
        for name, (_, since) in self._progress.items():
            stuck_s = time.monotonic() - since
            if stuck_s > self._services.config.server.stall_s:
                return Condition(False, f"the {name} pool has been stuck for {stuck_s:.0f} s")
        return Condition(True, "serving")

    def ready(self) -> Condition:
        """Whether a new client would be served, and at full speed."""
        if self._services.gate.closing:
            return Condition(False, "stopping")
        if self._services.voices is None:
            return Condition(False, self.opening)
        return self.health()

    def summary(self) -> str:
        """One line for the service manager."""
        gate = self._services.gate
        voices = self._services.voices
        names = ", ".join(voices.names[:4]) if voices else "none"
        building = f"; {self.building}" if self.building else ""
        refused = f"; reload refused: {self.refused}" if self.refused else ""
        return f"{gate.contexts} contexts on {gate.sockets} sockets; voices: {names}{building}{refused}"

    async def beat(self, stop: Callable[[], None]) -> None:
        """Go on until cancelled; `stop` is called when an engine has failed."""
        loop = asyncio.get_running_loop()
        fed = told = loop.time()
        patience_s = self._notify.watchdog_s
        while True:
            due = loop.time() + _BEAT_S
            await asyncio.sleep(_BEAT_S)
            now = loop.time()
            self._services.metrics.loop_was_late(max(now - due, 0.0))
            self._note_failure(stop)
            self._note_progress()
            if self._text is not None:
                self._text.look_after()
            if patience_s is not None and now - fed >= patience_s / 4 and self.health().ok:
                fed = now
                self._notify.watchdog()
            if now - told >= _STATUS_S:
                told = now
                self._notify.status(self.summary())

    def _note_progress(self) -> None:
        """A pool that works and gets nothing done is stuck."""
        now = time.monotonic()
        for pool in self._services.pools:
            state = pool.statistics()
            done, _ = self._progress.get(pool.name, (-1, now))
            if not state.active:
                self._progress.pop(pool.name, None)
            elif done != state.completed:
                self._progress[pool.name] = (state.completed, now)

    def _note_failure(self, stop: Callable[[], None]) -> None:
        voices = self._services.voices
        if self.failure is not None or voices is None:
            return
        failures = [model.engine.statistics().failure for model in voices.models]
        self.failure = next((failure for failure in failures if failure is not None), None)
        if self.failure is not None:
            _log.critical("an engine failed; only a new process can cure that", error=self.failure)
            stop()
