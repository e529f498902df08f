"""`speak` itself against what the official package said: from the words on the command line to codes and a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.speak_command import run
from tests.parity_cases import CASES, FRAMES, MODELS, Answer, Case, load_answers
from tests.parity_engine import ParityBundles

SOUND = 1e-4
CASES_WITHOUT_VECTOR = [case for case in CASES if MODELS[case.model].kind != "base"]


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
def test_speak(case: Case, parity_bundles: ParityBundles, tmp_path: Path) -> None:
    answer = load_answers(case.model).cases[case.name]
    assert run(_arguments(parity_bundles[case.model], case, answer, tmp_path)) == 0
    _check(tmp_path, answer)


def test_speak_in_a_process_of_its_own(parity_bundles: ParityBundles, tmp_path: Path) -> None:
    case = CASES_WITHOUT_VECTOR[0]
    answer = load_answers(case.model).cases[case.name]
    command = [sys.executable, "-m", "app.cli", *_arguments(parity_bundles[case.model], case, answer, tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    _check(tmp_path, answer)
