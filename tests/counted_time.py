"""A clock that is counted, not waited for, and the actors that go on in it.

Purpose: let threads that would work at the same time take turns, so that every run is the same: one goes on at a time,
whoever is next in counted time. Knows: who sleeps until when. Does not know: what the actors do.
"""

from __future__ import annotations

import heapq
import itertools
import threading

PATIENCE_S = 60.0
"""Real seconds that a thread waits for its turn before the test is called stuck."""


class Actor:
    """Something that goes on in time."""

    def __init__(self) -> None:
        self.turn = threading.Semaphore(0)
        self.sleeping = 0  # number of the sleep under way
        self.resting = False  # whether a bell ends it
        self.rung = False


class CountedTime:
    """The clock, and who goes on next."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.over = False
        self._order = itertools.count(1)
        self._sleeps: list[tuple[float, int, Actor]] = []
        self.current = Actor()

    def clock(self) -> float:
        return self.now_ms / 1000.0

    def pass_ms(self, ms: float) -> None:
        """The current actor is busy for so long."""
        self._sleep(self.current, ms)

    def rest_ms(self, ms: float | None) -> None:
        """The current actor has nothing to do for so long, or until it is rung."""
        actor = self.current
        if not actor.rung:
            actor.resting = True
            self._sleep(actor, ms)
            actor.resting = False
        actor.rung = False

    def ring(self, actor: Actor) -> None:
        """Wake an actor that rests; one that is busy looks again afterwards."""
        actor.rung = True
        if actor.resting:
            actor.sleeping = self._push(actor, self.now_ms)

    def begin(self, actor: Actor) -> None:
        """Let an actor's thread go on from now."""
        actor.sleeping = self._push(actor, self.now_ms)

    def _push(self, actor: Actor, at_ms: float) -> int:
        number = next(self._order)
        heapq.heappush(self._sleeps, (at_ms, number, actor))
        return number

    def _sleep(self, actor: Actor, ms: float | None) -> None:
        actor.sleeping = -1 if ms is None else self._push(actor, self.now_ms + ms)
        self.go_on()
        if not actor.turn.acquire(timeout=PATIENCE_S):
            raise TimeoutError("the simulation is stuck")

    def go_on(self) -> None:
        """Hand the turn to whoever is next."""
        while True:
            at_ms, number, actor = heapq.heappop(self._sleeps)
            if actor.sleeping == number:
                break
        self.now_ms = max(self.now_ms, at_ms)
        actor.sleeping = 0
        self.current = actor
        actor.turn.release()
