"""The command behind `scripts/gpu_check`: stages one after the other, then one table, the aims, and one JSON line.

Purpose: share the time among the stages that can run here, and always report: what was measured is told also after
SIGTERM or Ctrl-C. Knows: the stages, the time. Does not know: PyTorch, TensorRT, ONNX Runtime; it needs Python 3.10
and nothing else.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import Final, NoReturn

from scripts.gpu_report import aims, table, with_shares
from scripts.gpu_rows import line
from scripts.gpu_stage_run import Report, run_stage
from scripts.gpu_stages import STAGES, Stage, find_python

TOTAL_S: Final = 530.0
"""Of all stages together; nine minutes less what starting and reporting take."""
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class EndedError(BaseException):
    """Somebody asked this program to end; not to be taken for a stage's failure."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


def main() -> int:
    """Run the stages; returns 1 where one failed or a case of one did, 128 and the signal's number after a signal."""
    parser = argparse.ArgumentParser(prog="scripts/gpu_check", description="Measure what a GPU makes of this engine.")
    names = [stage.name for stage in STAGES]
    parser.add_argument("--stages", nargs="+", choices=names, default=names)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on the processor")
    parser.add_argument("--total-s", type=float, default=TOTAL_S, help="seconds for all stages (default: %(default)s)")
    options = parser.parse_args()
    ends, code = time.monotonic() + options.total_s, None
    reports = {stage: Report(stage.name) for stage in STAGES if stage.name in options.stages}
    try:
        with _endable():
            _run(reports, ends, smoke=options.smoke)
    except EndedError as ended:
        code = ended.code
        for report in reports.values():
            if report.status == "stopped" and not report.reason:
                report.reason = str(ended)
    _tell(list(reports.values()))
    return code or int(any(report.broken for report in reports.values()))


def _run(reports: dict[Stage, Report], ends: float, *, smoke: bool) -> None:
    """Run stages until `ends` (monotonic, s); time is kept only for those that can run."""
    pythons = {stage: find_python(stage.needs) for stage in reports}
    for number, (stage, report) in enumerate(reports.items()):
        python, lacking = pythons[stage]
        if python is None:
            report.status, report.reason = "missing", f"no Python here has {', '.join(lacking)}"
        else:
            later_s = sum(other.seconds for other in list(reports)[number + 1 :] if pythons[other][0])
            left_s = ends - time.monotonic()
            box_s = max(left_s - later_s, min(stage.seconds, left_s))
            print(f"== {stage.name} (at most {box_s:.0f} s)", file=sys.stderr, flush=True)
            run_stage(report, stage, python, box_s, smoke=smoke)
        print(f"   {report}", file=sys.stderr, flush=True)


@contextmanager
def _endable() -> Iterator[None]:
    """Inside, a signal to end raises `EndedError`; it and those that follow do not end the report."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise EndedError(number)

    for each in _ENDING:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)


def _tell(reports: list[Report]) -> None:
    rows = with_shares([row for report in reports for row in report.rows])
    print(table(rows))
    print()
    for report in reports:
        print(report)
    for row in rows:
        if told := row.get("fault") or row.get("missing"):
            facts = [str(row[name]) for name in ("case", "precision", "dtype", "slots") if name in row]
            print(f"{', '.join(facts)}: {told}")
    judged = aims(rows)
    for aim in judged:
        print(f"aim: {aim['aim']}: {aim['found']}")
    print(line({"check": "gpu", "stages": [asdict(report) for report in reports], "aims": judged}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
