"""The command behind `scripts/gpu_check`: stages in processes of their own, each with its time box.

Purpose: find a Python for each stage, run it, keep every result it prints even if it crashes or is stopped, and report
each as done, failed, stopped or missing, with the reason; then one table, the aims, and one JSON line. Knows: the
stages, the time. Does not know: PyTorch, TensorRT, ONNX Runtime; it needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from scripts.gpu_report import aims, table, with_roofline
from scripts.gpu_stages import STAGES, Stage, find_python

TOTAL_S: Final = 530.0
"""Of all stages together; nine minutes less what starting and reporting take."""
_FALL_S: Final = 5.0
"""For a stage to end by itself when it was asked to."""


@dataclass
class Report:
    """What came of a stage."""

    name: str
    status: str = "done"
    reason: str = ""
    seconds: float = 0.0
    rows: list[dict[str, Any]] = field(default_factory=list)


def main() -> int:
    """Run the stages; returns 1 where one failed."""
    parser = argparse.ArgumentParser(prog="scripts/gpu_check", description="Measure what a GPU makes of this engine.")
    names = [stage.name for stage in STAGES]
    parser.add_argument("--stages", nargs="+", choices=names, default=names)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on the processor")
    parser.add_argument("--total-s", type=float, default=TOTAL_S, help="seconds for all stages (default: %(default)s)")
    options = parser.parse_args()
    stages = [stage for stage in STAGES if stage.name in options.stages]
    ends = time.monotonic() + options.total_s
    reports = []
    for number, stage in enumerate(stages):
        later_s = sum(other.seconds for other in stages[number + 1 :])
        box_s = max(ends - time.monotonic() - later_s, min(stage.seconds, ends - time.monotonic()))
        print(f"== {stage.name} (at most {box_s:.0f} s)", file=sys.stderr, flush=True)
        reports.append(run_stage(stage, box_s, smoke=options.smoke))
        print(f"   {_line(reports[-1])}", file=sys.stderr, flush=True)
    rows = with_roofline([row for report in reports for row in report.rows])
    print(table(rows))
    print()
    for report in reports:
        print(_line(report))
    for row in rows:
        if told := row.get("fault") or row.get("missing"):
            print(f"{row['case']}, {row.get('precision', row.get('dtype'))}, {row['slots']} slots: {told}")
    judged = aims(rows)
    for aim in judged:
        print(f"aim: {aim['aim']}: {aim['found']}")
    print(json.dumps({"check": "gpu", "stages": [asdict(report) for report in reports], "aims": judged}))
    return 1 if any(report.status == "failed" for report in reports) else 0


def run_stage(stage: Stage, box_s: float, *, smoke: bool) -> Report:
    """Run one stage for at most `box_s` seconds."""
    report = Report(stage.name)
    python, lacking = find_python(stage.needs)
    if python is None:
        report.status, report.reason = "missing", f"no Python here has {', '.join(lacking)}"
        return report
    if box_s < 1.0:
        report.status, report.reason = "stopped", "no time was left"
        return report
    words = [python, "-m", stage.module, *stage.words, "--budget-s", f"{max(box_s - _FALL_S, 1.0):.0f}"]
    began = time.monotonic()
    with subprocess.Popen(
        [*words, *(["--smoke"] if smoke else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            _follow(child, report, box_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # and what it may have left running on the device
    faults = [row for row in report.rows if "fault" in row]
    if faults and report.status == "done":
        report.status, report.reason = "failed", f"{len(faults)} of {len(report.rows)} cases"
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _follow(child: subprocess.Popen[str], report: Report, box_s: float) -> None:
    """Read what a stage prints until it ends, or end it."""
    complaints: deque[str] = deque(maxlen=200)
    readers = [
        threading.Thread(target=_collect, args=(child.stdout, report), daemon=True),
        threading.Thread(target=lambda: complaints.extend(child.stderr or ()), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        code = child.wait(box_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        report.status, report.reason = "stopped", f"it took longer than {box_s:.0f} s"
        code = 0
    for reader in readers:
        reader.join(1.0)
    if code != 0:
        last = next((line.strip() for line in reversed(complaints) if line.strip()), "no word of why")
        report.status, report.reason = "failed", f"exit code {code}: {last}"


def _collect(lines: Any, report: Report) -> None:
    """Keep the JSON lines of a stage; one with `missing` alone speaks of the stage, others are results."""
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # a library's own chatter
        if not isinstance(row, dict):
            continue
        if set(row) == {"missing"}:
            if report.status == "done":
                report.status = "missing" if not report.rows else "stopped"
            report.reason = str(row["missing"])
        else:
            report.rows.append({"stage": report.name, **row})


def _line(report: Report) -> str:
    told = f"{report.name}: {report.status}"
    told += f" ({report.reason})" if report.reason else ""
    return f"{told}, {len(report.rows)} results in {report.seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
