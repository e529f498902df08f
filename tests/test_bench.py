"""What the benches share: tables that people can read, and a daemon that says why it does not start."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bench_serve import daemon_process, get
from scripts.bench_tools import show
from scripts.exporter_stamp import made_by_this_exporter, remove_what_others_made


def test_large_figures_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    show("health", ("clients", "p99", "max", "RTF"), [["50", 750.4, 1010.2, 0.0123456], ["1", None, 12, 3.14159]])
    said = capsys.readouterr().out
    for cell in ("750", "1010", "0.0123", " - ", " 12 ", "3.14"):
        assert cell in said
    assert "e+" not in said


def test_a_bundle_is_found_from_where_the_bench_is_called(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with daemon_process(tiny_bundle.name, 1, offload=False) as (_, port):
            assert (await get(port, "/ready")).startswith(b"HTTP/1.1 200")

    monkeypatch.chdir(tiny_bundle.parent)
    asyncio.run(scenario())


@pytest.mark.parametrize(
    "arguments",
    [
        ("bench_engine", "--bundle", "nowhere"),
        ("trace_run", "--bundle", "nowhere", "a.json"),
        ("storm", "--bundle", "nowhere"),
    ],
)
def test_a_bundle_that_is_not_there_is_told_in_one_line(arguments: tuple[str, ...]) -> None:
    module, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", f"scripts.{module}", *rest], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{module}: nowhere is not a voice bundle")
    assert done.stderr.count("\n") == 1


def test_a_daemon_that_does_not_start_says_why(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_process(str(tmp_path / "nowhere"), 1, offload=False):
            pass

    with pytest.raises(SystemExit, match="nowhere"):
        asyncio.run(scenario())


def test_what_another_exporter_made_is_not_measured(tmp_path: Path) -> None:
    mine, other, weights = made_by_this_exporter(tmp_path), tmp_path / "made-00000000", tmp_path / "0.6b"
    for folder in (mine, other, weights):
        folder.mkdir()
    remove_what_others_made(tmp_path)
    assert sorted(tmp_path.iterdir()) == [weights, mine]
