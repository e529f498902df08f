"""What could run the graphs here."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import msgspec
import onnxruntime as ort
import pytest

from app.speak_command import run
from engines import device_facts as facts_of
from engines.device_facts import device_facts, versions
from engines.engine_config import EngineConfig
from engines.errors import BundleError
from engines.plan_files import bundle_hash
from tests.plan_cache import KEY, write_plan


def test_facts_of_a_bundle(tiny_bundle: Path, tmp_path: Path) -> None:
    facts = device_facts(tiny_bundle, EngineConfig(backend="cpu", plans=str(tmp_path)))
    assert facts.backend == "cpu"
    assert "on the processor" in facts.sentence
    assert facts.plans == ()


def test_plans_of_the_bundle_alone_are_shown(tiny_bundle: Path, tmp_path: Path) -> None:
    mine = msgspec.structs.replace(KEY, bundle=bundle_hash(tiny_bundle), precision="int8")
    folder = write_plan(tmp_path, key=mine)
    write_plan(tmp_path)
    [told] = device_facts(tiny_bundle, EngineConfig(backend="cpu", plans=str(tmp_path))).plans
    assert folder.is_dir()
    assert told == "int8, 4 slots of 1024 rows, for TensorRT 10.15.1.29 on Orin (sm_87), 0 MB"


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        device_facts(tmp_path, EngineConfig())


def test_versions_come_with_their_package() -> None:
    found = versions()
    assert found["ONNX Runtime"].startswith(ort.__version__)
    assert set(found) == {"TensorRT", "ONNX Runtime", "cuda-python"}


def test_the_more_telling_package_is_named_and_what_came_without_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"tensorrt-cu12": "10.3.0", "onnxruntime": "1.30.0", "onnxruntime-gpu": "1.31.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    modules = set[str]()
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(facts_of, "find_spec", lambda name: name if name in modules else None)
    assert versions() == {
        "TensorRT": "10.3.0 (tensorrt-cu12)", "ONNX Runtime": "1.31.0 (onnxruntime-gpu)",
        "cuda-python": "not installed",
    }  # fmt: skip
    del installed["tensorrt-cu12"]
    assert versions()["TensorRT"] == "not installed"
    modules.add("tensorrt")
    assert versions()["TensorRT"] == "installed, version unknown"


def test_speak_shows_them(tiny_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--device-info", "--bundle", str(tiny_bundle)]) == 0
    shown = capsys.readouterr().out
    for name in ("device", "speaks with", "ONNX Runtime", "TensorRT", "plans", "temperature", "power mode", "memory"):
        assert name in shown
