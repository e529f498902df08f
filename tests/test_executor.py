"""The bounded executor: refusal, deadlines, cancellation, accounts."""

from __future__ import annotations

import asyncio
import threading

import pytest

from app.executor import BoundedExecutor, DeadlineError, ExecutorClosedError, ExecutorFullError

_WAIT_S = 30.0
"""Bound of a wait that ends by an event; reached only when a test fails."""


class Gate:
    """Work that begins when a worker takes it and ends when the test lets it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.open.wait(_WAIT_S)
        return "through"


def test_work_returns_and_raises() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=2)
    assert pool.submit(lambda a, b: a + b, 1, b=2).result(_WAIT_S) == 3
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result(_WAIT_S)
    pool.shutdown()
    done = pool.statistics()
    assert (done.completed, done.failed, done.active, done.waiting) == (2, 1, 0, 0)


def test_refuses_beyond_its_bound_and_recovers() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=1)
    gate = Gate()
    running = pool.submit(gate)
    assert gate.entered.wait(_WAIT_S)
    waiting = pool.submit(lambda: "after")
    with pytest.raises(ExecutorFullError, match="test work is waiting"):
        pool.submit(lambda: "never")
    seen = pool.statistics()
    assert (seen.active, seen.waiting, seen.peak_waiting, seen.refused) == (1, 1, 1, 1)
    gate.open.set()
    assert (running.result(_WAIT_S), waiting.result(_WAIT_S)) == ("through", "after")
    pool.shutdown()
    assert pool.statistics().waiting == 0


def test_where_no_thread_can_be_begun_it_says_so_and_the_work_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=1)
    done: list[str] = []

    def full(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", full)
        with pytest.raises(ExecutorFullError, match="no thread can be begun for test work: can't start new thread"):
            pool.submit(done.append, "refused")
    assert pool.statistics().waiting == 0
    pool.submit(done.append, "taken").result(_WAIT_S)
    pool.shutdown()
    assert done == ["taken"]
    assert (pool.statistics().completed, pool.statistics().waiting) == (1, 0)


def test_cancelled_work_gives_its_place_back() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=1)
    gate = Gate()
    pool.submit(gate)
    assert gate.entered.wait(_WAIT_S)
    assert pool.submit(lambda: None).cancel()
    assert pool.statistics().waiting == 0
    waiting = pool.submit(lambda: "taken")
    gate.open.set()
    assert waiting.result(_WAIT_S) == "taken"
    pool.shutdown()


def test_a_cancelled_task_drops_work_that_has_not_begun() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=1)
    gate = Gate()
    ran: list[int] = []

    async def scenario() -> None:
        first = asyncio.ensure_future(pool.run(gate))
        second = asyncio.ensure_future(pool.run(ran.append, 1))
        await asyncio.to_thread(gate.entered.wait, _WAIT_S)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.open.set()
        assert await first == "through"

    asyncio.run(scenario())
    pool.shutdown()
    assert ran == []


def test_work_that_comes_too_late_never_runs() -> None:
    now = [0.0]
    pool = BoundedExecutor("test", workers=1, max_waiting=1, clock=lambda: now[0])
    gate = Gate()
    ran: list[int] = []

    async def scenario() -> None:
        first = asyncio.ensure_future(pool.run(gate))
        await asyncio.to_thread(gate.entered.wait, _WAIT_S)
        late = asyncio.ensure_future(pool.run_within(5.0, lambda: ran.append(1)))
        await asyncio.sleep(0)
        now[0] = 10.0
        gate.open.set()
        assert await first == "through"
        with pytest.raises(DeadlineError):
            await late

    asyncio.run(scenario())
    pool.shutdown()
    assert ran == []
    assert pool.statistics().expired == 1


def test_a_caller_does_not_wait_beyond_its_deadline() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=0)
    gate = Gate()

    async def scenario() -> None:
        with pytest.raises(DeadlineError, match="did not end within"):
            await pool.run_within(0.01, gate)
        assert pool.statistics().active == 1, "the place is kept until the work returns"
        with pytest.raises(ExecutorFullError):
            await pool.run(lambda: None)
        gate.open.set()

    asyncio.run(scenario())
    pool.shutdown()
    assert pool.statistics().active == 0


def test_work_that_ends_within_its_deadline_returns_and_raises() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=0)

    async def scenario() -> None:
        assert await pool.run_within(_WAIT_S, lambda: "through") == "through"
        with pytest.raises(ZeroDivisionError):
            await pool.run_within(_WAIT_S, lambda: 1 // 0)

    asyncio.run(scenario())
    pool.shutdown()
    assert pool.statistics().expired == 0


def test_a_cancelled_task_drops_work_that_had_a_deadline() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=1)
    gate = Gate()

    async def scenario() -> None:
        first = asyncio.ensure_future(pool.run(gate))
        second = asyncio.ensure_future(pool.run_within(_WAIT_S, lambda: None))
        await asyncio.to_thread(gate.entered.wait, _WAIT_S)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await asyncio.sleep(0)
        assert pool.statistics().waiting == 0
        gate.open.set()
        assert await first == "through"

    asyncio.run(scenario())
    pool.shutdown()


def test_the_longest_wait_and_the_work_are_timed() -> None:
    now = [5.0]
    pool = BoundedExecutor("test", workers=1, max_waiting=2, clock=lambda: now[0])
    assert pool.statistics().longest_wait_s == pool.statistics().busy_s == 0.0
    gate = Gate()
    pool.submit(gate)
    assert gate.entered.wait(_WAIT_S)
    waiting = [pool.submit(lambda: None)]
    now[0] += 2.0
    waiting.append(pool.submit(lambda: None))
    now[0] += 1.0
    gate.open.set()
    for future in waiting:
        future.result(_WAIT_S)
    pool.shutdown()
    seen = pool.statistics()
    assert (seen.longest_wait_s, seen.busy_s) == (3.0, 3.0)


def test_a_full_pool_that_ends_says_that_it_ends() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=0)
    gate = Gate()
    running = pool.submit(gate)
    pool.shutdown(wait=False)
    with pytest.raises(ExecutorClosedError):  # not "try again in a moment"
        pool.submit(lambda: None)
    gate.open.set()
    running.result(_WAIT_S)
    pool.shutdown()


def test_shutdown_drops_what_waits() -> None:
    pool = BoundedExecutor("test", workers=1, max_waiting=3)
    gate = Gate()
    running = pool.submit(gate)
    assert gate.entered.wait(_WAIT_S)
    waiting = [pool.submit(lambda: None) for _ in range(3)]
    pool.shutdown(cancel_futures=True, wait=False)
    assert all(future.cancelled() for future in waiting)
    gate.open.set()
    assert running.result(_WAIT_S) == "through"
    pool.shutdown()
    assert pool.statistics().waiting == 0
    with pytest.raises(ExecutorClosedError):
        pool.submit(lambda: None)


@pytest.mark.parametrize(("workers", "max_waiting"), [(0, 1), (1, -1)])
def test_refuses_sizes_that_make_no_sense(workers: int, max_waiting: int) -> None:
    with pytest.raises(ValueError, match="executor 'test'"):
        BoundedExecutor("test", workers=workers, max_waiting=max_waiting)
