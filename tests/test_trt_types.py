"""TensorRT's own types: what the checker cannot read is mended, and the runtime agrees with them where they are."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

from scripts.trt_stubs import readable

ROOT = Path(__file__).parent.parent
PYTHON = "SPEAKD_TENSORRT_PYTHON"
STUBS = "SPEAKD_TENSORRT_STUBS"

STUB = """import typing
bool: DataType
class Builder:
    def good(self, index: int) -> bool:
        ...
    def odd(self, kind: Kind = <Kind.A: 0>) -> None:
        ...
    def worse(self, a: int = 0, b: int) -> None:
        ...
"""


def test_only_unreadable_signatures_are_opened() -> None:
    text, replaced = readable(STUB)
    assert replaced == 2
    names = [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert "def good(self, index: int) -> builtins.bool:" in names[0]
    assert all("*args: typing.Any" in name for name in names[1:])


def test_the_runtime_agrees_with_tensorrts_types() -> None:
    """Takes a minute or two."""
    python = os.environ.get(PYTHON)
    if STUBS not in os.environ:
        if python is None:
            pytest.skip(f"TensorRT is not here: {PYTHON} or {STUBS} names it, as scripts/trt_types says")
        if subprocess.run([python, "-c", "import pybind11_stubgen"], capture_output=True, check=False).returncode:
            pytest.skip(f"{python} has no pybind11-stubgen, which writes TensorRT's types down")
    done = subprocess.run([ROOT / "scripts" / "trt_types"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
