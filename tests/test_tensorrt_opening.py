"""A TensorRT engine that opens and closes: what is settled first, what fails midway, what it lets go of and when."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
import numpy as np
import onnx
import pytest

from engines.contract import Sampling
from engines.cuda_memory import Want, allocate
from engines.engine import SpeechEngine
from engines.errors import DeviceError, DeviceLostError, PlanError
from engines.graph_names import SAMPLING_INPUTS, FrameInputs, FrameOutputs
from engines.plan_files import Plan
from engines.plan_set import PlanGraph
from engines.sampling import resolve_sampling
from engines.stages import frame_inputs
from engines.tensorrt_memory import TALKER_CACHE, code_want, fill_constants, frame_wants
from engines.tensorrt_recording import Recorder
from engines.tensorrt_stages import NO_GRAPH
from export.attention_tensorrt import AttentionForm
from export.tensorrt import FrameShape
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import SCRATCH_BYTES, FakeContext, FakeEngine, FakeLoader
from tests.tensorrt_rig import (
    CONFIG,
    PIECE,
    POSITIONS,
    ROWS_STEPPED,
    SLOTS,
    Plans,
    Said,
    Voice,
    check,
    hear,
    open_engine,
    open_stages,
    start,
)

Shapes = dict[str, tuple[int, ...]]
pytestmark = pytest.mark.usefixtures("races")


def test_every_slot_has_run_a_prompt_before_the_first_listener_comes(voice: Voice, plans: Plans) -> None:
    cuda = FakeCuda()
    stages = open_stages(voice, plans[ROWS_STEPPED], cuda)
    assert len(cuda.called("prefill")) == SLOTS
    assert [call.about for call in cuda.called("stream")] == [(True,), (False,)], "the talker is in a hurry"
    stages.close()


def test_the_largest_engine_is_loaded_first(voice: Voice, plans: Plans) -> None:
    """While there is still one piece of memory that holds it."""
    plan, cuda, loaded = plans[ROWS_STEPPED], FakeCuda(), list[int]()

    class Noting(FakeLoader):
        def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
            loaded.append(graph.bytes)
            return super().load(plan, graph)

    sizes = dict(zip(("codec", "prefill", "step", "talker"), (10, 30, 20, 40), strict=True))
    graphs = tuple(msgspec.structs.replace(graph, bytes=sizes[graph.role]) for graph in plan.about.graphs)
    sized = Plan(plan.folder, msgspec.structs.replace(plan.about, graphs=graphs))
    open_stages(voice, sized, cuda, Noting(cuda)).close()
    assert loaded == [40, 30, 20, 10]


@pytest.mark.parametrize("hungriest", ["prefill", "step", "talker", "codec"])
def test_the_memory_that_engines_share_is_enough_for_each(voice: Voice, plans: Plans, hungriest: str) -> None:
    """A stand-in that is given less says so; TensorRT would write into what lies behind."""

    class Hungry(FakeLoader):
        def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
            engine = super().load(plan, graph)
            engine.scratch_bytes *= 33 if graph.role == hungriest else 1
            return engine

    cuda = FakeCuda()
    open_stages(voice, plans[ROWS_STEPPED], cuda, Hungry(cuda)).close()
    assert cuda.allocated.count(33 * SCRATCH_BYTES) == 1, "the codec's is not shared: it runs beside the talker's"


@pytest.mark.parametrize(("slots", "piece", "rows"), [(4, 2, 4), (4, 16, 16)])
def test_new_rows_have_room_for_a_frame_of_all_slots_and_for_a_piece_of_a_prompt(
    voice: Voice, plans: Plans, slots: int, piece: int, rows: int
) -> None:
    about, stack = plans[ROWS_STEPPED].about, voice.bundle.manifest.talker
    sizes = msgspec.structs.replace(about.sizes, slots=slots, prefill_rows=piece)
    wants = frame_wants(voice.bundle.manifest, msgspec.structs.replace(about, sizes=sizes))
    fresh = wants[f"{TALKER_CACHE}.fresh"]
    assert fresh.nbytes >= 2 * stack.layers * rows * stack.kv_heads * stack.head_dim * 4
    in_place = frame_wants(voice.bundle.manifest, msgspec.structs.replace(about, attention="in_place"))
    assert not any("fresh" in name for name in in_place), "they are written where they belong"


def overhear(
    monkeypatch: pytest.MonkeyPatch, role: str, note: Callable[[FakeContext, dict[str, int], Shapes], None]
) -> None:
    """Have every run of a graph's noted before it is done."""
    run = FakeContext._run

    def noting(self: FakeContext, addresses: dict[str, int], shapes: Shapes) -> None:
        if self._engine.graph.role == role:
            note(self, addresses, shapes)
        run(self, addresses, shapes)

    monkeypatch.setattr(FakeContext, "_run", noting)


@pytest.mark.parametrize(("shape", "role"), [(FrameShape.UNROLLED, "frame"), (FrameShape.STEPPED, "talker")])
def test_memory_has_the_shapes_that_graphs_declare(voice: Voice, plans: Plans, shape: FrameShape, role: str) -> None:
    """Other plans of this voice have as many slots as it has codebooks, and would not tell the one from the other."""
    plan, manifest, slots = plans[AttentionForm.ROWS, shape], voice.bundle.manifest, 2
    sizes = msgspec.structs.replace(plan.about.sizes, slots=slots)
    about = msgspec.structs.replace(plan.about, sizes=sizes)
    written = {name: Want(*each) for name, each in frame_inputs(manifest, slots).items()}
    wants = frame_wants(manifest, about) | written | {FrameOutputs.CODES: code_want(manifest, about)}
    wants = {name.removesuffix(".0"): want for name, want in wants.items()}
    graph = onnx.load(plan.folder / f"{role}.onnx", load_external_data=False).graph
    declared = {
        value.name: tuple(dim.dim_value or slots for dim in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.output)
    }
    shared = wants.keys() & declared.keys()
    assert {*SAMPLING_INPUTS, FrameInputs.NOISE, FrameInputs.SEEN, FrameInputs.CODEC_ROWS} <= shared
    assert (FrameOutputs.CODES in shared) == (shape is FrameShape.UNROLLED)
    assert {name: wants[name].shape for name in shared} == {name: declared[name] for name in shared}


def test_every_piece_of_a_prompt_is_run_with_its_own_rows(
    voice: Voice, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = list[int]()
    overhear(monkeypatch, "prefill", lambda context, addresses, shapes: ran.append(shapes[FrameInputs.CODEC_ROWS][1]))
    resize, resized = FakeContext.resize, list[int]()

    def noting_sizes(self: FakeContext, sizes: Mapping[str, int]) -> None:
        resized.append(sizes["S"])
        resize(self, sizes)

    cuda, pieces = FakeCuda(), [(0, 2), (1, 1), (0, 2), (1, 3), (0, 1)]
    stages = open_stages(voice, plans[ROWS_STEPPED], cuda)
    monkeypatch.setattr(FakeContext, "resize", noting_sizes)
    ran.clear()
    for slot, count in pieces:
        rows = np.zeros((count, voice.bundle.manifest.talker.hidden), np.float32)
        stages.talker.prefill(slot, rows, rows, last=False)
    assert ran == [count for _, count in pieces]
    assert resized == [2, 3, 1], "TensorRT works out a new size at length; a slot's next piece is mostly as long"
    assert [stages.talker.length(slot) for slot in range(2)] == [5, 4]
    stages.close()


def test_a_row_that_is_void_lies_behind_all_that_count(
    voice: Voice, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever rests with one position left loses no row by the others' steps."""
    lengths = list[list[int]]()

    def note(context: FakeContext, addresses: dict[str, int], shapes: Shapes) -> None:
        kinds = {
            name: np.int64 if "int" in context._engine.inputs[name].type else np.float32 for name in SAMPLING_INPUTS
        }
        given = {
            name: context._memory(addresses[name], shapes[name], np.dtype(kind), writes=False)
            for name, kind in {**kinds, FrameInputs.PAST_LENGTHS: np.int32}.items()
        }
        lengths.append(given.pop(FrameInputs.PAST_LENGTHS).tolist())
        assert all((values > 0).all() for values in given.values()), "it is computed, with numbers that can be"

    overhear(monkeypatch, "talker", note)
    cuda, manifest = FakeCuda(), voice.bundle.manifest
    stages = open_stages(voice, plans[ROWS_STEPPED], cuda)
    talker, hidden = stages.talker, manifest.talker.hidden
    for slot, rows in ((1, POSITIONS - 1), (2, 3)):
        talker.begin(slot, resolve_sampling(Sampling(), 0, manifest.sampling))
        for begin in range(0, rows, PIECE):
            piece = np.zeros((min(PIECE, rows - begin), hidden), np.float32)
            talker.prefill(slot, piece, piece, last=False)
    lengths.clear()
    for slot in (2, 1, 2):
        talker.step([slot])
    assert lengths == [[0, POSITIONS - 1, 3, 0], [0, POSITIONS - 1], [0, POSITIONS - 1, 4, 0]]
    stages.close()


@pytest.mark.parametrize(("stage", "refused"), [("the talker", "talker"), ("the codec", "clear")])
def test_what_cannot_be_recorded_goes_on_piece_by_piece(
    voice: Voice, plans: Plans, alone: dict[int, Said], caplog: pytest.LogCaptureFixture, stage: str, refused: str
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


def test_what_cannot_even_be_put_piece_by_piece_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    cuda = FakeCuda()
    stream, done = cuda.stream(urgent=True), list[bool]()
    recorder = Recorder(cuda, stream, "the talker", recorded=True)

    def put() -> None:
        done.append(cuda.recording)
        raise DeviceError("no kernel")

    with pytest.raises(DeviceError, match="no kernel"):
        recorder.recorded(put)
    assert done == [True, False]
    assert not caplog.records, "nothing goes on"
    recorder.recorded(lambda: done.append(cuda.recording))()
    assert done == [True, False, False], "nothing more is recorded on this stream"


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_tables_of_another_kind_are_refused(voice: Voice, plans: Plans, dtype: Literal["float32", "float16"]) -> None:
    """Their bytes would be read as other numbers."""
    plan, manifest, cuda = plans[ROWS_STEPPED], voice.bundle.manifest, FakeCuda()
    memory = allocate(cuda, frame_wants(manifest, msgspec.structs.replace(plan.about, dtype=dtype)))
    if dtype == plan.about.dtype:
        fill_constants(cuda, plan, manifest, memory)
        return
    with pytest.raises(PlanError, match=r"a table of the plan is float32 \(.*\), not float16"):
        fill_constants(cuda, plan, manifest, memory)


@pytest.mark.parametrize("what", ["upload", "talker", "codec", "stream"])
def test_what_cannot_be_opened_gives_everything_back(voice: Voice, plans: Plans, what: str) -> None:
    cuda = FakeCuda()
    cuda.fails = lambda called: called == what
    with pytest.raises(DeviceError, match=f"fails in {what}"):
        open_engine(voice, plans[ROWS_STEPPED], cuda)
    assert len(cuda.called("close")) == 1


def test_a_first_run_that_fails_on_the_device_is_told_while_there_are_other_ways(
    voice: Voice, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to the first listener: CUDA tells of it only to whoever waits."""

    def fail(*_: object) -> None:
        raise DeviceLostError("an illegal memory access was encountered")

    monkeypatch.setattr(FakeContext, "_run", fail)
    cuda = FakeCuda(eager=False)
    with pytest.raises(DeviceError, match="illegal memory access"):
        open_stages(voice, plans[ROWS_STEPPED], cuda)
    assert cuda.calls[-1].what == "close"


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
        stages = open_stages(voice, plans[AttentionForm.ROWS, shape], cuda, loader)
        with SpeechEngine(voice.bundle, stages, CONFIG) as engine:
            del stages
            hear(start(engine, 1))
            assert all(loaded.alive for loaded in loader.loaded)
        talking, codec = ["end_work"], ["end_work", "end_work"]
        assert sorted(loader.gone) == [talking] * (len(loader.loaded) - 1) + [codec]
        assert cuda.calls[-1].what == "close"
    finally:
        gc.enable()
