"""What is taken when the best is missing, and that it is said."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engines import backends
from engines.backends import BackendName, choose_backend
from engines.bundle import Bundle, open_bundle
from engines.codec import Codec
from engines.contract import Codes, Pcm, SpeechRequest
from engines.engine import SpeechEngine
from engines.engine_config import EngineConfig
from engines.errors import BundleError, GpuError, NoGpuError, PlanError
from engines.runner_ort import OrtRunner
from engines.runner_ort_cuda import OrtDevice, OrtDeviceRunner
from engines.utterance import LiveUtterance

STAND_IN = OrtDevice("CPUExecutionProvider", "cpu")


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Path) -> Bundle:
    return open_bundle(tiny_bundle)


def machine(monkeypatch: pytest.MonkeyPatch, gpu: Exception | None, cuda: str | None) -> None:
    """A machine with or without a GPU, and with an ONNX Runtime that can use it or says why not; no TensorRT."""

    def check() -> None:
        if gpu is not None:
            raise gpu

    def no_plan(_bundle: Bundle, _config: EngineConfig) -> None:
        check()
        raise PlanError("TensorRT is not installed")

    monkeypatch.setattr(backends, "check_gpu", check)
    monkeypatch.setattr(backends, "cuda_fault", lambda: cuda)
    monkeypatch.setitem(backends._BEST_FIRST, BackendName.TENSORRT, no_plan)


def test_onnxruntime_on_the_gpu_where_tensorrt_is_missing(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, None, None)
    found = choose_backend(bundle, EngineConfig())
    assert (found.name, found.falls_back) == (BackendName.CUDA, True)
    assert found.sentence == "speaking with ONNX Runtime on CUDA (TensorRT: TensorRT is not installed)"
    assert not choose_backend(bundle, EngineConfig(backend="cuda")).falls_back  # as wished


def test_the_processor_where_the_gpu_cannot_be_used(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, None, "a library is missing")
    found = choose_backend(bundle, EngineConfig())
    assert (found.name, found.falls_back) == (BackendName.CPU, True)
    assert "ONNX Runtime on CUDA: a library is missing" in found.sentence
    with pytest.raises(BundleError, match="a library is missing"):
        choose_backend(bundle, EngineConfig(backend="cuda"))


def test_a_gpu_that_may_not_be_used_is_worth_a_word(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, GpuError("this user may not open /dev/nvidia0"), None)
    found = choose_backend(bundle, EngineConfig())
    assert (found.name, found.falls_back) == (BackendName.CPU, True)


def test_without_a_gpu_there_is_nothing_to_warn_of(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, NoGpuError("no NVIDIA GPU is here"), None)
    found = choose_backend(bundle, EngineConfig())
    assert (found.name, found.falls_back) == (BackendName.CPU, False)
    assert found.sentence == "speaking with ONNX Runtime on the processor (no NVIDIA GPU is here)"


def test_an_old_bundle_has_no_graph_for_cuda(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, None, None)
    graphs = msgspec.structs.replace(bundle.manifest.graphs, frame_cuda=None)
    manifest = msgspec.structs.replace(bundle.manifest, graphs=graphs)
    old = Bundle(bundle.path, manifest, bundle.text_table, bundle.codec_embedding)
    found = choose_backend(old, EngineConfig())
    assert found.name is BackendName.CPU
    assert "export it again" in found.sentence


def test_the_engine_hands_the_warning_on(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, None, "a library is missing")
    with SpeechEngine.open(tiny_bundle, EngineConfig(slots=1)) as engine:
        assert engine.falls_back
        assert "a library is missing" in engine.statistics().runs_on


def test_the_whole_engine_on_memory_it_cannot_reach(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once and then one alone through the device's runner, whose device is the processor here."""
    machine(monkeypatch, None, None)
    monkeypatch.setattr(backends, "OrtDeviceRunner", partial(OrtDeviceRunner, device=STAND_IN))
    opened = open_bundle(tiny_bundle)
    spoken = []
    with SpeechEngine.open(tiny_bundle, EngineConfig(slots=2, positions=128, admission=False)) as engine:
        assert engine.sentence.startswith("speaking with ONNX Runtime on CUDA")
        engine.warm_up()
        for number in (7, 8):
            spoken.append(say(engine, number))
        heard = [hear(utterance) for utterance in spoken]
        alone = hear(say(engine, 7))
    assert np.array_equal(alone[0], heard[0][0])  # nothing of the others is left in its slot
    assert np.abs(alone[1] - heard[0][1]).max() < 1e-4
    for codes, pcm in (*heard, alone):
        codec = Codec(OrtRunner(tiny_bundle / opened.manifest.graphs.codec), opened.manifest, 1, len(codes))
        codec.begin(0)
        assert np.abs(codec.decode(0, codes) - pcm).max() < 1e-4


def say(engine: SpeechEngine, seed: int) -> LiveUtterance:
    utterance = engine.start(SpeechRequest(seed=seed, max_frames=12, keep_codes=True))
    utterance.feed(tuple(range(60, 70)))
    utterance.end_of_text()
    return utterance


def hear(utterance: LiveUtterance) -> tuple[Codes, Pcm]:
    blocks = []
    while len(block := utterance.pcm.read(1 << 20, timeout_s=60)):
        blocks.append(block)
    codes = utterance.outcome.result(60).codes
    assert codes is not None
    return codes, np.concatenate(blocks)
