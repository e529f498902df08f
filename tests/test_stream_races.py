"""The detector of races: it finds what is touched in no order, in small and in a whole engine, and nothing else."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import numpy as np
import pytest

from engines import tensorrt_stages
from engines.cuda_api import Stream
from engines.cuda_memory import SharedBlock, Want
from engines.ring import Ring
from tests.fake_cuda import FakeCuda
from tests.host_races import no_races
from tests.tensorrt_rig import ROWS_STEPPED, SLOTS, Plans, Voice, hear, open_engine, start

SIZE = 256


class Bench:
    """Two streams, and memory of all kinds."""

    def __init__(self, *, eager: bool = True, integrated: bool = False) -> None:
        self.cuda = FakeCuda(eager=eager, integrated=integrated)
        self.one, self.two = (self.cuda.stream(urgent=urgent) for urgent in (True, False))
        self.event = self.cuda.event()
        self.here, self.there = (self.cuda.allocate(SIZE) for _ in range(2))
        self.block = SharedBlock(self.cuda, {"x": Want((SIZE // 4,), np.float32)})
        self.values = self.block.arrays["x"]

    def copy(self, stream: Stream) -> None:
        self.cuda.copy(self.there, self.here, SIZE, stream)

    def clear(self, stream: Stream) -> None:
        self.cuda.clear(self.here, SIZE, stream)


def no_wait(bench: Bench) -> None:
    bench.clear(bench.one)
    bench.copy(bench.two)


def wait_too_early(bench: Bench) -> None:
    bench.cuda.record(bench.event, bench.one)
    bench.clear(bench.one)
    bench.cuda.wait(bench.two, bench.event)
    bench.copy(bench.two)


def overwritten_while_read(bench: Bench) -> None:
    bench.copy(bench.one)
    bench.clear(bench.two)


def host_writes_what_is_sent(bench: Bench) -> None:
    bench.block.send(bench.one)
    bench.values[0] = 1.0


def host_reads_what_is_fetched(bench: Bench) -> None:
    bench.block.fetch(bench.one)
    np.add(bench.values, 1.0)


def another_thread_knows_nothing(bench: Bench) -> None:
    bench.copy(bench.one)
    bench.cuda.record(bench.event, bench.one)
    waits = threading.Thread(target=bench.cuda.synchronize, args=(bench.event,))
    waits.start()
    while waits.is_alive():  # not a `join`: nothing is handed on
        pass
    bench.clear(bench.two)


def a_recording(bench: Bench) -> None:
    bench.cuda.begin_recording(bench.one)
    bench.clear(bench.one)
    sequence = bench.cuda.end_recording(bench.one)
    bench.copy(bench.two)
    bench.cuda.launch(sequence, bench.one)


SEEDS = [no_wait, wait_too_early, overwritten_while_read, host_writes_what_is_sent, host_reads_what_is_fetched,
         another_thread_knows_nothing, a_recording]  # fmt: skip


@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_in_no_order_is_found(races: list[str], seed: Callable[[Bench], None], eager: bool) -> None:
    bench = Bench(eager=eager)
    seed(bench)
    bench.cuda.end_work()
    assert len(races) == 1, races
    races.clear()


def test_it_is_told_who_and_where() -> None:
    told = re.escape("a copy reads what a clear wrote, and neither comes first (at 0 of 256 bytes)")
    with pytest.raises(AssertionError, match=told), no_races():
        no_wait(Bench())


@pytest.mark.usefixtures("races")
@pytest.mark.parametrize("eager", [True, False])
def test_what_is_in_order_is_not_found(eager: bool) -> None:
    bench = Bench(eager=eager)
    bench.values[:] = 1.0
    bench.block.send(bench.one)
    bench.clear(bench.one)
    bench.cuda.record(bench.event, bench.one)
    bench.cuda.wait(bench.two, bench.event)
    bench.copy(bench.two)
    columns, sent = bench.cuda.allocate(SIZE), bench.block.addresses["x"]
    bench.cuda.copy_rows(columns, 16, bench.there, 16, 8, 4, bench.two)
    bench.cuda.copy_rows(columns + 8, 16, sent, 16, 8, 4, bench.one)
    bench.cuda.synchronize(bench.event)  # what was sent is sent
    bench.values[:] = 2.0
    assert bench.values[0] == 2.0
    bench.cuda.end_work()


@pytest.mark.usefixtures("races")
def test_rings_hand_on_what_their_writer_has_waited_for() -> None:
    bench, ring = Bench(), Ring(1)

    def write() -> None:
        bench.copy(bench.one)
        bench.cuda.record(bench.event, bench.one)
        bench.cuda.synchronize(bench.event)
        ring.write_nowait(np.zeros(1, np.float32))

    threading.Thread(target=write).start()
    while not ring.read_into(np.zeros(1, np.float32)):
        pass
    bench.clear(bench.two)


# -- a whole engine, in which one thing is missing --------------------------------------------------------------------


def nobody_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FakeCuda, "synchronize", lambda self, event: None)


def first_runs_go_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FakeCuda, "settle", lambda self: None)


def stages_share_scratch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tensorrt_stages, "_CODEC_SCRATCH", "scratch")


@pytest.mark.parametrize("fault", [nobody_waits, first_runs_go_on, stages_share_scratch])
def test_a_fault_of_an_engine_is_found(
    voice: Voice, plans: Plans, races: list[str], monkeypatch: pytest.MonkeyPatch, fault: Callable[..., None]
) -> None:
    """Though the device does everything at once, and so everybody says what they should."""
    fault(monkeypatch)
    with open_engine(voice, plans[ROWS_STEPPED], FakeCuda(integrated=True)) as engine:
        for utterance in [start(engine, 2) for _ in range(SLOTS)]:
            hear(utterance)
    assert races
    races.clear()
