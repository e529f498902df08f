"""A ticking thread: bells, pauses, failures."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from engines.worker import Worker

SOON = 10.0
T = TypeVar("T")


class Bell(threading.Condition):
    """Tells when somebody waits for it, and for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: queue.Queue[float | None] = queue.Queue()

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        self.waits.put(timeout)
        return super().wait_for(predicate, timeout)


class Script:
    """Ticks that answer from a queue and say when they were asked."""

    def __init__(self) -> None:
        self.answers: queue.Queue[float | Exception | None] = queue.Queue()
        self.asked = threading.Semaphore(0)
        self.failure: queue.Queue[Exception] = queue.Queue()
        self.worker = Worker("test", self.tick, self.failure.put)

    def tick(self) -> float | None:
        self.asked.release()
        answer = self.answers.get(timeout=SOON)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def was_asked(self) -> bool:
        return self.asked.acquire(timeout=SOON)


def test_it_ticks_on_while_there_is_work_and_then_by_the_bell() -> None:
    script = Script()
    script.worker.start()
    script.worker.start()  # once is enough
    for answer in (0.0, 0.0, 0.001, None):
        assert script.was_asked()
        script.answers.put(answer)
    script.worker.ring()
    assert script.was_asked()
    assert script.worker.busy_s > 0.0
    script.worker.ring()  # a bell during a tick is not lost
    script.answers.put(None)
    assert script.was_asked()
    script.worker.stop()
    script.answers.put(0.0)
    script.worker.join()
    assert script.worker.busy_s == 0.0
    assert not script.asked.acquire(blocking=False)


def test_a_failure_is_told_once_and_ends_it() -> None:
    script, error = Script(), ZeroDivisionError()
    script.worker.start()
    assert script.was_asked()
    script.answers.put(error)
    assert script.failure.get(timeout=SOON) is error
    script.worker.join()
    script.worker.ring()
    assert not script.asked.acquire(blocking=False)


def test_a_worker_that_was_stopped_never_starts() -> None:
    script = Script()
    script.worker.join()
    script.worker.stop()
    script.worker.start()
    assert not script.worker.started


def test_a_thread_that_cannot_be_begun_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()

    def full() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(script.worker._thread, "start", full)
    with pytest.raises(RuntimeError, match="new thread"):
        script.worker.start()
    script.worker.stop()
    script.worker.join()


def test_it_rests_as_long_as_its_tick_says_and_ends_at_once_when_stopped() -> None:
    script, bell = Script(), Bell()
    script.worker._bell = bell
    for answer in (0.0, 0.001, 0.0, None, None):
        script.answers.put(answer)
    script.worker.start()
    assert [bell.waits.get(timeout=SOON) for _ in range(2)] == [0.001, None]
    script.worker.ring()  # for one more look, and no more
    assert bell.waits.get(timeout=SOON) is None
    script.worker.stop()
    script.worker._thread.join(SOON)
    assert not script.worker._thread.is_alive()
    assert bell.waits.empty()
    assert [script.asked.acquire(blocking=False) for _ in range(6)] == [True] * 5 + [False]


def test_its_own_thread_does_not_wait_for_itself() -> None:
    """Whoever hears of a failure may close all there is."""
    told: queue.Queue[Exception] = queue.Queue()

    def close(error: Exception) -> None:
        worker.join()
        told.put(error)

    worker = Worker("test", lambda: 1 / 0, close)
    worker.start()
    assert isinstance(told.get(timeout=SOON), ZeroDivisionError)
