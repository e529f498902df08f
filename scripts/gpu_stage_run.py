"""One stage of `scripts/gpu_check`, run in a process of its own within its time box.

Purpose: keep every result a stage prints even if it crashes or is stopped, show it as it comes, and say whether the
stage was done, failed, stopped or missing, with the reason. Knows: processes, time. Does not know: what is measured.
Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

from scripts.gpu_child import follow
from scripts.gpu_rows import line, reason
from scripts.gpu_stages import Stage

_FALL_S: Final = 5.0
"""For a stage to end by itself when it was asked to."""


@dataclass
class Report:
    """What came of a stage."""

    name: str
    status: str = "stopped"
    """Until it is through: then "done", "failed", or "missing"."""
    reason: str = ""
    seconds: float = 0.0
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def broken(self) -> bool:
        """Whether it failed, or a result of it did, however it ended."""
        return self.status == "failed" or any("fault" in row for row in self.rows)

    def hear(self, row: dict[str, Any]) -> None:
        """Keep a result, in the place of what was there of it; one with `missing` alone speaks of the stage."""
        print(line(row), file=sys.stderr, flush=True)
        if self.rows and self.rows[-1].get("unfinished"):
            self.rows.pop()
        if set(row) == {"missing"}:
            self.status = "stopped" if self.rows else "missing"
            self.reason = str(row["missing"])
        else:
            self.rows.append({"stage": self.name, **row})

    def __str__(self) -> str:
        told = f"{self.name}: {self.status}" + (f" ({self.reason})" if self.reason else "")
        return f"{told}, {len(self.rows)} results in {self.seconds:.0f} s"


def run_stage(report: Report, stage: Stage, python: str, box_s: float, *, smoke: bool) -> None:
    """Run one stage for at most `box_s` seconds, and report; whatever goes wrong is the stage's failure."""
    if box_s < 1.0:
        report.reason = "no time was left"
        return
    words = [python, "-m", stage.module, *stage.words, "--budget-s", f"{max(box_s - _FALL_S, 1.0):.0f}"]
    began = time.monotonic()
    try:
        ended = follow([*words, *(["--smoke"] if smoke else [])], box_s, report.hear, apart=True)
    except Exception as error:
        report.status, report.reason = "failed", reason(error)
    else:
        if ended.code is None:
            report.status, report.reason = "stopped", f"it took longer than {box_s:.0f} s"
        elif ended.code != 0:
            report.status, report.reason = "failed", ended.fault
        elif not report.reason:
            report.status = "done"
    finally:
        report.seconds = round(time.monotonic() - began, 1)
    if faults := sum("fault" in row for row in report.rows):
        told = f"{faults} of {len(report.rows)} cases failed"
        report.reason = f"{report.reason}; {told}" if report.reason else told
        report.status = "failed" if report.status == "done" else report.status
