"""The ring between two threads: order, marks, ends, waiting."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.errors import RingClosedError, SpeechError
from engines.ring import Ring


def samples(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_items_come_out_in_order_across_the_seam() -> None:
    ring = Ring(4)
    assert ring.write_nowait(samples(1, 2, 3))
    assert ring.read(2).tolist() == [1, 2]
    assert ring.write_nowait(samples(4, 5, 6))
    assert ring.read(10).tolist() == [3, 4, 5, 6]


def test_frames_keep_their_shape() -> None:
    ring = Ring(3, (2,), np.int32)
    ring.write_nowait(np.array([[1, 2], [3, 4]]))
    out = np.zeros((5, 2), dtype=np.int32)
    assert ring.read_into(out) == 2
    assert out[:2].tolist() == [[1, 2], [3, 4]]
    assert ring.read_into(out) == 0


@given(
    capacity=st.integers(1, 7),
    moves=st.lists(st.tuples(st.booleans(), st.integers(1, 7)), max_size=60),
)
def test_a_ring_is_a_bounded_queue(capacity: int, moves: list[tuple[bool, int]]) -> None:
    ring, queue, written = Ring(capacity), list[float](), 0
    for writes, count in moves:
        if writes and count <= capacity:
            fits = len(queue) + count <= capacity
            items = [float(written + index) for index in range(count)]
            assert ring.write_nowait(samples(*items)) is fits
            if fits:
                queue += items
                written += count
        elif queue:
            taken = ring.read_nowait(count)
            assert taken is not None
            assert taken.tolist() == queue[:count]
            del queue[:count]
        else:
            assert ring.read_nowait(count) is None
        statistics = ring.statistics()
        assert statistics.used == len(queue) == ring.used == capacity - ring.free
        assert statistics.written - statistics.read == statistics.used <= capacity


@given(capacity=st.integers(2, 9), moves=st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=60))
def test_marks_have_hysteresis_and_tell_the_writer_once(capacity: int, moves: list[tuple[bool, int]]) -> None:
    high, low = capacity, capacity // 2
    ring, told, writable = Ring(capacity), [0], True
    ring.on_writable(lambda: told.__setitem__(0, told[0] + 1))
    resumed = 0
    for writes, count in moves:
        if writes:
            if count <= capacity:
                fitted = ring.write_nowait(np.zeros(count, dtype=np.float32))
                writable = writable and fitted and ring.used < high
        else:
            ring.read_nowait(count)
            if not writable and ring.used <= low:
                writable = True
                resumed += 1
        assert ring.writable is writable
        assert told[0] == resumed


def test_more_than_fits_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="never fit"):
        Ring(2).write_nowait(samples(1, 2, 3))
    for read in (Ring(2).read, Ring(2).read_nowait):
        with pytest.raises(ValueError, match="at least 1"):
            read(0)
    for capacity, high in ((2, 3), (2, 0), (0, None)):
        with pytest.raises(ValueError, match="1 <= high <= capacity"):
            Ring(capacity, high=high)


def test_the_end_comes_after_what_was_written_and_stays() -> None:
    ring = Ring(4)
    ring.write_nowait(samples(1))
    ring.close()
    ring.close(SpeechError("too late"))
    assert ring.read(4).tolist() == [1]
    assert len(ring.read(4)) == 0
    assert ring.read_nowait(4) is not None
    with pytest.raises(RingClosedError):
        ring.write_nowait(samples(1))


def test_an_error_comes_after_what_was_written_and_stays() -> None:
    ring = Ring(4)
    ring.write_nowait(samples(1, 2))
    ring.close(SpeechError("broken"))
    assert ring.read(1).tolist() == [1]
    assert ring.read(1).tolist() == [2]
    for _ in range(2):
        with pytest.raises(SpeechError, match="broken"):
            ring.read(1)


def test_cancel_drops_what_was_not_read() -> None:
    ring = Ring(4)
    ring.write_nowait(samples(1, 2))
    ring.cancel()
    assert len(ring.read(4)) == 0
    with pytest.raises(RingClosedError):
        ring.write_nowait(samples(1))


def test_nothing_in_time_is_a_timeout() -> None:
    ring = Ring(1)
    with pytest.raises(TimeoutError):
        ring.read(1, timeout_s=0.0)


def test_a_reader_waits_for_its_writer_and_a_writer_is_told_of_room() -> None:
    ring, sent, room = Ring(3), np.arange(1000, dtype=np.float32), threading.Semaphore(0)
    ring.on_writable(room.release)

    def receive() -> list[float]:
        got: list[float] = []
        while len(part := ring.read(7, timeout_s=10.0)):
            got += part.tolist()
        return got

    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(receive)
        for item in range(len(sent)):
            while not ring.write_nowait(sent[item : item + 1]):
                assert room.acquire(timeout=10.0)
        ring.close()
        assert received.result(10.0) == sent.tolist()


@pytest.mark.parametrize("end", [Ring.close, Ring.cancel])
def test_an_end_wakes_the_reader(end: object) -> None:
    assert callable(end)
    ring, waiting = Ring(1), threading.Barrier(2)

    def read() -> int:
        waiting.wait(10.0)
        return len(ring.read(1, timeout_s=10.0))

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        waiting.wait(10.0)
        end(ring)
        assert reader.result(10.0) == 0


def test_the_listener_hears_of_items_and_of_the_end() -> None:
    ring, heard = Ring(4), list[int]()
    ring.on_readable(lambda: heard.append(ring.used))
    assert heard == []
    ring.write_nowait(samples())
    ring.write_nowait(samples(1, 2))
    ring.close()
    assert heard == [2, 2]
    ring.on_readable(lambda: heard.append(-1))  # it comes late, and hears at once
    assert heard == [2, 2, -1]


def test_a_listener_that_fails_ends_its_own_ring(caplog: pytest.LogCaptureFixture) -> None:
    ring = Ring(4)

    def fail() -> None:
        raise ZeroDivisionError("mine")

    ring.on_readable(fail)
    assert ring.write_nowait(samples(1))
    assert "listener" in caplog.text
    assert ring.read(1).tolist() == [1]
    with pytest.raises(SpeechError, match="mine"):
        ring.read(1)


def test_dropping_forgets_what_was_not_read_and_goes_on() -> None:
    ring = Ring(4)
    ring.write_nowait(np.arange(4, dtype=np.float32))
    assert not ring.writable
    assert list(ring.read(1)) == [0.0]
    ring.drop()
    assert (ring.used, ring.free, ring.writable) == (0, 4, True)
    ring.write_nowait(np.array([7.0], dtype=np.float32))
    assert list(ring.read(4)) == [7.0]
