"""A voice made from nothing, as a user makes one: every stage of `scripts/train_voice`, in the least time they take.

Needs torch, which set-up leaves out for its size: `scripts/train_voice --help` installs it, and `.ci/run` does that.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.cli_rig import Speak

ROOT = Path(__file__).parent.parent
SPEAKERS = ("anna", "robert")
STATES = ("codec.pt", "talker.pt", "decoder.pt")
PATIENCE_S = 1200.0


def has_torch() -> bool:
    return "SPEAKD_TRAIN_PYTHON" in os.environ or (ROOT / ".cache/train/ready").exists()


def start(folder: Path) -> subprocess.Popen[str]:
    command = [str(ROOT / "scripts/train_voice"), "--budget", "40s", "--hours", "0.3", "--out", str(folder)]
    world = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=world)


def finish(training: subprocess.Popen[str]) -> None:
    _, complaints = training.communicate(timeout=PATIENCE_S)
    assert training.returncode == 0, complaints[-2000:]


def stop_after_teachers(training: subprocess.Popen[str]) -> None:
    assert training.stdout is not None
    assert any(line.startswith("teacher of robert") for line in iter(training.stdout.readline, ""))
    training.send_signal(signal.SIGINT)
    _, complaints = training.communicate(timeout=PATIENCE_S)
    assert training.returncode == 130
    assert complaints.splitlines()[-1] == "stopped; the same command goes on from here"


@pytest.mark.skipif(not has_torch(), reason="scripts/train_voice --help installs torch, which this needs")
def test_every_stage_runs_goes_on_when_stopped_and_the_voice_speaks(tmp_path: Path) -> None:
    folder = tmp_path / "voice"
    stop_after_teachers(start(folder))
    taught = {path: path.stat().st_mtime_ns for path in folder.glob("sound/*/*")}
    finish(start(folder))
    assert {path: path.stat().st_mtime_ns for path in folder.glob("sound/*/*")} == taught
    assert [name for name in STATES if not (folder / name).exists()] == []

    bundle = folder / "bundle"
    assert tuple(json.loads((bundle / "manifest.json").read_text())["speakers"]) == SPEAKERS
    speak = Speak(bundle, tmp_path)
    for speaker in SPEAKERS:
        said = speak("--voice", speaker, "--max-frames", "50", "-o", f"{speaker}.wav", "Good morning.")
        assert said.returncode == 0, said.stderr
        sound, _ = soundfile.read(tmp_path / f"{speaker}.wav")
        assert np.sqrt(np.mean(sound**2)) > 1e-3
