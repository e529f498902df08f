"""A case of `scripts/gpu_check`: how plans are built and stages and engines are measured, without a GPU."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.backends import open_stages
from engines.bundle import open_bundle
from engines.contract import Codes
from engines.cuda_api import Sequence, Stream
from engines.engine import SpeechEngine
from engines.engine_config import EngineConfig
from engines.tensorrt_stages import open_tensorrt
from engines.timing import Span, Work
from export.attention_tensorrt import AttentionForm
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, read_source
from scripts import gpu_asked, gpu_case, gpu_case_times, gpu_memory, gpu_plan
from scripts.exporter_stamp import made_by_this_exporter
from scripts.gpu_asked import Asked, read_asked
from scripts.gpu_case_speech import compare, compare_codes, compare_sound, periods_ms, speak
from scripts.gpu_case_times import measure_stages
from scripts.gpu_frame_time import HeardCuda
from scripts.gpu_memory import MemoryWatch
from tests.fake_builder import FakeBuilder
from tests.fake_cuda import FakeCuda
from tests.fake_driver import Driver, install
from tests.fake_tensorrt import FakeLoader
from tests.tensorrt_plan import write_plan

PLAIN = EngineConfig(slots=2, positions=512, backend="cpu", admission=False)


@pytest.fixture
def asked(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """One slot of a tiny model for TensorRT."""
    bundle = tmp_path / "model"
    bundle.symlink_to(tiny_bundle, target_is_directory=True)
    monkeypatch.setattr(gpu_plan, "load_builder", FakeBuilder)
    monkeypatch.setattr(gpu_plan, "checkpoint_of", lambda _model, smoke: tiny_checkpoint)
    monkeypatch.setattr(gpu_asked, "bundle_of", lambda _model, smoke: bundle)
    return Asked("tensorrt", "default", "fp32", 1, "stepped", 300.0, smoke=True)


def test_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["gpu_case", "tensorrt", "0.6b", "int4", "4", "unrolled", "--budget-s", "-2"]
    monkeypatch.setattr(sys, "argv", words)
    asked = read_asked()
    assert asked == Asked("tensorrt", "0.6b", "int4", 4, "unrolled", -2.0, smoke=False)
    plans = made_by_this_exporter(Path(".cache/gpu_check")) / "plans" / "unrolled"
    assert (asked.config.precision, asked.config.plans) == ("int4", str(plans))
    assert replace(asked, backend="cuda").config.precision == "auto"


def test_a_plan_is_built_and_what_its_verification_found_is_kept(asked: Asked) -> None:
    told = gpu_plan.build(asked)
    assert (told["verified"], told["built"], told["agreement"]) == (True, True, 1.0)
    assert told["pcm_error"] < 1e-4
    assert told["build_s"] >= 0.0
    assert list(asked.cache.glob("*/plan.json"))
    again = gpu_plan.build(asked)
    assert (again["built"], "build_s" in again) == (False, False)


def test_random_weights_are_not_verified(asked: Asked) -> None:
    told = gpu_plan.build(replace(asked, model="0.6b"))
    assert (told["verified"], told["built"], "agreement" in told) == (False, True, False)


def test_a_build_that_takes_too_long_says_so(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_plan, "read_asked", lambda: replace(asked, budget_s=-1.0))
    gpu_plan.main()
    assert capsys.readouterr().out == '{"stopped": true}\n'


def test_an_engine_is_measured_and_compared(tiny_bundle: Path) -> None:
    bundle = open_bundle(tiny_bundle)
    stages = open_stages(bundle, PLAIN)
    found: dict[str, Any] = {}
    for part in measure_stages(stages, bundle, 2, None):
        assert not found.keys() & part.keys()
        found |= part
    with SpeechEngine(bundle, stages, PLAIN) as engine:
        engine.warm_up()
        found |= speak(engine, 2)
        found |= compare(engine, bundle, PLAIN)
    measured = ("prefill_ms", "frame_ms", "lone_frame_ms", "codec1_ms", "codec_ms", "ttfa_ms")
    assert all(found[name] > 0 for name in measured)
    periods = [found[name] for name in ("period_ms", "crowded_period_ms") if name in found]
    assert min(periods, default=0.0) > 0  # which of them there are, the processor's haste decides
    assert (found["same_speech"], found["first_difference"]) == (1.0, None)
    assert found["frames_here"] == found["frames_on_processor"] > 0
    assert found["sound_error"] < 1e-4
    assert "samples_here" not in found


def test_a_gap_is_told_apart_from_frames_that_share_the_device() -> None:
    def span(work: Work, began_ms: float, ended_ms: float, *slots: int) -> Span:
        return Span(work, began_ms / 1000, ended_ms / 1000, slots, len(slots))

    steps = [span(Work.STEP, end - 4, end, 0, 1) for end in (5.0, 10.0, 16.0, 25.0)]
    one_left = [span(Work.STEP, 25, 28, 0), span(Work.STEP, 28, 31, 0)]
    call = span(Work.CODEC, 18, 24, 0)
    found = periods_ms([*steps[:3], call, steps[3], *one_left], 2)
    assert found == {"period_ms": pytest.approx(5.5), "crowded_period_ms": pytest.approx(9.0)}
    assert periods_ms(one_left, 2) == {}


def test_codes_and_sound_of_different_lengths() -> None:
    codes: Codes = np.arange(12, dtype=np.int32).reshape(4, 3)
    other = codes.copy()
    other[2, 1] = 99
    assert compare_codes(codes[:3], other) == {"same_speech": pytest.approx(8 / 9), "first_difference": 2}
    assert compare_codes(codes[:0], other) == {"same_speech": 0.0, "first_difference": None}
    sound = np.ones(10, np.float32)
    assert compare_sound(sound[:6], sound) == {"sound_error": 0.0, "samples_here": 6, "samples_wanted": 10}
    assert compare_sound(sound[:0], sound)["sound_error"] is None


class Device(HeardCuda, FakeCuda):
    """A device that says how often it was asked to launch, in the place of how long it took."""

    def last_ms(self, runs: int) -> float | None:
        return None if self.last is None else float(runs)


def test_recorded_frames_are_timed_on_the_device(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path) -> None:
    bundle, cuda = open_bundle(tiny_bundle), Device()
    source = read_source(tiny_checkpoint, bundle.manifest.sampling.max_top_k, bundle.manifest.limits.max_positions)
    choice = TensorRtChoice(AttentionForm.ROWS, FrameShape.STEPPED, np.float32, Precision.FP32, 2, 512)
    plan = write_plan(source, choice, bundle.manifest, tmp_path, 25, 64)
    config = replace(PLAIN, codec_chunk_frames=25, prefill_rows=64)
    stages = open_tensorrt(plan, bundle.manifest, config, cuda, FakeLoader(cuda))
    found = [part for part in measure_stages(stages, bundle, 2, cuda) if "device_ms" in part]
    stages.close()
    assert found == [{"device_ms": gpu_case_times.RUNS}]


class Clock(Driver):
    """A driver, in which a launch takes half a millisecond of the device and nothing else takes any."""

    def __init__(self) -> None:
        super().__init__()
        self.clock_ms, self.events = 0.0, dict[int, float]()

    def _call(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        if name == "cuGraphLaunch":
            self.clock_ms += 0.5
        elif name == "cuEventRecord":
            self.events[arguments[0]] = self.clock_ms
        elif name == "cuEventElapsedTime":
            return 0, self.events[arguments[1]] - self.events[arguments[0]]
        return super()._call(name, *arguments)


def test_the_time_of_the_frame_launched_last(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Clock()
    install(driver, monkeypatch)
    cuda = HeardCuda()
    assert cuda.l2_bytes() == 60 << 20
    assert cuda.last_ms(4) is None
    cuda.launch(Sequence(11), Stream(22))
    assert cuda.last_ms(4) == 0.5
    assert set(driver.called("cuGraphLaunch")) == {(11, 22)}


def test_memory_is_what_came_after(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_mb = iter([100.0, 100.0, 350.0])
    monkeypatch.setattr(gpu_memory, "_nvml_used_mb", lambda: next(taken_mb))
    assert MemoryWatch().found() == {"memory_mb": 250.0}
    monkeypatch.setattr(gpu_memory, "_nvml_used_mb", lambda: None)
    told_mb = iter([500.0, 700.0])
    monkeypatch.setattr(gpu_memory, "_cuda_used_mb", lambda: next(told_mb))
    assert MemoryWatch().found() == {"memory_mb": 200.0, "memory_without_context": True}
    monkeypatch.setattr(gpu_memory, "_cuda_used_mb", lambda: None)
    assert MemoryWatch().found() == {}


def test_files_that_were_read_are_not_memory_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the GPU shares the host's, CUDA counts the caches of a plan's files with what is taken."""
    driver = Driver()
    driver.integrated = 1
    install(driver, monkeypatch)
    monkeypatch.setattr(gpu_memory, "_nvml_used_mb", lambda: None)
    available = iter([6_000_000, 5_000_000])
    monkeypatch.setattr("engines.cuda_api.machine_memory_bytes", lambda: (next(available), 8_000_000))
    assert MemoryWatch().found() == {"memory_mb": pytest.approx(1.0), "memory_without_context": True}


def test_a_case_on_the_processor_tells_part_by_part(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that breaks at the end has told all before."""

    def broken(*_: object) -> dict[str, Any]:
        raise RuntimeError("no processor")

    monkeypatch.setattr(gpu_case, "read_asked", lambda: replace(asked, backend="cpu"))
    monkeypatch.setattr(gpu_case, "compare", broken)
    with pytest.raises(RuntimeError, match="no processor"):
        gpu_case.main()
    told = [key for text in capsys.readouterr().out.splitlines() for key in json.loads(text)]
    assert told[:6] == ["prefill_ms", "frame_ms", "lone_frame_ms", "codec1_ms", "codec_ms", "ttfa_ms"]
