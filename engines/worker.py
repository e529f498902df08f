"""A thread that does pieces of work and sleeps in between.

Purpose: call `tick` as long as there is work, wait for the bell (or a time) when there is none, and report a failure
once. Knows: one thread, one bell. Does not know: what a tick does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Worker:
    """One named thread around a `tick`."""

    def __init__(self, name: str, tick: Callable[[], float | None], failed: Callable[[Exception], None]) -> None:
        """`tick` returns the seconds after which it wants to be called again: 0 at once, None when the bell rings.

        `failed` is called, on the thread, with what a tick raised; there are no more ticks then.
        """
        self._tick, self._failed = tick, failed
        self._bell = threading.Condition()
        self._rung = False
        self._stopped = False
        self._tick_began: float | None = None
        self._started = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def started(self) -> bool:
        """Whether `start` was called."""
        return self._started

    def start(self) -> None:
        """Begin ticking; idempotent, and nothing after `stop`. From any thread."""
        with self._bell:
            if self._started or self._stopped:
                return
            self._thread.start()  # raises where the system has no thread left; there is none to wait for then
            self._started = True

    def ring(self) -> None:
        """There may be work: wake the thread, or have it look once more. From any thread; never lost."""
        with self._bell:
            self._rung = True
            self._bell.notify()

    def stop(self) -> None:
        """No further tick after the present one. From any thread."""
        with self._bell:
            self._stopped = True
            self._bell.notify()

    def join(self) -> None:
        """Wait until the present tick is over; at once on the thread itself or before `start`."""
        if self._started and threading.current_thread() is not self._thread:
            self._thread.join()

    @property
    def busy_s(self) -> float:
        """How long the present tick has been running; 0 when asleep. A value that keeps growing is a hung device."""
        began = self._tick_began  # written by the thread alone
        return 0.0 if began is None else time.monotonic() - began

    def _run(self) -> None:
        try:
            while not self._is_stopped():
                self._tick_began = time.monotonic()
                pause_s = self._tick()
                self._tick_began = None
                if pause_s != 0.0:
                    self._rest(pause_s)
        except Exception as error:
            self._tick_began = None
            self._failed(error)

    def _is_stopped(self) -> bool:
        with self._bell:
            return self._stopped

    def _rest(self, pause_s: float | None) -> None:
        with self._bell:
            self._bell.wait_for(lambda: self._rung or self._stopped, pause_s)
            self._rung = False
