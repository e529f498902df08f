"""`speak` in a process of its own, with a small model of random weights, and what is looked at when it has run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
import soundfile

from tests.audio_world import REPOSITORY, environment

TIMEOUT_S = 60.0
TEXT = "The quick brown fox jumps over the lazy dog. A second sentence follows the first one here. And then a third."
FRAMES = ("--max-frames", "12", "--seed", "5")


class Speak:
    """Runs `speak` with a bundle, in a folder, in an environment of its own."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self.bundle = bundle
        self.folder = folder
        self.world = environment(folder)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "app.cli", "--bundle", str(self.bundle), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**self.world, "PYTHONPATH": str(REPOSITORY)}

    def __call__(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        given: dict[str, Any] = {"capture_output": True, "stdin": None, **options}
        if "input" in given:
            del given["stdin"]
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            timeout=TIMEOUT_S,
            check=False,
            **given,
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        streams: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, env=self.environment, bufsize=0, **streams)


def says(done: subprocess.CompletedProcess[bytes], *parts: str, code: int = 1) -> None:
    """It failed, with one clear line and no traceback."""
    text = done.stderr.decode()
    assert done.returncode == code, text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1, text
    assert text.startswith("speak: ")
    for part in parts:
        assert part in text


def samples_of(file: Path) -> Any:
    return soundfile.read(file, dtype="int16")[0]


def raw_samples(data: bytes) -> Any:
    return np.frombuffer(data, "<i2")


def alike(one: Any, other: Any) -> bool:
    """The same sound: blocks are cut by the clock, which may turn the last bit (the codec's promise is 1e-5)."""
    return len(one) == len(other) > 0 and int(np.abs(one.astype(np.int32) - other.astype(np.int32)).max()) <= 1


def wait_until(reached: Any, process: subprocess.Popen[bytes]) -> None:
    """Look until something holds; fails when the process ends or never gets there."""
    deadline = time.monotonic() + TIMEOUT_S
    while not reached():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.002)


def pipe_of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def tell(stream: IO[bytes] | None, data: bytes) -> None:
    """Write it, and let none of it wait (from Python 3.14 on, buffers hold more than our texts)."""
    pipe_of(stream).write(data)
    pipe_of(stream).flush()
