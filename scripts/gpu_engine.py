"""The stages of `scripts/gpu_check` that run our engine on a GPU: TensorRT, and ONNX Runtime on CUDA.

Purpose: choose the cases, the most telling first, and run each in processes of its own (`scripts.gpu_plan`, then
`scripts.gpu_case`), so that one that breaks its device or is stopped costs no other, and keeps what it had told.
Prints each case's JSON line as it comes. Knows: cases, the time. Does not know: how a case is measured.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from engines.errors import GpuError
from engines.gpu_presence import check_gpu
from scripts.gpu_child import follow
from scripts.gpu_rows import emit, line

_LEAST_S: Final = 5.0
_MOST_S: Final = 150.0  # of one case
_FALL_S: Final = 5.0  # for a build to end by itself
_ASKED_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement."""

    model: str
    precision: str
    slots: int
    shape: str = "stepped"
    """Of TensorRT's frame."""


TENSORRT: Final = (
    Case("default", "fp32", 4),
    Case("0.6b", "int4", 4),
    Case("0.6b", "int4", 1),
    Case("default", "fp16", 4),
    Case("default", "int8", 4),
    Case("default", "int4", 4),
    Case("0.6b", "int4", 1, "unrolled"),
    Case("0.6b", "fp16", 4),
    Case("0.6b", "int8", 4),
    Case("0.6b", "int4", 8),
    Case("0.6b", "int4", 2),
    Case("0.6b", "fp8", 4),
    Case("0.6b", "fp32", 4),
)
CUDA: Final = (
    Case("default", "fp32", 4),
    Case("0.6b", "int4", 4),
    Case("0.6b", "int4", 1),
    Case("0.6b", "int4", 2),
    Case("0.6b", "int4", 8),
)
SMOKE: Final = (Case("default", "fp32", 2),)


def main() -> None:
    """Run what there is time for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backend", choices=["tensorrt", "cuda"])
    parser.add_argument("--budget-s", type=float, default=240.0)
    parser.add_argument("--smoke", action="store_true", help="a tiny model, on the processor")
    options = parser.parse_args()
    ends = time.monotonic() + options.budget_s
    cases = SMOKE if options.smoke else TENSORRT if options.backend == "tensorrt" else CUDA
    if not options.smoke and (why := _missing(options.backend)):
        emit(missing=why)
        return
    for number, case in enumerate(cases):
        if ends - time.monotonic() < _LEAST_S:
            emit(missing=f"no time left for {len(cases) - number} of {len(cases)} cases")
            return
        print(line(run(case, "cpu" if options.smoke else options.backend, ends, smoke=options.smoke)), flush=True)


def _missing(backend: str) -> str | None:
    """What a backend lacks here; None where it can be tried. Asked in another process, or this one kept the device."""
    try:
        check_gpu()
    except GpuError as error:
        return str(error)
    if backend != "cuda":
        return None
    asking = "import json; from engines.runner_ort_cuda import cuda_fault; print(json.dumps({'fault': cuda_fault()}))"
    answers: list[dict[str, Any]] = []
    ended = follow([sys.executable, "-c", asking], _ASKED_S, answers.append, apart=False)
    if ended.code != 0 or not answers:
        return f"ONNX Runtime cannot be asked: {'no answer' if ended.code is None else ended.fault}"
    fault: str | None = answers[0]["fault"]
    return fault


def run(case: Case, backend: str, ends: float, *, smoke: bool) -> dict[str, Any]:
    """The case's result: all that was measured until it was through, broke, or was stopped at `ends` (monotonic, s).

    What there is of it is printed as it grows, marked as unfinished: this process may be ended itself.
    """
    row: dict[str, Any] = {"case": f"{backend} {case.model}", "backend": backend, **asdict(case)}
    if backend == "tensorrt":
        row["case"] += f", {case.shape}"
    else:
        del row["shape"]

    def hear(found: dict[str, Any]) -> None:
        row.update(found)
        emit(**row, unfinished=True)

    whole_s = min(ends - time.monotonic(), _MOST_S)
    cut = "fault" if whole_s == _MOST_S else "missing"  # no case is broken because its stage's time is over
    last = time.monotonic() + whole_s
    for module in ("scripts.gpu_plan", "scripts.gpu_case") if backend == "tensorrt" else ("scripts.gpu_case",):
        limit_s = last - time.monotonic()
        words = [sys.executable, "-m", module, backend, case.model, case.precision, str(case.slots), case.shape]
        words += ["--budget-s", f"{limit_s - _FALL_S:.0f}", *(["--smoke"] if smoke else [])]
        ended = follow(words, limit_s, hear, apart=False)
        if row.pop("stopped", ended.code is None):
            return {**row, cut: f"{module} was stopped, {whole_s:.0f} s after the case began"}
        if ended.code != 0:
            return {**row, "fault": ended.fault}
    return row


if __name__ == "__main__":
    main()
