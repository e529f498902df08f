"""Bounded work on CPU threads, so that the event loop never computes, parses or touches a disk.

Purpose: `BoundedExecutor`: a small named pool that takes a limited number of tasks, refuses what goes beyond, gives
up on what came too late, and counts. Knows: threads and deadlines. Does not know: what the work is.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from engines.errors import SpeechError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ExecutorFullError(SpeechError):
    """As much work is waiting as the pool may hold."""


class ExecutorClosedError(SpeechError):
    """The pool takes no more work."""


class DeadlineError(SpeechError):
    """The work did not end, or not even begin, in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorStatistics:
    """What a pool has done; a snapshot."""

    active: int
    waiting: int
    peak_waiting: int
    completed: int
    """Tasks that ran, whether they returned or raised."""
    failed: int
    """Of these, the ones that raised."""
    refused: int
    expired: int
    """Tasks whose deadline passed before a worker was free; they never ran."""
    busy_s: float
    longest_wait_s: float


class BoundedExecutor:
    """A named pool of `workers` threads with room for `max_waiting` tasks more."""

    def __init__(
        self, name: str, *, workers: int, max_waiting: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if workers < 1 or max_waiting < 0:
            raise ValueError(f"executor '{name}': workers must be at least 1 and max_waiting at least 0")
        self.name = name
        self._workers = workers
        self._max_waiting = max_waiting
        self._clock = clock
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=f"speakd-{name}")
        self._lock = threading.Lock()
        self._closed = False
        self._admitted = 0
        self._active = 0
        self._peak_waiting = 0
        self._completed = 0
        self._failed = 0
        self._refused = 0
        self._expired = 0
        self._busy_s = 0.0
        self._longest_wait_s = 0.0

    def submit(
        self,
        work: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Future[Result]:
        """Queue work without a deadline. Raises `ExecutorFullError` or `ExecutorClosedError`; never waits."""
        return self._submit(lambda: work(*args, **kwargs), None)

    async def run(
        self,
        work: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Run work and wait for it. If the waiting task is cancelled, work that has not begun is dropped.

        Work that has begun cannot be stopped: it keeps its place until it returns.
        """
        return await asyncio.wrap_future(self.submit(work, *args, **kwargs))

    async def run_within(self, deadline_s: float, work: Callable[[], Result]) -> Result:
        """Like `run`, but raises `DeadlineError` after `deadline_s`, however far the work has come.

        Work that no worker could begin by then never runs.
        """
        future = asyncio.wrap_future(self._submit(work, self._clock() + deadline_s))
        try:
            # not wait_for: before Python 3.12 it loses a cancellation that comes together with the result
            await asyncio.wait((future,), timeout=deadline_s)
        except asyncio.CancelledError:
            future.cancel()
            raise
        if future.done():
            return future.result()
        future.cancel()
        raise DeadlineError(f"the {self.name} work did not end within {deadline_s:g} s")

    def statistics(self) -> ExecutorStatistics:
        """A snapshot."""
        with self._lock:
            return ExecutorStatistics(
                active=self._active,
                waiting=self._admitted - self._active,
                peak_waiting=self._peak_waiting,
                completed=self._completed,
                failed=self._failed,
                refused=self._refused,
                expired=self._expired,
                busy_s=self._busy_s,
                longest_wait_s=self._longest_wait_s,
            )

    def shutdown(self, *, cancel_futures: bool = False, wait: bool = True) -> None:
        """Take no more work; finish what waits, or drop it; with `wait`, return when the threads have ended."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def _submit(self, work: Callable[[], Result], deadline: float | None) -> Future[Result]:
        submitted = self._clock()
        given_up = False

        def task() -> Result:
            if given_up:
                raise ExecutorFullError("given up")
            return self._work(work, submitted, deadline)

        with self._lock:
            if self._closed:
                raise ExecutorClosedError(f"the {self.name} pool is shut down")
            if self._admitted >= self._workers + self._max_waiting:
                self._refused += 1
                raise ExecutorFullError(
                    f"too much {self.name} work is waiting ({self._max_waiting} tasks); try again in a moment"
                )
            self._admitted += 1
            self._peak_waiting = max(self._peak_waiting, self._admitted - self._workers)
        try:
            future = self._pool.submit(task)
        except RuntimeError as error:
            given_up = True  # the pool has kept it all the same, for a thread that may come later
            self._leave()
            if self._closed:
                raise ExecutorClosedError(f"the {self.name} pool is shut down") from None
            raise ExecutorFullError(f"no thread can be begun for {self.name} work: {error}") from None
        future.add_done_callback(self._forget_if_dropped)
        return future

    def _work(self, work: Callable[[], Result], submitted: float, deadline: float | None) -> Result:
        """Runs on a worker: the accounts around one task."""
        begun = self._clock()
        with self._lock:
            self._active += 1
            self._longest_wait_s = max(self._longest_wait_s, begun - submitted)
        failed = True
        ran = False
        try:
            if deadline is not None and begun >= deadline:
                raise DeadlineError(f"no {self.name} worker was free in time")
            ran = True
            result = work()
            failed = False
            return result
        finally:
            with self._lock:
                self._active -= 1
                self._admitted -= 1
                self._completed += ran
                self._failed += ran and failed
                self._expired += not ran
                self._busy_s += self._clock() - begun

    def _forget_if_dropped(self, future: Future[Result]) -> None:
        """A cancelled future never reached a worker, so its place is given back here."""
        if future.cancelled():
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._admitted -= 1
