"""An export that is told to end in the middle clears up first; a build's ends are in `tests.test_build_command`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from export.stopping import ended_in_order

ROOT = Path(__file__).parent.parent
TOLD = """
import os, shutil, signal, sys
from export import quality_gate
from export.__main__ import main

number, clear = int(sys.argv[1]), shutil.rmtree
signal.signal(number, signal.SIG_DFL)  # these tests may run under nohup

def tell(*_):
    os.kill(os.getpid(), number)

def clear_and_be_told_again(*arguments, **named):
    tell()
    clear(*arguments, **named)

quality_gate.save_model, shutil.rmtree = tell, clear_and_be_told_again
sys.exit(main(sys.argv[2:]))
"""
"""While the full weights lie beside the bundle in the making, and, as `timeout` does, once more."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_leaves_nothing_behind(
    number: signal.Signals, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    words = [str(int(number)), str(tiny_checkpoint), str(tmp_path / "bundle"), "--precision", "int8", "--measure"]
    made = subprocess.run(
        [sys.executable, "-c", TOLD, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert (made.returncode, made.stderr) == (130, "export: stopped, nothing was left behind\n")
    assert not list(tmp_path.iterdir())


def test_what_was_ignored_stays_so_and_what_was_not_ends_the_process_again_afterwards() -> None:
    wanted = {signal.SIGHUP: signal.SIG_IGN, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        with ended_in_order():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "nohup"
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert {number: signal.getsignal(number) for number in wanted} == wanted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
