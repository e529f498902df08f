"""A voice made from nothing, as a user makes one: every stage of `scripts/train_voice`, in the least time they take.

Needs torch, which set-up leaves out for its size: `scripts/train_voice --help` installs it, and `.ci/run` does that.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.cli_rig import Speak

ROOT = Path(__file__).parent.parent
SPEAKERS = ("anna", "robert")
STATES = ("codec.pt", "talker.pt", "own_past.pt", "decoder.pt")
PATIENCE_S = 1200.0


def has_torch() -> bool:
    return "SPEAKD_TRAIN_PYTHON" in os.environ or (ROOT / ".cache/train/ready").exists()


@contextmanager
def training(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`scripts/train_voice` for 40 s; it does not outlive the test."""
    command = [str(ROOT / "scripts/train_voice"), "--budget", "40s", "--hours", "0.3", "--out", str(folder)]
    world = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=world, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def finish(folder: Path) -> str:
    with training(folder) as process:
        told, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complaints[-2000:]
    return told


def stop_after_teachers(folder: Path) -> None:
    with training(folder) as process:
        assert process.stdout is not None
        assert any(line.startswith("teacher of robert") for line in iter(process.stdout.readline, ""))
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert complaints.splitlines()[-1] == "stopped; the same command goes on from here"


@pytest.mark.skipif(not has_torch(), reason="scripts/train_voice --help installs torch, which this needs")
def test_every_stage_runs_goes_on_when_stopped_and_the_voice_speaks(tmp_path: Path) -> None:
    folder = tmp_path / "voice"
    stop_after_teachers(folder)
    taught = {path: path.stat().st_mtime_ns for path in folder.glob("sound/*/*")}
    told = finish(folder)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("sound/*/*")} == taught
    assert [name for name in STATES if not (folder / name).exists()] == []

    measured = json.loads(told.splitlines()[-1])
    assert all(measured[speaker]["words"]["voice closed"]["all"]["utterances"] >= 12 for speaker in SPEAKERS)
    assert (folder / "voice.html").stat().st_size > 10_000

    bundle = folder / "bundle"
    assert tuple(json.loads((bundle / "manifest.json").read_text())["speakers"]) == SPEAKERS
    speak = Speak(bundle, tmp_path)
    for speaker in SPEAKERS:
        said = speak("--voice", speaker, "--max-frames", "50", "-o", f"{speaker}.wav", "Good morning.")
        assert said.returncode == 0, said.stderr
        sound, _ = soundfile.read(tmp_path / f"{speaker}.wav")
        assert np.sqrt(np.mean(sound**2)) > 1e-3


@pytest.mark.skipif(not has_torch(), reason="scripts/train_voice --help installs torch, which this needs")
def test_no_word_of_a_long_sentence_is_passed_over_and_few_are_misheard() -> None:
    told = subprocess.run(
        [ROOT / "scripts/eval_voice", "--long", "--sentences", "10", "--speaker", "anna"],
        capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    ).stdout  # fmt: skip
    found = json.loads(told.splitlines()[-1])["anna"]
    assert found["ended by themselves"] == found["utterances"] == 4
    assert min(found["seconds, shortest and longest"]) >= 9.5
    assert found["passed over by the talker"] == []
    assert len(found["heard: lost"]) + len(found["heard: taken for others"]) < 0.05 * found["words"]
