"""`scripts/gpu_check`: its stages, its time boxes, its report; and the measurements themselves on the processor."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest

from engines.backends import open_stages
from engines.bundle import open_bundle
from engines.engine import SpeechEngine
from engines.engine_config import EngineConfig
from engines.runner_ort_cuda import CUDA
from export import build_door
from scripts import gpu_case, gpu_check_run, gpu_engine
from scripts.gpu_case import compare, measure_stages, speak
from scripts.gpu_check_run import run_stage
from scripts.gpu_engine import Case
from scripts.gpu_report import aims, table, with_roofline
from scripts.gpu_shape import SMOKE, Shape
from scripts.gpu_stages import STAGES, Stage, find_python
from tests.fake_builder import FakeBuilder

ROOT = Path(__file__).parent.parent


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a stage of a few lines of Python."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SPEAKD_GPU_PYTHON", sys.executable)

    def make(source: str, *needs: str) -> Stage:
        (tmp_path / "some_stage.py").write_text("import json, sys, time\n" + textwrap.dedent(source))
        return Stage("some", "some_stage", needs, 10.0)

    return make


def test_results_are_kept_and_chatter_is_not(stage: Any) -> None:
    report = run_stage(stage("print('hello'); print(json.dumps({'case': 'a'})); print('[1]')"), 60.0, smoke=True)
    assert (report.status, report.rows) == ("done", [{"stage": "some", "case": "a"}])


def test_a_crash_costs_its_stage_only_what_comes_after(stage: Any) -> None:
    source = "print(json.dumps({'case': 'a'}), flush=True)\nsys.exit('the device fell off')"
    report = run_stage(stage(source), 60.0, smoke=True)
    assert (report.status, len(report.rows)) == ("failed", 1)
    assert "the device fell off" in report.reason


def test_a_stage_that_goes_on_is_stopped(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run_stage(stage("print(json.dumps({'case': 'a'}), flush=True)\ntime.sleep(600)"), 3.0, smoke=True)
    assert (report.status, len(report.rows)) == ("stopped", 1)
    assert run_stage(stage("pass"), 0.5, smoke=True).reason == "no time was left"


def test_what_is_missing_is_named(stage: Any) -> None:
    report = run_stage(stage("pass", "numpy", "no_such_module"), 60.0, smoke=True)
    assert (report.status, report.reason) == ("missing", "no Python here has no_such_module")
    report = run_stage(stage("print(json.dumps({'missing': 'no CUDA device'}))"), 60.0, smoke=True)
    assert (report.status, report.reason) == ("missing", "no CUDA device")


def test_a_broken_case_is_a_failure(stage: Any) -> None:
    report = run_stage(stage("print(json.dumps({'case': 'a', 'slots': 1, 'fault': 'x'}))"), 60.0, smoke=True)
    assert (report.status, report.reason) == ("failed", "1 of 1 cases")


def test_a_python_is_found_by_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEAKD_GPU_PYTHON", sys.executable)
    assert find_python(("numpy", "onnxruntime"))[0] == sys.executable
    assert find_python(("no_such.part", "numpy")) == (None, ["no_such.part"])


def test_boxes_fit_into_nine_minutes() -> None:
    assert sum(stage.seconds for stage in STAGES) <= gpu_check_run.TOTAL_S < 540
    assert [stage.needs for stage in STAGES[:2]] == [(), ("torch",)]  # what a bare machine has comes first


def test_the_aims() -> None:
    rows: list[dict[str, Any]] = [
        {"case": "copy", "bandwidth_gb_s": 1000.0},
        {"case": "PyTorch eager", "slots": 1, "frame_ms": 1.0},
        {"case": "PyTorch CUDA graph, a", "slots": 1, "frame_ms": 10.0},
        {"case": "PyTorch CUDA graph, b", "slots": 1, "frame_ms": 8.0},
        {"case": "PyTorch CUDA graph, b", "slots": 2, "missing": "memory"},
        {"case": "tensorrt 0.6b", "backend": "tensorrt", "model": "0.6b", "precision": "int4", "slots": 1,
         "frame_ms": 2.0, "frame_bytes": 1.5e9, "gap": 0.03, "memory_mb": 900.0},
        {"case": "tensorrt 0.6b", "backend": "tensorrt", "model": "0.6b", "precision": "int4", "slots": 4,
         "frame_ms": 3.0, "frame_bytes": 1.5e9, "gap": 0.015, "memory_mb": 1300.0},
    ]  # fmt: skip
    judged = aims(with_roofline(rows))
    assert [aim.get("value") for aim in judged] == [0.75, 0.015, 4.0, 1300.0]
    assert [aim["holds"] for aim in judged] == [True, True, True, False]
    assert [aim["holds"] for aim in aims([])] == [None] * 4
    lines = table(rows).splitlines()
    assert len(lines) == 6  # of seven rows, one is no measurement of a frame and one measured nothing
    assert "0.75" in lines[4]


def test_what_a_frame_reads() -> None:
    assert Shape().layer_weights == 15_728_640  # as engineered: 0.6B has 28 of these and runs 5 of them 15 times
    assert Shape().frame_bytes(16, 1, 300, 2) == pytest.approx(3.344e9, rel=1e-3)
    assert Shape().frame_bytes(4.125, 1, 300, 2, 8.125) == pytest.approx(0.905e9, rel=1e-3)
    assert SMOKE.frame_bytes(32, 2, 8, 4) > SMOKE.frame_bytes(32, 1, 8, 4)


def test_an_engine_is_measured_and_compared(tiny_bundle: Path) -> None:
    bundle = open_bundle(tiny_bundle)
    config = EngineConfig(slots=2, positions=512, backend="cpu", admission=False)
    stages = open_stages(bundle, config)
    found = measure_stages(stages, bundle, 2)
    with SpeechEngine(bundle, stages, config) as engine:
        engine.warm_up()
        found |= speak(engine, 2, found["frame_ms"])
        found |= compare(engine, bundle, config)
    measured = ("prefill_ms", "frame_ms", "lone_frame_ms", "codec1_ms", "codec_ms", "ttfa_ms")
    assert all(found[name] > 0 for name in measured)
    assert (found["same_speech"], found["first_difference"]) == (1.0, None)
    assert found["frames_here"] == found["frames_on_processor"] > 0
    assert found["sound_error"] < 1e-4


def test_a_plan_is_built_and_what_its_verification_found_is_kept(
    tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_door, "load_builder", FakeBuilder)
    monkeypatch.setattr(gpu_case, "checkpoint_of", lambda _model, smoke: tiny_checkpoint)
    asked = argparse.Namespace(slots=1, precision="fp32", shape="stepped", model="default", smoke=True, budget_s=300.0)
    told = gpu_case.build(asked, tiny_bundle, tmp_path)
    assert told["agreement"] == 1.0
    assert told["pcm_error"] < 1e-4
    assert told["build_s"] >= 0.0
    assert list(tmp_path.glob("*/plan.json"))


def test_a_case_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    case = Case("no such model", "fp32", 1)
    told = json.loads(gpu_engine.run(case, "cpu", 60.0, smoke=True))
    assert "not a voice bundle" in told["fault"]
    assert told["precision"] == "fp32"
    assert "stopped" in json.loads(gpu_engine.run(case, "cpu", 0.01, smoke=True))["fault"]


def test_an_onnxruntime_without_cuda_is_missing_not_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if CUDA.provider in ort.get_available_providers():
        pytest.skip("this onnxruntime has the CUDA provider")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(gpu_engine, "check_gpu", lambda: None)
    monkeypatch.setattr(sys, "argv", ["gpu_engine", "cuda"])
    gpu_engine.main()
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [list(row) for row in told] == [["missing"]]
    assert "has no CUDA provider" in told[0]["missing"]


def test_without_a_gpu_every_stage_says_so() -> None:
    done = subprocess.run(
        [str(ROOT / "scripts/gpu_check")],
        capture_output=True, text=True, check=False, timeout=300, env={"PATH": "/usr/bin:/bin", "HOME": "/tmp",
                                                                      "SPEAKD_GPU_PYTHON": sys.executable},
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    stages = {one["name"]: one for one in found["stages"]}
    device = stages["device"]["rows"][0]
    if device["gpu"] == "present":
        pytest.skip("there is a GPU here")
    assert done.returncode == 0, done.stderr
    assert stages["device"]["status"] == "done"
    assert stages["pytorch"]["status"] == "missing"
    assert stages["tensorrt"]["status"] == "missing"
    for name in ("models", "onnxruntime"):
        assert (stages[name]["status"], stages[name]["reason"]) == ("missing", device["gpu"])
    assert [aim["holds"] for aim in found["aims"]] == [None] * 4
