"""Who waits, and who holds which slot.

Purpose: admit utterances up to a bound, seat them in free slots in the order they came as soon as they have text to
start with, and take the slots back. Real-time utterances get no more slots than the device holds in real time, so a
new one waits, or is refused, rather than break the others; those without a listener in real time may have the rest.
Only bookkeeping: nothing here waits or runs. Knows: utterances, slot numbers. Does not know: tensors, threads (any may
call), how much the device holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from engines.errors import EngineBusyError, EngineClosedError
from engines.utterance import LiveUtterance

Held = Callable[[Sequence[LiveUtterance]], int]
"""How many real-time utterances the device holds now, beside and with those seated."""


class Scheduler:
    """Bounded waiting line and slots."""

    def __init__(self, slots: int, max_waiting: int, held: Held | None = None) -> None:
        """`held`: see there; None: as many as there are slots."""
        self._held = held or (lambda _: slots)
        self._max_waiting = max_waiting
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
            seated = self._sitting()
            if len(seated) + len(self._line) >= self._bound:
                raise EngineBusyError(f"all {self._bound} places are taken; try again when an utterance has ended")
            held = self._held(seated)
            if utterance.realtime and sum(one.realtime for one in self._line + seated) >= held + self._max_waiting:
                raise EngineBusyError(
                    f"this device holds {held} utterances in real time at present; try again when one has ended, or "
                    "ask for the pace 'fast' where nobody listens yet"
                )
            self._line.append(utterance)

    def waiting(self) -> list[LiveUtterance]:
        """Those without a slot, in order."""
        with self._lock:
            return list(self._line)

    def admit(self) -> list[tuple[int, LiveUtterance]]:
        """Seat what is ready while there are free slots, lowest slot first; returns the newly seated."""
        seated: list[tuple[int, LiveUtterance]] = []
        with self._lock:
            ready = [waiting for waiting in self._line if waiting.ready]
            if not ready:
                return seated
            here = self._sitting()
            free = self._held(here) - sum(one.realtime for one in here)
            for utterance in ready:
                if None not in self._seats:
                    break
                if utterance.realtime and not utterance.empty:
                    if free <= 0:
                        continue
                    free -= 1
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
            here = [*self._line, *self._sitting()]
            self._line.clear()
            self._seats = [None] * len(self._seats)
            return here

    def _sitting(self) -> list[LiveUtterance]:
        """The lock is held."""
        return [seat for seat in self._seats if seat is not None]
