"""What an engine runs on: the best that is there, and a sentence that says why not better."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pytest

from engines import backends, tensorrt_stages
from engines.backends import BackendName, choose_backend, open_stages
from engines.bundle import Bundle, open_bundle
from engines.contract import SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import BundleError, DeviceError, EngineClosedError, GpuError, NoGpuError
from engines.plan_files import Plan, bundle_hash, write_plan_set
from engines.plan_set import PlanGraph, PlanKey
from engines.runner_ort import OrtRunner
from engines.runner_ort_cuda import OrtDevice, OrtDeviceRunner
from engines.tensorrt_stages import NO_GRAPH
from export.attention_tensorrt import AttentionForm
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, read_source
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import FakeEngine, FakeLoader
from tests.tensorrt_plan import write_plan

CONFIG = EngineConfig(slots=2, positions=48, prefill_rows=16, codec_chunk_frames=4, precision="fp32")


def with_plans(cache: Path, backend: str = "auto") -> EngineConfig:
    """The configuration with a cache of plans."""
    return replace(CONFIG, plans=str(cache), backend=backend)


@pytest.fixture
def bundle(tiny_bundle: Path) -> Bundle:
    return open_bundle(tiny_bundle)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    """A GPU and a TensorRT, but no plan."""
    cuda, library, door = FakeCuda(), types.ModuleType("tensorrt"), types.ModuleType("engines.tensorrt_engine")
    library.__version__ = "11.0.0"  # type: ignore[attr-defined]
    door.TensorRtLoader = lambda: FakeLoader(cuda)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorrt", library)
    monkeypatch.setitem(sys.modules, "engines.tensorrt_engine", door)
    monkeypatch.setattr(tensorrt_stages, "CudaApi", lambda: cuda)
    monkeypatch.setattr(backends, "check_gpu", lambda: None)
    monkeypatch.setattr(backends, "cuda_fault", lambda: "no CUDA provider")
    return cuda


def write_matching_plan(bundle: Bundle, checkpoint: Path, cache: Path, **other: str) -> Plan:
    """A plan for the fake GPU."""
    manifest = bundle.manifest
    source = read_source(checkpoint, manifest.sampling.max_top_k, manifest.limits.max_positions)
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, np.float32, Precision.FP32, 2, 48)
    folder = cache / "plan"
    folder.mkdir(parents=True)
    plan = write_plan(source, choice, manifest, folder, 4, 16)
    key = PlanKey(
        bundle=bundle_hash(bundle.path), tensorrt="11.0.0", device="Fake", architecture="sm_00", precision="fp32"
    )
    about = msgspec.structs.replace(plan.about, key=msgspec.structs.replace(key, **other))
    write_plan_set(folder, about)
    return Plan(folder, about)


def test_without_a_gpu_the_processor_speaks_and_says_so(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise NoGpuError("no NVIDIA GPU is here")

    monkeypatch.setattr(backends, "check_gpu", none)
    found = choose_backend(bundle, CONFIG)
    assert (found.name, found.falls_back) == (BackendName.CPU, False)
    assert found.sentence == "speaking with ONNX Runtime on the processor (no NVIDIA GPU is here)"


def test_every_fallback_has_its_reason(bundle: Bundle, gpu: FakeCuda, tmp_path: Path) -> None:
    found = choose_backend(bundle, with_plans(tmp_path))
    assert (found.name, found.falls_back) == (BackendName.CPU, True)
    assert "TensorRT: there is no TensorRT plan for this bundle" in found.sentence
    assert "ONNX Runtime on CUDA: no CUDA provider" in found.sentence
    older = msgspec.structs.replace(bundle.manifest.graphs, frame_cuda=None)
    bundle = replace(bundle, manifest=msgspec.structs.replace(bundle.manifest, graphs=older))
    assert "ONNX Runtime on CUDA: the bundle was made before" in choose_backend(bundle, with_plans(tmp_path)).sentence


@pytest.mark.usefixtures("gpu")
def test_onnx_runtime_on_a_device_speaks_with_the_graphs_made_for_it(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is the processor's provider, handled as CUDA's would be."""
    loaded = list[str]()

    def stand_in(graph: Path) -> OrtDeviceRunner:
        loaded.append(graph.name)
        return OrtDeviceRunner(graph, OrtDevice("CPUExecutionProvider", "cpu"))

    monkeypatch.setattr(backends, "cuda_fault", lambda: None)
    monkeypatch.setattr(backends, "OrtDeviceRunner", stand_in)
    with SpeechEngine.open(bundle.path, replace(CONFIG, backend="cuda")) as engine:
        assert (engine.sentence, engine.falls_back) == ("speaking with ONNX Runtime on CUDA", False)
        utterance = engine.start(SpeechRequest(seed=3, max_frames=6, keep_codes=True))
        utterance.feed((50, 51, 52))
        utterance.end_of_text()
        outcome = utterance.outcome.result(60.0)
    graphs = bundle.manifest.graphs
    assert loaded == [graphs.frame_cuda, graphs.codec]
    assert outcome.codes is not None, outcome.error
    assert len(outcome.codes) > 0


@pytest.mark.parametrize(("wish", "ahead"), [(True, True), (False, False), ("auto", False)])
def test_a_processor_launches_ahead_only_where_it_is_told_to(
    bundle: Bundle, wish: bool | Literal["auto"], ahead: bool
) -> None:
    stages = open_stages(bundle, replace(CONFIG, backend="cpu", async_scheduling=wish))
    assert stages.ahead is ahead
    stages.talker.close()
    stages.close()


def test_a_gpu_without_tensorrt_is_told_how_to_come_by_it(
    bundle: Bundle, gpu: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    found = choose_backend(bundle, with_plans(tmp_path))
    assert (found.name, found.falls_back) == (BackendName.CPU, True)
    assert "TensorRT: TensorRT is not installed (" in found.sentence
    assert "scripts/setup finds or installs it" in found.sentence


def test_what_was_asked_for_is_not_replaced(bundle: Bundle, gpu: FakeCuda, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no TensorRT plan.*speakd build"):
        choose_backend(bundle, with_plans(tmp_path, backend="tensorrt"))
    with pytest.raises(BundleError, match="unknown backend 'abacus'"):
        choose_backend(bundle, with_plans(tmp_path, backend="abacus"))


def test_a_plan_of_another_device_is_not_loaded(
    bundle: Bundle, tiny_checkpoint: Path, gpu: FakeCuda, tmp_path: Path
) -> None:
    write_matching_plan(bundle, tiny_checkpoint, tmp_path, architecture="sm_99")
    found = choose_backend(bundle, with_plans(tmp_path))
    assert found.name is not BackendName.TENSORRT
    assert "architecture is sm_00, it was built for sm_99" in found.sentence


def test_a_plan_that_serves_is_spoken_with(
    bundle: Bundle, tiny_checkpoint: Path, gpu: FakeCuda, tmp_path: Path
) -> None:
    write_matching_plan(bundle, tiny_checkpoint, tmp_path)
    said = []
    for backend in ("auto", "cpu"):
        with SpeechEngine.open(bundle.path, with_plans(tmp_path, backend=backend)) as engine:
            assert ("with TensorRT" in engine.sentence) is (backend == "auto")
            utterance = engine.start(SpeechRequest(seed=3, max_frames=6, keep_codes=True))
            utterance.feed((50, 51, 52))
            utterance.end_of_text()
            said.append(utterance.outcome.result(60.0).codes)
    assert gpu.called("prefill", "talker", "step", "codec")
    assert gpu.called("close")
    on_tensorrt, on_processor = said
    assert on_tensorrt is not None
    assert on_processor is not None
    assert np.array_equal(on_tensorrt, on_processor)


@pytest.mark.parametrize("no_graph", ["", "1"])
def test_a_plan_that_cannot_be_opened_gives_way_and_says_why(
    bundle: Bundle, tiny_checkpoint: Path, gpu: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_graph: str
) -> None:
    engines = list[weakref.ref[FakeEngine]]()

    class Watched(FakeLoader):
        def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
            engine = super().load(plan, graph)
            engines.append(weakref.ref(engine))
            return engine

    monkeypatch.setattr(sys.modules["engines.tensorrt_engine"], "TensorRtLoader", lambda: Watched(gpu))
    monkeypatch.setenv(NO_GRAPH, no_graph)
    write_matching_plan(bundle, tiny_checkpoint, tmp_path)
    gpu.fails = lambda what: what == "codec"  # the talker is open by then
    with SpeechEngine.open(bundle.path, with_plans(tmp_path)) as engine:
        assert engine.falls_back
        assert len(engines) == 4
        assert not any(left() for left in engines), "the processor's graphs do not lie beside them"
        assert engine.sentence.startswith(
            "speaking with ONNX Runtime on the processor (TensorRT: the fake device fails"
        )
    assert len(gpu.called("close")) == 1
    with pytest.raises(DeviceError, match="fails in codec"):
        SpeechEngine.open(bundle.path, with_plans(tmp_path, backend="tensorrt"))
    assert len(gpu.called("close")) == 2


def test_a_closed_engine_holds_no_graph_though_nothing_is_collected(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = []

    class Watched(OrtRunner):
        def __init__(self, graph: Path, threads: int = 1, *, spinning: bool = False) -> None:
            super().__init__(graph, threads, spinning=spinning)
            sessions.append(weakref.ref(self._session))

    monkeypatch.setattr(backends, "OrtRunner", Watched)
    gc.disable()
    try:
        with SpeechEngine.open(bundle.path, replace(CONFIG, backend="cpu", async_scheduling=True)) as engine:
            engine.warm_up()
            utterance = engine.start(SpeechRequest(seed=3, max_frames=6))
            utterance.feed((50, 51, 52))
            utterance.end_of_text()
            utterance.outcome.result(60.0)
        assert [session() for session in sessions] == [None, None]
        with pytest.raises(EngineClosedError):
            engine.start(SpeechRequest())
        engine.warm_up()
        engine.close()
    finally:
        gc.enable()


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_fails_is_a_reason_too_but_is_not_asked_without_a_plan_that_could_serve(
    bundle: Bundle, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> FakeCuda:
        raise GpuError("install an NVIDIA driver")

    monkeypatch.setattr(tensorrt_stages, "CudaApi", broken)
    assert "TensorRT: there is no TensorRT plan" in choose_backend(bundle, with_plans(tmp_path)).sentence
    older, same = tmp_path / "older", tmp_path / "same"
    write_matching_plan(bundle, tiny_checkpoint, older, tensorrt="10.3.0")
    sentence = choose_backend(bundle, with_plans(older)).sentence
    assert "tensorrt is 11.0.0, it was built for 10.3.0" in sentence
    write_matching_plan(bundle, tiny_checkpoint, same)
    assert "TensorRT: install an NVIDIA driver" in choose_backend(bundle, with_plans(same)).sentence
