"""A short slice for the loop's thread, and for no other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import os, threading
from app.promptness import be_prompt
before = os.getpriority(os.PRIO_PROCESS, 0)
print(be_prompt(), os.sched_getscheduler(0) & 0xff == os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0) == before)
"""


@pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="knows two machines")
def test_it_is_taken_and_changes_nothing_else() -> None:
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=30)
    assert said.stdout == "True True True\n"


def test_a_thread_with_another_policy_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.promptness import be_prompt

    monkeypatch.setattr(os, "sched_getscheduler", lambda _: os.SCHED_BATCH)
    assert not be_prompt()
