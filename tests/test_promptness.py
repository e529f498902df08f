"""Real time, or a short slice and weight, for the loop's thread, and for no other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from typing import Any

import msgspec
import pytest

SCRIPT = """
import json, os, resource, threading
os.setpriority(os.PRIO_PROCESS, 0, {start})
from app.promptness import be_ordinary, be_prompt
if {limited}:
    resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 65534)
RESET = os.SCHED_RESET_ON_FORK
how = lambda: (os.sched_getscheduler(0) & ~RESET, os.getpriority(os.PRIO_PROCESS, 0))
taken = be_prompt()
begun = []
thread = threading.Thread(target=lambda: (begun.append(how()), be_ordinary(), begun.append(how())))
thread.start()
thread.join()
print(json.dumps({"taken": taken, "prompt": how(), "begun": begun[0], "ordinary": begun[1]}))
"""
OTHER, REALTIME = os.SCHED_OTHER, os.SCHED_RR
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may have more weight everywhere, and grant real time")


def said(start: int, *, limited: bool) -> Any:
    script = SCRIPT.replace("{limited}", str(limited)).replace("{start}", str(start))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    return msgspec.json.decode(run.stdout)


@pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="knows two machines' system calls")
@pytest.mark.parametrize("limited", [True, False])
def test_a_process_that_was_made_nice_stays_so_and_takes_the_slice_alone(limited: bool) -> None:
    if not limited and os.getuid() != 0:
        pytest.skip("nobody else has the right")
    how = [OTHER, 19]
    assert said(19, limited=limited) == {"taken": True, "prompt": how, "begun": how, "ordinary": how}


@as_root
@pytest.mark.parametrize("nice", [0, -5])
def test_where_it_may_it_takes_real_time_and_other_threads_are_ordinary(nice: int) -> None:
    found = said(nice, limited=False)
    assert found == {"taken": True, "prompt": [REALTIME, nice], "begun": [OTHER, 0], "ordinary": [OTHER, nice]}


def test_without_any_right_it_stays_ordinary() -> None:
    assert said(0, limited=True)["prompt"] == [OTHER, 0]


@as_root
@pytest.mark.parametrize(("nice", "weight"), [(0, -10), (-5, -15), (-19, -20)])
def test_without_real_time_it_takes_weight(monkeypatch: pytest.MonkeyPatch, nice: int, weight: int) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SCRIPT", WITHOUT_REALTIME + SCRIPT)
    found = said(nice, limited=False)
    assert found == {"taken": True, "prompt": [OTHER, weight], "begun": [OTHER, 0], "ordinary": [OTHER, nice]}


WITHOUT_REALTIME = """
import os
def refuse(*_):
    raise PermissionError
os.sched_setscheduler = refuse
"""


def test_a_thread_with_another_policy_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from app.promptness import be_prompt

    monkeypatch.setattr(os, "sched_getscheduler", lambda _: os.SCHED_BATCH)
    assert not be_prompt()
