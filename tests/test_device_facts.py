"""What could run the graphs here."""

from __future__ import annotations

from pathlib import Path

import onnxruntime as ort
import pytest

from app.speak_command import run
from engines.device_facts import device_facts, versions
from engines.engine_config import EngineConfig
from engines.errors import BundleError


def test_facts_of_a_bundle(tiny_bundle: Path, tmp_path: Path) -> None:
    facts = device_facts(tiny_bundle, EngineConfig(backend="cpu", plans=str(tmp_path)))
    assert facts.backend == "cpu"
    assert "on the processor" in facts.sentence
    assert facts.plans == ()


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        device_facts(tmp_path, EngineConfig())


def test_versions_come_with_their_package() -> None:
    found = versions()
    assert found["ONNX Runtime"].startswith(ort.__version__)
    assert set(found) == {"TensorRT", "ONNX Runtime", "cuda-python"}


def test_speak_shows_them(tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--device-info", "--bundle", str(tiny_bundle)]) == 0
    shown = capsys.readouterr().out
    for name in ("device", "speaks with", "ONNX Runtime", "TensorRT", "plans", "temperature", "power mode", "memory"):
        assert name in shown
