"""The TensorRT side of the engine, driven through both borders: same codes, same sound, and the order of its work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engines.contract import End
from engines.tensorrt_stages import NO_GRAPH
from export.attention_tensorrt import AttentionForm
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice
from tests.fake_cuda import FakeCuda
from tests.tensorrt_machine import FORMS, NEEDS_OPSET_24
from tests.tensorrt_plan import write_plan
from tests.tensorrt_rig import (
    CHUNK,
    CONFIG,
    PIECE,
    POSITIONS,
    REQUESTS,
    ROWS_STEPPED,
    SLOTS,
    SOON,
    TEXTS,
    Plans,
    Said,
    Voice,
    check,
    hear,
    open_engine,
    start,
)

pytestmark = pytest.mark.usefixtures("races")


@pytest.fixture(scope="module")
def longest(alone: dict[int, Said]) -> int:
    """Who speaks longest."""
    number = max(alone, key=lambda number: len(alone[number].codes))
    assert len(alone[number].codes) > 12
    return number


@pytest.fixture(params=[True, False], ids=["early", "late"])
def cuda(request: pytest.FixtureRequest) -> Iterator[FakeCuda]:
    """A device that does everything at once, and one that does nothing before somebody waits for it."""
    made = FakeCuda(eager=request.param)
    yield made
    assert made.called("close")


@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", FORMS)
def test_same_codes_and_sound_as_onnx_runtime(
    voice: Voice,
    plans: Plans,
    alone: dict[int, Said],
    cuda: FakeCuda,
    form: AttentionForm,
    shape: FrameShape,
) -> None:
    check(open_engine(voice, plans[form, shape], cuda), alone)


def test_who_leaves_in_the_middle_disturbs_nobody(
    voice: Voice, plans: Plans, alone: dict[int, Said], cuda: FakeCuda, longest: int
) -> None:
    """His next frame is under way when he goes; whoever gets his slot says what he says alone."""
    with open_engine(voice, plans[ROWS_STEPPED], cuda) as engine:
        for _ in range(3):
            leaving = [start(engine, longest) for _ in range(SLOTS)]
            staying = {number: start(engine, number) for number in REQUESTS}
            for utterance in leaving:
                utterance.pcm.read(1, SOON)
                utterance.cancel()
            ends = {utterance.outcome.result(SOON).end for utterance in leaving}
            assert ends <= {End.CANCELLED, End.END, End.LIMIT}  # some may have been quicker
            for number, utterance in staying.items():
                said = hear(utterance)
                assert np.array_equal(said.codes, alone[number].codes), number
                assert np.abs(said.pcm - alone[number].pcm).max() < 1e-4
        state = engine.statistics()
    assert (state.speaking, state.waiting, state.failure) == (0, 0, None)


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        pytest.param(AttentionForm.IN_PLACE, FrameShape.UNROLLED, marks=NEEDS_OPSET_24),
        (AttentionForm.ROWS, FrameShape.STEPPED),
    ],
)
def test_narrow_caches_and_states_lie_where_they_should(
    voice: Voice, tmp_path: Path, form: AttentionForm, shape: FrameShape
) -> None:
    """In half precision codes are not those of the full one, but alone and in company they are the same."""
    choice = TensorRtChoice(form, shape, np.float16, Precision.INT8, 4, POSITIONS)
    plan = write_plan(voice.source, choice, voice.bundle.manifest, tmp_path, CHUNK, PIECE)
    with open_engine(voice, plan, FakeCuda()) as engine:
        alone = {number: hear(start(engine, number)) for number in REQUESTS}
    check(open_engine(voice, plan, FakeCuda(eager=False)), alone, near=2e-2)  # half a codec rounds by its chunks


def test_some_end_by_themselves(alone: dict[int, Said]) -> None:
    """So that the comparison with a crowd shows that frames launched after an end are dropped."""
    frames = {number: len(said.codes) for number, said in alone.items()}
    assert any(frames[number] < (REQUESTS[number].max_frames or 0) for number in REQUESTS), frames


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("integrated", [True, False])
def test_the_escape_hatch_and_shared_memory_change_nothing(
    voice: Voice, plans: Plans, alone: dict[int, Said], monkeypatch: pytest.MonkeyPatch, integrated: bool, ahead: bool
) -> None:
    monkeypatch.setenv(NO_GRAPH, "1")
    cuda = FakeCuda(eager=False, integrated=integrated)
    config = replace(CONFIG, async_scheduling=ahead)
    check(open_engine(voice, plans[ROWS_STEPPED], cuda, config), alone)
    assert not cuda.called("begin_recording", "launch")


def test_a_run_has_as_few_slots_as_will_do(
    voice: Voice, plans: Plans, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NO_GRAPH, "1")
    cuda = FakeCuda()
    with open_engine(voice, plans[ROWS_STEPPED], cuda) as engine:
        cuda.calls.clear()
        hear(start(engine, longest))
        alone = {call.about for call in cuda.called("talker", "step", "codec")}
        crowd = [start(engine, longest) for _ in range(SLOTS)]
        for utterance in crowd:
            hear(utterance)
        together = {call.about for call in cuda.called("talker", "step", "codec")}
    assert alone == {(1,)}
    assert {(1,), (4,)} <= together <= {(1,), (2,), (4,)}, "three speak in the first four of the plan's slots"


def frame_moments(cuda: FakeCuda) -> tuple[list[int], list[int]]:
    """When frames were launched and when they were waited for, as numbers of calls, after set-up."""
    launched: list[int] = []
    collected: list[int] = []
    talker = next(call.stream for call in cuda.called("prefill"))
    events: set[int] = set()
    in_piece = False
    for at, call in enumerate(cuda.calls):
        if call.what == "prefill":
            in_piece = True
        elif call.what == "launch" and call.stream == talker:
            launched.append(at)
        elif call.what == "record" and call.stream == talker:
            if not in_piece:
                events.add(call.event)
            in_piece = False
        elif call.what == "synchronize" and call.event in events:
            collected.append(at)
    return launched, collected


@pytest.mark.parametrize("ahead", [True, False])
def test_the_next_frame_is_launched_before_the_last_one_is_waited_for(
    voice: Voice, plans: Plans, longest: int, ahead: bool
) -> None:
    cuda = FakeCuda(eager=False)
    config = replace(CONFIG, async_scheduling=ahead, async_chunks=False)  # the ring has room, however slow the codec
    with open_engine(voice, plans[ROWS_STEPPED], cuda, config) as engine:
        cuda.calls.clear()
        frames = len(hear(start(engine, longest)).codes)
        launched, collected = frame_moments(cuda)
    assert len(launched) == len(collected) >= frames
    early = [later < waited for later, waited in zip(launched[1:], collected, strict=False)]
    assert all(early) if ahead else not any(early)


def test_at_work_nothing_is_allocated_and_only_events_are_waited_for(voice: Voice, plans: Plans, longest: int) -> None:
    cuda = FakeCuda()
    with open_engine(voice, plans[ROWS_STEPPED], cuda) as engine:
        cuda.calls.clear()
        hear(start(engine, longest))
    kinds = {call.what for call in cuda.calls}
    assert kinds <= {
        "launch",
        "copy",
        "clear",
        "record",
        "wait",
        "synchronize",
        "prefill",
        "codec",
        "end_work",
        "close",
    }


@pytest.mark.parametrize("what", ["launch", "synchronize", "prefill", "codec", "wait", "clear"])
def test_a_device_that_breaks_ends_the_engine_with_the_reason(
    voice: Voice, plans: Plans, alone: dict[int, Said], what: str
) -> None:
    given = 8
    assert len(alone[4].codes) > given  # so it waits for more text: nobody else's prompt need come before its end
    cuda = FakeCuda()
    with open_engine(voice, plans[ROWS_STEPPED], cuda) as engine:
        waiting = engine.start(REQUESTS[4])
        waiting.feed(TEXTS[4][:4])
        waiting.pcm.read(1, SOON)
        late = engine.start(REQUESTS[2])  # without a text it does not begin
        cuda.fails = lambda called: called == what
        late.feed(TEXTS[2])
        late.end_of_text()
        waiting.feed(TEXTS[4][4:given])
        ends = [utterance.outcome.result(SOON) for utterance in (waiting, late)]
        failure = engine.statistics().failure or ""
    assert f"the fake device fails in {what}" in failure
    assert all(outcome.end is End.ERROR and failure in (outcome.error or "") for outcome in ends)
