"""The commands around plans, as people call them."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from engines.plan_files import Plan, bundle_hash, read_plan_set
from engines.plan_set import PlanSizes
from export import build_command
from export.__main__ import main, parser
from export.attention_tensorrt import AttentionForm
from export.build_command import JsonTeller, PeopleTeller, build_or_list, time_left
from export.errors import BuildError, StoppedError
from export.plan_choice import PlanWish
from export.plan_progress import BuildState
from export.tensorrt import FrameShape
from tests import fake_build
from tests.plan_cache import KEY, write_plan

ROOT = Path(__file__).parent.parent


def speakd(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.daemon", "build", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_speakd_build_without_tensorrt_says_how_to_get_it(tiny_bundle: Path, tmp_path: Path) -> None:
    if fake_build.has_tensorrt():
        pytest.skip("TensorRT is installed here")
    done = speakd("--bundle", str(tiny_bundle), "--cache", str(tmp_path), "--precision", "fp16")
    assert (done.returncode, done.stdout) == (1, "")
    assert "TensorRT is not installed here: on a desktop `pip install" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_speakd_build_lists_what_is_there(tmp_path: Path) -> None:
    folder = write_plan(tmp_path)
    done = speakd("--list", "--cache", str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    for words in (
        str(folder),
        "TensorRT 10.15.1.29 on Orin (sm_87)",
        "int4",
        "4 slots of 1024 positions",
        "frame.engine",
    ):
        assert words in told
    assert "against ONNX Runtime 1.31: 8 frames, 100.0% of codes the same (at least 90%)" in told


def test_a_wrong_configuration_is_named(tmp_path: Path) -> None:
    done = speakd("--config", str(tmp_path / "gone.toml"))
    assert done.returncode == 2
    assert done.stderr.startswith("speakd: there is no configuration file")


def test_inspect_shows_the_plans_of_its_bundle(
    tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(tiny_bundle), "--cache", str(tmp_path)]) == 0
    assert "No TensorRT plans of this bundle" in " ".join(capsys.readouterr().out.split())
    write_plan(tmp_path, key=msgspec.structs.replace(KEY, bundle=bundle_hash(tiny_bundle), precision="fp8"))
    write_plan(tmp_path)
    assert main(["inspect", str(tiny_bundle), "--cache", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "fp8" in told
    assert "int4" not in told


def test_a_build_says_where_to_write_why_it_died(
    tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stopped = threading.Event()
    stopped.set()
    monkeypatch.setattr(build_command, "stop_on_signals", lambda: stopped)
    words = ["--checkpoint", str(tiny_checkpoint), "--cache", str(tmp_path), "--precision", "fp16", "--json"]
    arguments = parser().parse_args(["build", str(tiny_bundle), *words])
    with pytest.raises(StoppedError):
        build_or_list(arguments, fake_build.load)
    failure = json.loads(capsys.readouterr().out.splitlines()[0])["failure"]
    Path(failure).write_text("it was killed")
    with pytest.raises(BuildError, match=r"it failed before and is not tried again unasked \(it was killed\)"):
        build_or_list(arguments, fake_build.load)


class Gone(StringIO):
    """Standard output that nobody reads any more, but for the first line."""

    def flush(self) -> None:
        if self.getvalue().count("\n") > 3:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_reader_that_has_gone_ends_the_build_and_is_no_failure_of_it(
    tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_command, "stop_on_signals", threading.Event)
    monkeypatch.setattr(sys, "stdout", Gone())
    words = ["--checkpoint", str(tiny_checkpoint), "--cache", str(tmp_path), "--precision", "fp16", "--json"]
    with pytest.raises(StoppedError):
        build_or_list(parser().parse_args(["build", str(tiny_bundle), *words]), fake_build.load)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


DEAF = """
import ctypes
from export.stopping import stop_on_signals
stop_on_signals()
library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(64)
library.pthread_mutex_lock(lock)
print("busy", flush=True)
library.pthread_mutex_lock(lock)
"""
"""The main thread in a library that does not come back, as TensorRT's while it tries kernels."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_asks_twice_does_not_wait_for_tensorrt(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DEAF], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as build:
        guard = threading.Timer(60.0, build.kill)
        guard.start()
        assert build.stdout is not None
        assert build.stderr is not None
        assert build.stdout.readline() == "busy\n"
        build.send_signal(number)
        assert "once more ends it at once" in build.stderr.readline()
        assert build.poll() is None, "TensorRT may still let it"
        build.send_signal(number)
        assert build.wait() == 128 + number
        guard.cancel()


def test_more_slots_than_plans_hold_is_told_the_daemon_too(
    tiny_bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_command, "stop_on_signals", threading.Event)
    assert main(["build", str(tiny_bundle), "--slots", "16", "--json"]) == 1
    told = capsys.readouterr()
    assert "16 slots: TensorRT plans hold at most 8" in json.loads(told.out)["error"]
    assert "16 slots: TensorRT plans hold at most 8" in told.err


@pytest.mark.parametrize("size", ["slots", "positions", "prefill-rows", "codec-frames"])
@pytest.mark.parametrize("number", ["0", "-3"])
def test_sizes_below_one_are_refused_before_anything_is_built(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str, number: str
) -> None:
    monkeypatch.setattr(build_command, "stop_on_signals", threading.Event)
    words = ["build", str(tiny_bundle), f"--{size}", number, "--cache", str(tmp_path / "plans")]
    with pytest.raises(BuildError, match=f"^--{size} must be at least 1, not {number}$"):
        build_or_list(parser().parse_args(words), fake_build.load)
    assert not (tmp_path / "plans").exists()


def test_a_bundle_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build"]) == 1
    assert "say which bundle" in capsys.readouterr().err


def test_people_are_told_what_was_built_and_what_was_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_plan(tmp_path)
    plan, teller = Plan(folder, read_plan_set(folder)), PeopleTeller()
    teller.done(plan, True)
    teller.done(plan, False)
    unverified = msgspec.structs.replace(plan.about, verification=None)
    teller.done(Plan(folder, unverified), True)
    size = f"{plan.about.bytes / 1e6:.0f} MB"
    assert capsys.readouterr().out.splitlines() == [
        f"{folder}: int4, down projections int8, 4 slots, {size}, built in 60 s, 100.0% of codes as by ONNX Runtime;"
        " a running daemon takes it when it is restarted",
        f"{folder}: there already (--again builds it anew)",
        f"{folder}: int4, down projections int8, 4 slots, {size}, built in 60 s, not verified;"
        " a running daemon takes it when it is restarted",
    ]


def test_where_there_is_no_terminal_a_stage_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    teller = PeopleTeller()
    for stage, fraction in (("weights", 0.0), ("weights", 0.1), ("engine codec", 0.15), ("engine codec", 0.2)):
        teller.tell(BuildState(stage, fraction, 600.0, guessed=True))
    left = "about 10 min left (a guess: nothing was built on this device before)"  # more than 80 characters in all
    assert capsys.readouterr().err.splitlines() == [f"weights: 0% done, {left}", f"engine codec: 15% done, {left}"]


def test_programs_are_told_each_stage_and_not_every_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teller = JsonTeller()
    for stage, fraction in (("a", 0.0), ("a", 0.004), ("a", 0.005), ("a", 0.0099), ("b", 0.0099), ("b", 0.5)):
        teller.tell(BuildState(stage, fraction, 42.4, guessed=False))
    teller.failed("no room")
    folder = write_plan(tmp_path)
    teller.done(Plan(folder, read_plan_set(folder)), True)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["stage"], line["fraction"]) for line in told[:-2]] == [
        ("a", 0.0), ("a", 0.005), ("b", 0.01), ("b", 0.5),
    ]  # fmt: skip
    assert told[0] == {"stage": "a", "fraction": 0.0, "remaining_s": 42, "told": "about 42 s left"}
    assert told[-2:] == [{"error": "no room"}, {"plan": str(folder), "built": True}]


def test_what_is_not_said_is_as_the_help_has_it(tmp_path: Path) -> None:
    wish = build_command._wish(parser().parse_args(["build", "a/bundle"]), tmp_path)
    sizes = PlanSizes(slots=4, positions=1024, prefill_rows=64, codec_chunk_frames=25)
    assert wish == PlanWish(bundle=Path("a/bundle"), cache=tmp_path, sizes=sizes)
    words = (
        "--checkpoint c --precision int8 --down fp16 --slots 3 --positions 256 --prefill-rows 32 --codec-frames 8"
        " --attention rows --frame unrolled --again --no-verify --no-measure --force --json"
    )
    said = build_command._wish(parser().parse_args(["build", "a/bundle", *words.split()]), tmp_path)
    assert said == PlanWish(
        bundle=Path("a/bundle"), cache=tmp_path, checkpoint=Path("c"), precision="int8", down="fp16",
        sizes=PlanSizes(slots=4, positions=256, prefill_rows=32, codec_chunk_frames=8),
        attention=AttentionForm.ROWS, shape=FrameShape.UNROLLED, again=True, verified=False, measured=False,
        forced=True, unattended=True,
    )  # fmt: skip


def test_time_left_in_words() -> None:
    assert time_left(BuildState("x", 0.5, 700.0, guessed=False)) == "about 12 min left"
    assert time_left(BuildState("x", 0.5, 42.0, guessed=True)).startswith("about 42 s left (a guess")


def test_graphs_this_onnxruntime_cannot_run_are_refused_to_be_measured(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("export.tensorrt_files.runs_in_onnxruntime", lambda form: form is AttentionForm.ROWS)
    words = ["tensorrt", str(tiny_checkpoint), str(tmp_path / "set"), "--precision", "fp32", "--slots", "1"]
    assert main([*words, "--measure"]) == 1
    told = capsys.readouterr().err
    assert "in_place graphs cannot be measured with ONNX Runtime" in told
    assert "take --form rows, --no-measure, or Python 3.11 or later" in told
    assert not list(tmp_path.iterdir())
