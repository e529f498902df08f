"""The TensorRT side of the engine, driven through both borders: same codes, same sound, and the order of its work."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.bundle import Bundle, open_bundle
from engines.contract import Codes, End, Layout, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import DeviceError
from engines.plan_files import Plan
from engines.plan_set import PlanGraph
from engines.tensorrt_stages import NO_GRAPH, open_tensorrt
from engines.utterance import LiveUtterance
from export.attention_tensorrt import AttentionForm
from export.exporter import export_checkpoint
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, TensorRtSource, read_source
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import FakeEngine, FakeLoader
from tests.tensorrt_machine import FORMS, NEEDS_OPSET_24
from tests.tensorrt_plan import write_plan
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

SOON = 60.0
SLOTS, POSITIONS, PIECE, CHUNK = 3, 96, 16, 6
CONFIG = EngineConfig(
    slots=SLOTS, max_waiting=8, positions=POSITIONS, prefill_rows=PIECE, codec_chunk_frames=CHUNK, admission=False
)
REQUESTS = {
    number: SpeechRequest(
        seed=number,
        layout=Layout.STREAMING if number % 3 == 1 else Layout.WHOLE,
        max_frames=3 if number == 0 else 12 * number,
        initial_codec_chunk_frames=[None, 1, 4][number % 3],
        keep_codes=True,
    )
    for number in range(5)
}
TEXTS = {number: tuple(range(40 + number, 44 + 9 * number)) for number in REQUESTS}


@dataclass(frozen=True)
class Said:
    codes: Codes
    pcm: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Voice:
    bundle: Bundle
    source: TensorRtSource


Plans = dict[tuple[AttentionForm, FrameShape], Plan]


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    folder = tmp_path_factory.mktemp("stages")
    checkpoint = write_checkpoint(
        TinySpec(seed=11, codebooks=4, layers=2, predictor_hidden=48, end_gain=2.0), folder / "model"
    )
    manifest = export_checkpoint(checkpoint, folder / "bundle")
    source = read_source(checkpoint, manifest.sampling.max_top_k, manifest.limits.max_positions)
    return Voice(open_bundle(folder / "bundle"), source)


@pytest.fixture(scope="module")
def plans(voice: Voice, tmp_path_factory: pytest.TempPathFactory) -> Plans:
    """Made when first asked for."""

    class Made(Plans):
        def __missing__(self, key: tuple[AttentionForm, FrameShape]) -> Plan:
            form, shape = key
            choice = TensorRtChoice(form, shape, np.float32, Precision.FP32, 4, POSITIONS)
            folder = tmp_path_factory.mktemp("plan")
            self[key] = write_plan(voice.source, choice, voice.bundle.manifest, folder, CHUNK, PIECE)
            return self[key]

    return Made()


@pytest.fixture(scope="module")
def alone(voice: Voice) -> dict[int, Said]:
    """What ONNX Runtime says, one after the other."""
    with SpeechEngine.open(voice.bundle.path, CONFIG) as engine:
        return {number: hear(start(engine, number)) for number in REQUESTS}


@pytest.fixture(scope="module")
def longest(alone: dict[int, Said]) -> int:
    """Who speaks longest."""
    number = max(alone, key=lambda number: len(alone[number].codes))
    assert len(alone[number].codes) > 12
    return number


def start(engine: SpeechEngine, number: int) -> LiveUtterance:
    utterance = engine.start(REQUESTS[number])
    utterance.feed(TEXTS[number])
    utterance.end_of_text()
    return utterance


def hear(utterance: LiveUtterance) -> Said:
    parts = []
    while len(part := utterance.pcm.read(1 << 16, SOON)):
        parts.append(part)
    outcome = utterance.outcome.result(SOON)
    assert outcome.codes is not None, outcome.error
    return Said(outcome.codes, np.concatenate(parts))


def open_engine(voice: Voice, plan: Plan, cuda: FakeCuda, config: EngineConfig = CONFIG) -> SpeechEngine:
    stages = open_tensorrt(plan, voice.bundle.manifest, config, cuda, FakeLoader(cuda))
    engine = SpeechEngine(voice.bundle, stages, config)
    engine.warm_up()
    cuda.ready = True
    return engine


@pytest.fixture(params=[True, False], ids=["early", "late"])
def cuda(request: pytest.FixtureRequest) -> Iterator[FakeCuda]:
    """A device that does everything at once, and one that does nothing before somebody waits for it."""
    made = FakeCuda(eager=request.param)
    yield made
    assert made.called("close")


def check(engine: SpeechEngine, alone: dict[int, Said], near: float = 1e-4) -> None:
    """Everyone says what they say alone, twice over, in one crowd."""
    with engine:
        crowd = [(number, start(engine, number)) for _ in range(2) for number in REQUESTS]
        for number, utterance in crowd:
            said = hear(utterance)
            assert np.array_equal(said.codes, alone[number].codes), number
            assert np.abs(said.pcm - alone[number].pcm).max() < near
        assert engine.statistics().failure is None


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


ROWS_STEPPED = (AttentionForm.ROWS, FrameShape.STEPPED)
"""What every ONNX Runtime can run."""


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


@pytest.mark.parametrize(("stage", "refused"), [("the talker", "talker"), ("the codec", "clear")])
def test_what_cannot_be_recorded_goes_on_piece_by_piece(
    voice: Voice,
    plans: Plans,
    alone: dict[int, Said],
    caplog: pytest.LogCaptureFixture,
    stage: str,
    refused: str,
) -> None:
    cuda = FakeCuda()
    cuda.fails = lambda what: cuda.recording and what == refused
    engine = open_engine(voice, plans[ROWS_STEPPED], cuda)
    assert [record.getMessage() for record in caplog.records] == [
        f"{stage} cannot be recorded as one sequence (the fake device fails in {refused}); it goes on piece by piece,"
        " slower"
    ]
    check(engine, alone)
    assert len(cuda.called("abandon_recording")) == 1
    assert cuda.called("launch"), "the other stage is recorded"


@pytest.mark.parametrize("what", ["upload", "talker", "codec", "stream"])
def test_what_cannot_be_opened_gives_everything_back(voice: Voice, plans: Plans, what: str) -> None:
    cuda = FakeCuda()
    cuda.fails = lambda called: called == what
    with pytest.raises(DeviceError, match=f"fails in {what}"):
        open_engine(voice, plans[ROWS_STEPPED], cuda)
    assert len(cuda.called("close")) == 1


class WatchedLoader(FakeLoader):
    """Notes what CUDA was asked for by the time an engine goes."""

    def __init__(self, cuda: FakeCuda) -> None:
        super().__init__(cuda)
        self.watched = cuda
        self.gone: list[list[str]] = []
        self.loaded: list[weakref.finalize[[], FakeEngine]] = []

    def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
        engine = super().load(plan, graph)
        self.loaded.append(weakref.finalize(engine, self._note))
        return engine

    def _note(self) -> None:
        self.gone.append([call.what for call in self.watched.called("end_work", "close")])


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("shape", FrameShape)
def test_a_closed_engine_lets_its_weights_go_before_the_memory_and_though_nothing_is_collected(
    voice: Voice, plans: Plans, monkeypatch: pytest.MonkeyPatch, shape: FrameShape, recorded: bool
) -> None:
    monkeypatch.setenv(NO_GRAPH, "" if recorded else "1")
    cuda = FakeCuda(eager=False)
    loader = WatchedLoader(cuda)
    gc.disable()
    try:
        stages = open_tensorrt(plans[AttentionForm.ROWS, shape], voice.bundle.manifest, CONFIG, cuda, loader)
        with SpeechEngine(voice.bundle, stages, CONFIG) as engine:
            del stages
            hear(start(engine, 1))
            assert all(loaded.alive for loaded in loader.loaded)
        talking, codec = ["end_work"], ["end_work", "end_work"]
        assert sorted(loader.gone) == [talking] * (len(loader.loaded) - 1) + [codec]
        assert cuda.calls[-1].what == "close"
    finally:
        gc.enable()


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


@pytest.mark.parametrize("what", ["launch", "synchronize", "prefill", "codec", "wait"])
def test_a_device_that_breaks_ends_the_engine_with_the_reason(
    voice: Voice, plans: Plans, alone: dict[int, Said], what: str
) -> None:
    assert len(alone[4].codes) > 8  # it does not end while its text is waited for
    cuda = FakeCuda()
    with open_engine(voice, plans[ROWS_STEPPED], cuda) as engine:
        waiting = engine.start(REQUESTS[4])
        waiting.feed(TEXTS[4][:4])
        waiting.pcm.read(1, SOON)
        cuda.fails = lambda called: called == what
        late = start(engine, 2)
        waiting.feed(TEXTS[4][4:])
        ends = [utterance.outcome.result(SOON) for utterance in (waiting, late)]
        failure = engine.statistics().failure or ""
    assert f"the fake device fails in {what}" in failure
    assert all(outcome.end is End.ERROR and failure in (outcome.error or "") for outcome in ends)
