"""The rooms and the directions of their imports, by reading the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "app": {
        "engines.contract", "engines.device_facts", "engines.engine", "engines.engine_config", "engines.errors",
        "engines.gpu_presence", "engines.machine_memory", "engines.voice_files",
    },
    "export": {
        "engines.manifest", "engines.step_names", "engines.plan_set", "engines.plan_files", "engines.errors",
        "engines.machine_memory",
        "engines.cuda_api",  # the one border to CUDA; engines are tried where they are built
    },
    "engines": set[str](),
}  # fmt: skip
NAMES = {"engines.engine": {"SpeechEngine", "EngineConfig"}, "engines.engine_config": {"EngineConfig"}}
"""Where a module is open to other rooms only in part."""
TRAINING = "torch"
SOURCES = [path for room in ALLOWED for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path) -> set[tuple[str, str]]:
    """Every (module, name) that a source imports anywhere, also inside functions."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room they reach into"
            found |= {(node.module or "", alias.name) for alias in node.names}
    return found


def split(module: str, name: str) -> tuple[str, str]:
    """`from room import module` counts as that module."""
    return (f"{module}.{name}", "") if module in ALLOWED and name else (module, name)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_keep_their_direction(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    for module, name in {split(*found) for found in imports(path)}:
        other = module.split(".")[0]
        if other in ALLOWED and other != room:
            assert module in ALLOWED[room], f"{room} must not import {module}"
            assert module not in NAMES or name in NAMES[module], f"{room} must not import {name} from {module}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_training_knows_torch(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    if parts[:2] != ("export", "train"):
        assert TRAINING not in {module.split(".")[0] for module, _ in imports(path)}


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_no_module_imports_itself_by_way_of_others(room: str) -> None:
    folder = ROOT / room
    direct = {f"{room}.{path.stem}": {split(*found)[0] for found in imports(path)} for path in folder.glob("*.py")}
    for module in direct:
        reached, left = set[str](), [module]
        while left:
            further = direct.get(left.pop(), set()) - reached
            reached |= further
            left += further
        assert module not in reached


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_every_module_has_its_place_in_the_rooms_map(room: str) -> None:
    told = set(re.findall(r"\w+", ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text("utf-8"))) or ""))
    modules = {path.stem for path in (ROOT / room).glob("*.py")} - {"__init__"}
    assert modules <= told
    written = {word for word in told if "_" in word.strip("_")}
    assert written <= modules, "a module that is gone"


def test_the_rule_can_fail(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text("from engines import talker\ndef f():\n    import engines.ring\n")
    assert {split(*found) for found in imports(source)} == {("engines.talker", ""), ("engines.ring", "")}
