"""A short slice and weight for the loop's thread, and for no other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import os, threading
from app.promptness import be_prompt
if {limited}:
    import resource
    resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 65534)
nice = lambda: os.getpriority(os.PRIO_PROCESS, 0)
os.setpriority(os.PRIO_PROCESS, 0, {start})
before = nice()
taken = be_prompt()
others = []
thread = threading.Thread(target=lambda: others.append(nice()))
thread.start()
thread.join()
print(taken, os.sched_getscheduler(0) & 0xff == os.SCHED_OTHER, before - nice(), before - others[0])
"""
pytestmark = pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="knows two machines")


def said(start: int, *, limited: bool) -> list[str]:
    script = SCRIPT.replace("{limited}", str(limited)).replace("{start}", str(start))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    return run.stdout.split()


def test_without_the_right_to_more_weight_it_takes_the_slice_alone() -> None:
    assert said(19, limited=True) == ["True", "True", "0", "0"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may have more weight everywhere")
@pytest.mark.parametrize(("start", "gained", "others"), [(0, "10", "0"), (-5, "10", "-5"), (-19, "1", "-19")])
def test_where_it_may_it_takes_weight_and_other_threads_are_ordinary(start: int, gained: str, others: str) -> None:
    assert said(start, limited=False) == ["True", "True", gained, others]


def test_a_process_that_was_made_nice_stays_so() -> None:
    assert said(19, limited=False) == ["True", "True", "0", "0"]


def test_a_thread_with_another_policy_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.promptness import be_prompt

    monkeypatch.setattr(os, "sched_getscheduler", lambda _: os.SCHED_BATCH)
    assert not be_prompt()
