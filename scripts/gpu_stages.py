"""The stages of `scripts/gpu_check`, and which Python can run them.

Purpose: name each stage's module, what it needs, and the time it is sure of. Knows: packages by name. Does not know:
how a stage does what it does. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ENGINE: Final = ("numpy", "onnx", "onnxruntime", "msgspec", "safetensors", "ml_dtypes", "tokenizers", "rich")
_ASKED_S: Final = 20.0
_ASKS: Final = """
import importlib.util, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
print(*[name for name in sys.argv[1:] if not there(name)])
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage."""

    name: str
    module: str
    needs: tuple[str, ...]
    """Modules its Python must have."""
    seconds: float
    """Time it is sure of; what earlier stages leave is added."""
    words: tuple[str, ...] = ()


STAGES: Final = (
    Stage("device", "scripts.gpu_device", (), 20.0),
    Stage("pytorch", "scripts.gpu_torch_run", ("torch",), 90.0),
    Stage("models", "scripts.gpu_models", _ENGINE, 90.0),
    Stage("tensorrt", "scripts.gpu_engine", (*_ENGINE, "tensorrt", "cuda.bindings"), 240.0, ("tensorrt",)),
    Stage("onnxruntime", "scripts.gpu_engine", _ENGINE, 80.0, ("cuda",)),
)
"""In this order: what needs least first."""


def find_python(needs: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """The first Python that has these modules, or None, and what the best of them lacks."""
    fewest = list(needs)
    for python in _pythons():
        try:
            lacking = subprocess.run(
                [python, "-c", _ASKS, *needs], capture_output=True, text=True, check=True, timeout=_ASKED_S
            ).stdout.split()
        except (OSError, subprocess.SubprocessError):
            continue  # not there, not a Python, or it does not answer
        if not lacking:
            return python, []
        fewest = min(fewest, lacking, key=len)
    return None, fewest


def _pythons() -> list[str]:
    own = Path(".venv/bin/python")
    named = (os.environ.get("SPEAKD_GPU_PYTHON"), str(own.absolute()) if own.exists() else None, sys.executable,
             shutil.which("python3"))  # fmt: skip
    return list(dict.fromkeys(python for python in named if python))
