"""Every file says what it is for, and does not outgrow it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = [file for room in ("app", "engines", "export") for file in sorted((ROOT / room).glob("*.py"))]
_MOST_LINES = 350


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_file_says_what_it_is_for(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "it does not open with its purpose"
    assert len(text.splitlines()) <= _MOST_LINES, "give a part of it a file of its own"
