"""What training needs is installed before anything runs, or nothing runs, and it is tried again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
SCRIPT = 'set -euo pipefail; root=$PWD; . scripts/train_tools.sh; python=$(train_python); echo "goes on with $python"'
PYTHON = """#!/bin/bash
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && printf '#!/bin/sh\\nexit %d\\n' {code} >"$3/bin/pip" &&
    chmod +x "$3/bin/pip" ;;
  "-m pip "*) exit {code} ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("train_tools.sh", "apt.sh"):
        (tmp_path / "scripts" / name).write_text((REPOSITORY / "scripts" / name).read_text())
    return tmp_path


def run(checkout: Path, *, network: bool = True, packages: bool = True) -> tuple[int, str, str]:
    """Exit code, stdout and stderr, with these to be had."""
    for name, text in (
        ("python3", PYTHON.format(code=int(not network))),
        ("dpkg", f"#!/bin/sh\nexit {int(not packages)}\n"),
    ):
        (checkout / "bin").mkdir(exist_ok=True)
        (checkout / "bin" / name).write_text(text)
        (checkout / "bin" / name).chmod(0o755)
    world = {name: value for name, value in os.environ.items() if name not in {"PYTHON", "SPEAKD_TRAIN_PYTHON"}}
    done = subprocess.run(
        ["bash", "-c", SCRIPT], cwd=checkout, capture_output=True, text=True, check=False, timeout=60,
        env={**world, "PATH": f"{checkout}/bin:{os.environ['PATH']}", "SPEAKD_NO_APT": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_an_installation_that_failed_is_tried_again(checkout: Path) -> None:
    code, out, said = run(checkout, network=False)
    assert (code, out) == (1, "")
    assert "could not be installed" in said
    for _ in range(2):
        assert run(checkout)[:2] == (0, f"goes on with {checkout}/.cache/train/bin/python\n")


def test_without_its_packages_nothing_is_begun(checkout: Path) -> None:
    code, out, said = run(checkout, packages=False)
    assert (code, out) == (1, "")
    assert "sudo apt-get install festival" in said
    assert not (checkout / ".cache/train").exists()
