"""Who waits, and who holds which slot.

Purpose: admit utterances up to a bound, seat them in free slots in the order they came as soon as they have text to
start with, and take the slots back. Only bookkeeping: nothing here waits or runs. Deadlines will change `admit`'s
order. Knows: utterances, slot numbers. Does not know: tensors, threads (any may call).
"""

from __future__ import annotations

import threading

from engines.errors import EngineBusyError, EngineClosedError
from engines.utterance import LiveUtterance


class Scheduler:
    """Bounded waiting line and slots."""

    def __init__(self, slots: int, max_waiting: int) -> None:
        self._lock = threading.Lock()
        self._seats: list[LiveUtterance | None] = [None] * slots
        self._line: list[LiveUtterance] = []
        self._bound = slots + max_waiting
        self._closed: str | None = None

    def enter(self, utterance: LiveUtterance) -> None:
        """Take a place in the line. Raises `EngineBusyError` when all are taken, `EngineClosedError` after `close`."""
        with self._lock:
            if self._closed is not None:
                raise EngineClosedError(self._closed)
            seated = sum(seat is not None for seat in self._seats)
            if seated + len(self._line) >= self._bound:
                raise EngineBusyError(f"all {self._bound} places are taken; try again when an utterance has ended")
            self._line.append(utterance)

    def waiting(self) -> list[LiveUtterance]:
        """Those without a slot, in order."""
        with self._lock:
            return list(self._line)

    def admit(self) -> list[tuple[int, LiveUtterance]]:
        """Seat what is ready while there are free slots, lowest slot first; returns the newly seated."""
        seated = []
        with self._lock:
            for utterance in [waiting for waiting in self._line if waiting.ready]:
                if None not in self._seats:
                    break
                slot = self._seats.index(None)
                self._seats[slot] = utterance
                self._line.remove(utterance)
                seated.append((slot, utterance))
        return seated

    def seated(self) -> list[tuple[int, LiveUtterance]]:
        """Who holds which slot now."""
        with self._lock:
            return [(slot, utterance) for slot, utterance in enumerate(self._seats) if utterance is not None]

    def leave(self, utterance: LiveUtterance) -> None:
        """Give back the slot or the place in the line, if it has one."""
        with self._lock:
            if utterance in self._line:
                self._line.remove(utterance)
            elif utterance in self._seats:
                self._seats[self._seats.index(utterance)] = None

    def close(self, reason: str) -> list[LiveUtterance]:
        """Admit nobody any more, saying `reason`; returns everyone still here. The first reason stands."""
        with self._lock:
            self._closed = self._closed or reason
            here = [*self._line, *(seat for seat in self._seats if seat is not None)]
            self._line.clear()
            self._seats = [None] * len(self._seats)
            return here
