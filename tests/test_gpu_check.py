"""`scripts/gpu_check`: its stages, its time boxes, its cases; and the measurements themselves on the processor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import onnxruntime as ort
import pytest

from engines.plan_set import PRECISIONS, SLOTS
from engines.runner_ort_cuda import CUDA
from export.tensorrt import FrameShape
from scripts import gpu_check_run, gpu_device, gpu_engine, gpu_stages
from scripts.gpu_child import Ended, follow
from scripts.gpu_engine import Case
from scripts.gpu_rows import line
from scripts.gpu_stage_run import Report, run_stage
from scripts.gpu_stages import STAGES, Stage, find_python

ROOT = Path(__file__).parent.parent
Run = Callable[..., Report]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a stage of a few lines of Python."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(source: str, box_s: float = 60.0) -> Report:
        (tmp_path / "some_stage.py").write_text("import json, os, sys, time\n" + textwrap.dedent(source))
        report = Report("some")
        run_stage(report, Stage("some", "some_stage", (), 10.0), sys.executable, box_s, smoke=True)
        return report

    return make


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts lines of Python in the place of a case's modules."""

    def put(**sources: str) -> None:
        (tmp_path / "scripts").mkdir()
        for name, source in sources.items():
            (tmp_path / "scripts" / f"{name}.py").write_text(f"import sys, time\n{source}")
        monkeypatch.chdir(tmp_path)

    return put


def test_results_are_kept_and_shown_and_chatter_is_not(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    report = run("print('hello'); print(json.dumps({'case': 'a'})); print('[1]')")
    assert (report.status, report.rows) == ("done", [{"stage": "some", "case": "a"}])
    assert capsys.readouterr().err == '{"case": "a"}\n'


def test_what_is_unfinished_gives_way(run: Run) -> None:
    rows = [{"case": "a", "unfinished": True}, {"case": "a", "b": 1}, {"case": "c", "unfinished": True}]
    report = run(f"for row in {rows!r}: print(json.dumps(row))")
    assert report.rows == [{"stage": "some", "case": "a", "b": 1}, {"stage": "some", "case": "c", "unfinished": True}]


def test_a_crash_costs_its_stage_only_what_comes_after(run: Run) -> None:
    report = run("print(json.dumps({'case': 'a'}), flush=True)\nsys.exit('the device fell off')")
    assert (report.status, len(report.rows), report.broken) == ("failed", 1, True)
    assert "the device fell off" in report.reason


def test_a_stage_that_goes_on_is_stopped(run: Run) -> None:
    report = run("print(json.dumps({'case': 'a'}), flush=True)\ntime.sleep(600)", 3.0)
    assert (report.status, len(report.rows), report.broken) == ("stopped", 1, False)
    report = run("print(json.dumps({'case': 'a', 'fault': 'x'}), flush=True)\ntime.sleep(600)", 3.0)
    assert (report.status, report.broken) == ("stopped", True)
    assert report.reason == "it took longer than 3 s; 1 of 1 cases failed"
    assert run("pass", 0.5).reason == "no time was left"


def test_what_a_stage_misses_is_named(run: Run) -> None:
    report = run("print(json.dumps({'missing': 'no CUDA device'}))")
    assert (report.status, report.reason, report.broken) == ("missing", "no CUDA device", False)
    report = run("print(json.dumps({'case': 'a'})); print(json.dumps({'missing': 'no time left'}))")
    assert (report.status, report.reason) == ("stopped", "no time left")


def test_a_broken_case_is_a_failure(run: Run) -> None:
    report = run("print(json.dumps({'case': 'a', 'slots': 1, 'fault': 'x'}))")
    assert (report.status, report.reason, report.broken) == ("failed", "1 of 1 cases failed", True)


def test_a_stage_that_cannot_be_started_is_a_failure() -> None:
    report = Report("some")
    run_stage(report, STAGES[0], "/no/such/python", 60.0, smoke=True)
    assert (report.status, report.reason.split(":")[0]) == ("failed", "FileNotFoundError")


def test_what_does_not_die_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stays in a driver's call, as far as its parent can tell."""
    kill = subprocess.Popen.kill
    undead: list[subprocess.Popen[str]] = []

    def spare(child: subprocess.Popen[str]) -> None:
        undead.append(child)

    monkeypatch.setattr(subprocess.Popen, "kill", spare)
    monkeypatch.setattr("scripts.gpu_child._FALL_S", 0.05)
    ended = follow([sys.executable, "-c", "import time; time.sleep(600)"], 0.05, print, apart=False)
    assert (ended.code, ended.complaint) == (None, "no word of why")
    assert undead[0].poll() is None
    kill(undead[0])
    undead[0].wait()


def test_numbers_that_are_none_become_null() -> None:
    told = line({"a": float("nan"), "b": [1.5, float("inf")], "c": {"d": float("-inf")}, "e": (True, None, "x")})
    assert json.loads(told) == {"a": None, "b": [1.5, None], "c": {"d": None}, "e": [True, None, "x"]}


def test_a_python_is_found_by_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEAKD_GPU_PYTHON", sys.executable)
    assert find_python(("numpy", "onnxruntime"))[0] == sys.executable
    assert find_python(("no_such.part", "numpy")) == (None, ["no_such.part"])
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setattr(gpu_stages, "_ASKED_S", 0.2)
    monkeypatch.setattr(gpu_stages, "_pythons", lambda: ["/no/such/python", str(slow), str(tmp_path)])
    assert find_python(("numpy",)) == (None, ["numpy"])


@pytest.mark.parametrize("script", ["exec sleep 600", "printf 'NVIDIA \\377 H200'", "exit 9"])
def test_an_odd_nvidia_smi_costs_nothing(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(gpu_device, "_SMI_S", 0.2)
    monkeypatch.setattr("shutil.which", lambda _name: str(tool))
    said = gpu_device._smi()
    assert said is None or said.startswith(("TimeoutExpired", "NVIDIA"))


def test_every_precision_and_number_of_slots_has_a_case() -> None:
    cases = [case for case in gpu_engine.TENSORRT if case.model == "0.6b"]
    assert {case.precision for case in cases} == set(PRECISIONS)
    assert {case.slots for case in cases if case.precision == "int4"} == set(SLOTS)
    assert {case.shape for case in cases} == {shape.value for shape in FrameShape}


def test_boxes_fit_into_nine_minutes() -> None:
    assert sum(stage.seconds for stage in STAGES) <= gpu_check_run.TOTAL_S < 540
    assert [stage.needs for stage in STAGES[:2]] == [(), ("torch",)]  # what a bare machine has comes first


def test_time_is_kept_only_for_stages_that_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: dict[str, float] = {}
    monkeypatch.setattr(gpu_check_run, "find_python", lambda needs: (None if "torch" in needs else "python", ["torch"]))
    monkeypatch.setattr(
        gpu_check_run, "run_stage", lambda report, _stage, _python, box_s, smoke: boxes.update({report.name: box_s})
    )
    stages = [Stage("a", "a", (), 10.0), Stage("b", "b", ("torch",), 1000.0), Stage("c", "c", (), 20.0)]
    reports = {stage: Report(stage.name) for stage in stages}
    monkeypatch.setattr(gpu_check_run, "time", SimpleNamespace(monotonic=lambda: 0.0))
    gpu_check_run._run(reports, 100.0, smoke=True)
    assert boxes == {"a": 80.0, "c": 100.0}
    assert reports[stages[1]].reason == "no Python here has torch"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_asked_to_end_tells_what_there_is(number: signal.Signals, tmp_path: Path) -> None:
    """A stage that has told one result and goes on is interrupted; the next was not reached."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase $1 in -c) exit 0 ;; esac\necho \'{"case": "a"}\'\nexec sleep 600\n')
    python.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "scripts.gpu_check_run", "--stages", "device", "pytorch"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SPEAKD_GPU_PYTHON": str(python)},
    ) as asked:  # fmt: skip
        assert asked.stdout is not None
        assert asked.stderr is not None
        while "case" not in asked.stderr.readline():
            pass
        asked.send_signal(number)
        found = json.loads(asked.stdout.read().splitlines()[-1])
    assert asked.returncode == 128 + number
    assert [(one["name"], one["status"], one["reason"]) for one in found["stages"]] == [
        ("device", "stopped", number.name), ("pytorch", "stopped", number.name),
    ]  # fmt: skip
    assert found["stages"][0]["rows"] == [{"stage": "device", "case": "a"}]


def test_a_case_that_dies_keeps_what_it_had_told(modules: Callable[..., None]) -> None:
    modules(
        gpu_plan="print('{\"build_s\": 7.0}')",
        gpu_case="print('{\"frame_ms\": 2.0}')\nprint('{\"codec_ms\": NaN}', flush=True)\nsys.exit('no more memory')",
    )
    row = gpu_engine.run(Case("0.6b", "int4", 4), "tensorrt", time.monotonic() + 60.0, smoke=True)
    assert row["fault"] == "exit code 1: no more memory"
    assert json.loads(line(row)) == {
        "case": "tensorrt 0.6b, stepped", "backend": "tensorrt", "model": "0.6b", "precision": "int4", "slots": 4,
        "shape": "stepped", "build_s": 7.0, "frame_ms": 2.0, "codec_ms": None, "fault": row["fault"],
    }  # fmt: skip


def test_a_case_that_is_stopped_keeps_what_it_had_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_words: list[str], _limit_s: float, hear: Callable[[dict[str, float]], None], apart: bool) -> Ended:
        hear({"frame_ms": 2.0})
        return Ended(None, "")

    monkeypatch.setattr(gpu_engine, "follow", stopped)
    monkeypatch.setattr(gpu_engine, "time", SimpleNamespace(monotonic=lambda: 0.0))
    row = gpu_engine.run(Case("0.6b", "int4", 4), "cuda", 30.0, smoke=True)
    assert (row["frame_ms"], row["missing"]) == (2.0, "scripts.gpu_case was stopped, 30 s after the case began")
    assert not {"fault", "shape"} & set(row)
    assert json.loads(capsys.readouterr().out)["unfinished"] is True
    row = gpu_engine.run(Case("0.6b", "int4", 4), "cuda", 400.0, smoke=True)  # its own limit, not its stage's end
    assert (row["frame_ms"], row["fault"]) == (2.0, "scripts.gpu_case was stopped, 150 s after the case began")


def test_a_build_that_was_stopped_is_not_measured(modules: Callable[..., None]) -> None:
    modules(gpu_plan="print('{\"stopped\": true}')", gpu_case="print('{\"frame_ms\": 2.0}')")
    row = gpu_engine.run(Case("0.6b", "int4", 4), "tensorrt", time.monotonic() + 60.0, smoke=True)
    assert "frame_ms" not in row
    assert row["missing"].startswith("scripts.gpu_plan was stopped")


def test_a_model_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    row = gpu_engine.run(Case("no such model", "fp32", 1), "cpu", time.monotonic() + 60.0, smoke=True)
    assert "not a voice bundle" in row["fault"]


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
