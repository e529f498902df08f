"""What the benches share: tables that people can read."""

from __future__ import annotations

import pytest

from scripts.bench_tools import show


def test_large_figures_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    show("health", ("clients", "p99", "max", "RTF"), [["50", 750.4, 1010.2, 0.0123456], ["1", None, 12, 3.14159]])
    said = capsys.readouterr().out
    for cell in ("750", "1010", "0.0123", " - ", " 12 ", "3.14"):
        assert cell in said
    assert "e+" not in said
