"""Codes on their way from the talker's stream to the codec's, which nobody but an event holds back."""

from __future__ import annotations

import numpy as np
import pytest

from engines.cuda_memory import SharedBlock, Want, allocate
from engines.errors import PlanError
from engines.plan_set import PlanGraph
from engines.tensorrt_contract import profile_of
from engines.tensorrt_history import CodeHistory
from tests.fake_cuda import FakeCuda

BOOKS, SLOTS = 3, 2


@pytest.mark.usefixtures("races")
@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("frames", [1, 3, 20])
def test_the_codec_waits_for_the_run_that_made_the_last_frame(eager: bool, frames: int) -> None:
    cuda = FakeCuda(eager=eager)
    talker, codec = cuda.stream(urgent=True), cuda.stream(urgent=False)
    history = CodeHistory(cuda, allocate(cuda, {"history": CodeHistory.want(SLOTS, 30, BOOKS)})["history"])
    made = SharedBlock(cuda, {"codes": Want((20, SLOTS, BOOKS), np.int64)})
    heard = SharedBlock(cuda, {"codes": Want((20, BOOKS), np.int64)})
    made.arrays["codes"][:] = np.arange(20 * SLOTS * BOOKS).reshape(20, SLOTS, BOOKS)
    made.send(talker)
    row = BOOKS * 8
    events = []
    for frame in range(20):  # two runs, one frame of each slot in each
        for slot in range(SLOTS):
            history.put(slot, frame, made.addresses["codes"] + (frame * SLOTS + slot) * row, 8, talker)
        events.append(history.end_run(talker))
    cuda.calls.clear()
    history.fetch(1, 20 - frames, frames, heard.addresses["codes"], codec)
    waited = [call.event for call in cuda.called("wait") if call.stream == codec]
    assert waited == [events[-1]]
    heard.fetch(codec)
    done = cuda.event()
    cuda.record(done, codec)
    cuda.synchronize(done)  # the talker's stream was never waited for by the host
    assert np.array_equal(heard.arrays["codes"][:frames], made.arrays["codes"][20 - frames :, 1])


def test_a_run_long_ago_is_not_waited_for() -> None:
    cuda = FakeCuda()
    talker, codec = cuda.stream(urgent=True), cuda.stream(urgent=False)
    memory = allocate(cuda, {"history": CodeHistory.want(SLOTS, 30, BOOKS), "codes": Want((30, BOOKS), np.int64)})
    history = CodeHistory(cuda, memory["history"])
    for frame in range(20):
        history.put(0, frame, memory["codes"].address, 8, talker)
        history.end_run(talker)
    history.fetch(0, 0, 5, memory["codes"].address, codec)
    assert not cuda.called("wait")


def test_who_asks_beyond_the_last_frame_is_given_what_is_there() -> None:
    """So the codec may go on past the end of a slot that nobody listens to."""
    cuda = FakeCuda()
    stream = cuda.stream(urgent=False)
    memory = allocate(cuda, {"history": CodeHistory.want(SLOTS, 30, BOOKS), "codes": Want((5, BOOKS), np.int64)})
    CodeHistory(cuda, memory["history"]).fetch(SLOTS - 1, 28, 5, memory["codes"].address, stream)
    [call] = cuda.called("copy")
    row = BOOKS * 8
    assert call.about == (memory["codes"].address, memory["history"].address + (SLOTS * 30 - 5) * row, 5 * row)


def test_the_first_profile_that_fits_is_taken() -> None:
    graph = PlanGraph(
        file="codec", bytes=0, sha256="", role="codec", inputs={"codes": ("B", "T")},
        profiles=({"B": (1, 1, 1), "T": (1, 4, 9)}, {"B": (2, 4, 4), "T": (1, 1, 1)}, {"B": (2, 4, 4), "T": (1, 4, 9)}),
    )  # fmt: skip
    asked = [(1, 1), (1, 9), (2, 1), (3, 2), (4, 9)]
    assert [profile_of(graph, {"B": slots, "T": frames}) for slots, frames in asked] == [0, 0, 1, 2, 2]
    with pytest.raises(PlanError, match="was not built for"):
        profile_of(graph, {"B": 4, "T": 10})
