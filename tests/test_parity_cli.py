"""`speak` itself against what the official package said: from the words on the command line to codes and a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.speak_command import run
from export.exporter import export_checkpoint
from tests.parity_cases import CASES, FRAMES, MODELS, Answer, Case, load_answers
from tests.tiny_checkpoint import write_checkpoint

SOUND = 1e-4
CASES_WITHOUT_VECTOR = [case for case in CASES if MODELS[case.model].kind != "base"]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    for model in {case.model for case in CASES_WITHOUT_VECTOR}:
        export_checkpoint(write_checkpoint(MODELS[model], folder / "checkpoint" / model), folder / model)
    return folder


def _arguments(bundle: Path, case: Case, answer: Answer, folder: Path) -> list[str]:
    options = ["--no-daemon", "--bundle", str(bundle), "--greedy", "--no-normalize", "--layout", case.layout]
    options += ["--language", case.language, "--max-frames", str(FRAMES)]
    options += ["--voice", case.voice] if case.voice else []
    options += ["--instruct", case.instruct] if case.instruct else []
    options += ["--repetition-penalty", str(case.repetition_penalty)] if case.repetition_penalty != 1.05 else []
    return [*options, "--save-codes", str(folder / "c.npy"), "-o", str(folder / "x.wav"), answer.text]


def _check(folder: Path, answer: Answer) -> None:
    codes = np.load(folder / "c.npy")
    assert codes.dtype.kind == "i"
    assert np.array_equal(codes, answer.codes)
    wave, rate = soundfile.read(folder / "x.wav", dtype="float32")
    assert rate == 24000
    assert wave.shape == answer.wave.shape
    assert np.abs(wave - answer.wave).max() < SOUND


@pytest.mark.parametrize("case", CASES_WITHOUT_VECTOR, ids=lambda case: case.key)
def test_speak(case: Case, bundles: Path, tmp_path: Path) -> None:
    answer = load_answers(case.model).cases[case.name]
    assert run(_arguments(bundles / case.model, case, answer, tmp_path)) == 0
    _check(tmp_path, answer)


def test_speak_in_a_process_of_its_own(bundles: Path, tmp_path: Path) -> None:
    case = CASES_WITHOUT_VECTOR[0]
    answer = load_answers(case.model).cases[case.name]
    command = [sys.executable, "-m", "app.cli", *_arguments(bundles / case.model, case, answer, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    _check(tmp_path, answer)
