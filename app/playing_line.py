"""Who may sound next on the daemon's loudspeaker.

Purpose: `PlayingLine`: one place, and a line of those who wait for it, in the order in which they came. Somebody urgent
interrupts who plays and goes before those who wait. Knows: asyncio. Does not know: sound, clients.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Turn:
    """Somebody's place, or their wait for it."""

    come: asyncio.Future[None]
    urgent: bool
    interrupt: Callable[[], None]
    """Called when somebody more urgent wants to be heard; the turn is to be given back soon."""


class PlayingLine:
    """Belongs to the event loop. Bounded by whoever admits contexts."""

    def __init__(self) -> None:
        self._playing: Turn | None = None
        self._waiting: list[Turn] = []

    @property
    def waiting(self) -> int:
        """Those who wait."""
        return len(self._waiting)

    @property
    def free(self) -> bool:
        """Whether somebody who came now could play at once."""
        return self._playing is None

    async def enter(self, *, urgent: bool, interrupt: Callable[[], None]) -> Turn:
        """Wait for the place; to be given back by `leave`."""
        turn = Turn(asyncio.get_running_loop().create_future(), urgent, interrupt)
        if self._playing is None:
            self._playing = turn
            return turn
        if urgent:
            for one in (self._playing, *(one for one in self._waiting if one.urgent)):
                one.interrupt()
        before = sum(one.urgent for one in self._waiting) if urgent else len(self._waiting)
        self._waiting.insert(before, turn)
        try:
            await turn.come
        except asyncio.CancelledError:
            self.leave(turn)
            raise
        return turn

    def leave(self, turn: Turn) -> None:
        """Let the next one play; idempotent, and good for those who still wait too."""
        if turn is not self._playing:
            with contextlib.suppress(ValueError):
                self._waiting.remove(turn)
            return
        self._playing = None
        while self._waiting and self._playing is None:
            turn = self._waiting.pop(0)
            if not turn.come.done():  # else it was given up just now
                turn.come.set_result(None)
                self._playing = turn
