"""A bounded ring between two threads: frames of codes, or samples.

Purpose: hand values from exactly one writing thread to exactly one reading thread, in order, through memory that is
allocated once. Closing may carry an error; the reader gets everything written before it, then the error. Cancelling
drops what was not read. Between the high and the low mark the ring asks its writer to rest (`writable`). Knows: numpy
arrays, one lock. Does not know: what the items mean, engines, asyncio.

`writable` turns false when the ring holds `high` items or more, and true again when a read brings it to `low` or fewer;
`on_writable` is told then. Listeners are called outside the lock; one that raises ends the ring with an error.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.contract import RingStatistics
from engines.errors import RingClosedError, SpeechError

_log = logging.getLogger(__name__)

Array = npt.NDArray[Any]


class Ring:
    """Single-producer single-consumer ring of `capacity` items of one shape and dtype."""

    def __init__(
        self,
        capacity: int,
        shape: tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.float32,
        *,
        high: int | None = None,
    ) -> None:
        """Allocate the ring. The high mark, in items, is where it is full by default; the low mark is half of it.

        Raises `ValueError` for a capacity or a mark that makes no sense.
        """
        self._high = capacity if high is None else high
        self._low = self._high // 2
        if not 1 <= self._high <= capacity:
            raise ValueError(f"a ring needs 1 <= high <= capacity, not {self._high}, {capacity}")
        self._buffer: Array = np.empty((capacity, *shape), dtype=dtype)
        self._capacity = capacity
        self._lock = threading.Lock()
        self._readable = threading.Condition(self._lock)
        self._written = 0
        self._read = 0
        self._writable = True
        self._closed = False
        self._error: SpeechError | None = None
        self._readable_listener: Callable[[], None] | None = None
        self._writable_listener: Callable[[], None] | None = None

    # -- the writing end ------------------------------------------------------------------------------------------

    @property
    def writable(self) -> bool:
        """Whether the writer should go on (see the marks in the module's text)."""
        with self._lock:
            return self._writable

    @property
    def free(self) -> int:
        """Items that `write_nowait` would take now; only the writer makes it fall."""
        with self._lock:
            return self._capacity - (self._written - self._read)

    def write_nowait(self, items: Array) -> bool:
        """Copy `items` [n, *shape] in, all or nothing; False where there is no room for all.

        Raises `RingClosedError` once closed, `ValueError` for more items than the ring can ever hold.
        """
        if len(items) > self._capacity:
            raise ValueError(f"{len(items)} items never fit a ring of {self._capacity}")
        with self._lock:
            if self._closed:
                raise RingClosedError("the ring is closed: nobody takes more from it")
            if self._capacity - (self._written - self._read) < len(items):
                self._writable = False
                return False
            self._put(items)
        if len(items):
            self._tell_reader()
        return True

    def close(self, error: SpeechError | None = None) -> None:
        """Nothing more comes; the reader gets what is left, then the end or `error`. The first close counts."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._error = error
            self._readable.notify_all()
        self._tell_reader()

    def on_writable(self, listener: Callable[[], None] | None) -> None:
        """Call `listener`, from the reading thread, whenever a read makes the ring `writable` again."""
        with self._lock:
            self._writable_listener = listener

    # -- the reading end ------------------------------------------------------------------------------------------

    @property
    def used(self) -> int:
        """Items that can be read now; only the reader makes it fall."""
        with self._lock:
            return self._written - self._read

    def read(self, limit: int, timeout_s: float | None = None) -> Array:
        """Wait for items and take at most `limit`, as a copy [n, *shape]; an empty array means the end.

        Raises `TimeoutError` when nothing came in time, the writer's error after the last item, `ValueError` for a
        `limit` below 1.
        """
        _check_limit(limit)
        with self._lock:
            if not self._readable.wait_for(lambda: self._closed or self._written > self._read, timeout_s):
                raise TimeoutError(f"nothing to read for {timeout_s} s")
            taken, woken = self._take(limit)
        if woken:
            woken()
        return taken

    def read_nowait(self, limit: int) -> Array | None:
        """Like `read`, but None where it would wait."""
        _check_limit(limit)
        with self._lock:
            if not self._closed and self._written == self._read:
                return None
            taken, woken = self._take(limit)
        if woken:
            woken()
        return taken

    def read_into(self, out: Array) -> int:
        """Copy at most `len(out)` items into `out` [n, *shape] without waiting or allocating; returns how many."""
        with self._lock:
            count = min(len(out), self._written - self._read)
            woken = self._move(out[:count])
        if woken:
            woken()
        return count

    def drop(self) -> None:
        """Forget what was not read, and go on; the writer's to call, whose listener is not told."""
        with self._lock:
            self._written = self._read
            self._writable = True

    def cancel(self) -> None:
        """Drop what was not read and end the ring, without error unless one was already set; idempotent."""
        with self._lock:
            self._closed = True
            self._written = self._read
            self._readable.notify_all()
        self._tell_reader()

    def on_readable(self, listener: Callable[[], None] | None) -> None:
        """Call `listener` whenever items or the end have come, and once now if there is something already.

        It is called by whoever writes, closes or cancels (now: by the caller), and must not block.
        """
        with self._lock:
            self._readable_listener = listener
            due = self._closed or self._written > self._read
        if due:
            self._tell_reader()

    def statistics(self) -> RingStatistics:
        """A snapshot, in items."""
        with self._lock:
            return RingStatistics(
                capacity=self._capacity,
                used=self._written - self._read,
                written=self._written,
                read=self._read,
            )

    # -- inside; the lock is held unless said otherwise ---------------------------------------------------------------

    def _put(self, items: Array) -> None:
        start = self._written % self._capacity
        first = min(len(items), self._capacity - start)
        self._buffer[start : start + first] = items[:first]
        self._buffer[: len(items) - first] = items[first:]
        self._written += len(items)
        if self._written - self._read >= self._high:
            self._writable = False
        self._readable.notify()

    def _take(self, limit: int) -> tuple[Array, Callable[[], None] | None]:
        count = min(limit, self._written - self._read)
        if count == 0 and self._error is not None:
            raise self._error
        taken = np.empty((count, *self._buffer.shape[1:]), dtype=self._buffer.dtype)
        return taken, self._move(taken)

    def _move(self, out: Array) -> Callable[[], None] | None:
        """Fill `out` with what is read next; returns the listener to call once the lock is let go."""
        count, start = len(out), self._read % self._capacity
        first = min(count, self._capacity - start)
        out[:first] = self._buffer[start : start + first]
        out[first:] = self._buffer[: count - first]
        self._read += count
        if self._writable or self._written - self._read > self._low:
            return None
        self._writable = True
        return self._writable_listener

    def _tell_reader(self) -> None:
        """Call the reader's listener, without the lock; a listener that raises is its own reader's trouble only."""
        listener = self._readable_listener
        if listener is None:
            return
        try:
            listener()
        except Exception as error:
            _log.exception("a readable listener failed; its ring is closed")
            with self._lock:
                self._readable_listener = None
                self._closed = True
                self._error = self._error or SpeechError(f"the reader's listener failed: {error}")
                self._readable.notify_all()


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"a read takes at least 1 item, not {limit}")
