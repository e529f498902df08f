"""ONNX Runtime keeps to itself what runs here, whichever room loads it first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


@pytest.mark.parametrize("module", ["engines.runner_ort", "export.quality", "export.plan_machine"])
def test_nothing_is_kept_for_its_maker(tmp_path: Path, module: str) -> None:
    world = {
        name: value for name, value in os.environ.items() if name not in {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    }
    say = f"import {module}, onnxruntime, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    done = subprocess.run(
        [sys.executable, "-c", say], cwd=REPOSITORY, env={**world, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
