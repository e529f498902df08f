"""The rooms and who may know whom: app → the public doors of engines; export → their manifest; engines → neither."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

PUBLIC_DOORS = {"engines.contract", "engines.errors", "engines.engine", "engines.voice_files"}
MANIFEST = {"engines.manifest", "engines.step_names", "engines.errors"}
ROOMS = {"app", "engines", "export"}


def imports_of(file: Path) -> set[str]:
    """Modules a file imports, anywhere in it, with the rooms' names spelled out."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where they go"
            found.add(node.module or "")
            if node.module in ROOMS:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files_of(room: str) -> list[Path]:
    return sorted((ROOT / room).glob("*.py"))


@pytest.mark.parametrize("file", files_of("app"), ids=lambda file: file.name)
def test_app_knows_only_the_engines_public_doors(file: Path) -> None:
    outside = {name for name in imports_of(file) if name.split(".")[0] in {"engines", "export"}}
    assert outside <= PUBLIC_DOORS
    assert not imports_of(file) & {"onnx", "onnxruntime", "tensorrt", "torch"}


@pytest.mark.parametrize("file", files_of("engines"), ids=lambda file: file.name)
def test_engines_know_neither_app_nor_export(file: Path) -> None:
    rooms = {name.split(".")[0] for name in imports_of(file)}
    assert not rooms & {"app", "export", "asyncio", "torch"}


@pytest.mark.parametrize("file", files_of("export"), ids=lambda file: file.name)
def test_export_knows_only_the_engines_manifest(file: Path) -> None:
    names = imports_of(file)
    assert {name for name in names if name.split(".")[0] in {"app", "engines"}} <= MANIFEST
    assert "torch" not in {name.split(".")[0] for name in names}


def test_every_file_opens_with_its_purpose() -> None:
    for room in ROOMS:
        for file in files_of(room):
            assert ast.get_docstring(ast.parse(file.read_text())), f"{file} does not say what it is for"


def test_no_file_outgrows_its_job() -> None:
    for room in ROOMS:
        for file in files_of(room):
            assert len(file.read_text().splitlines()) <= 350, f"{file} is too long: give a part of it a file of its own"
