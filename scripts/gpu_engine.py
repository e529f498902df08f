"""The stages of `scripts/gpu_check` that run our engine on a GPU: TensorRT, and ONNX Runtime on CUDA.

Purpose: choose the cases, the most telling first, and run each in a process of its own (`scripts.gpu_case`), so that
one that breaks its device or is stopped costs no other. Prints each case's JSON line as it comes. Knows: cases, the
time. Does not know: how a case is measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

from engines.errors import GpuError
from engines.gpu_presence import check_gpu

_LEAST_S: Final = 5.0
_MOST_S: Final = 150.0  # of one case


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
        print(json.dumps({"missing": why}), flush=True)
        return
    for number, case in enumerate(cases):
        left_s = ends - time.monotonic()
        if left_s < _LEAST_S:
            print(json.dumps({"missing": f"no time left for {len(cases) - number} of {len(cases)} cases"}), flush=True)
            return
        backend = "cpu" if options.smoke else options.backend
        print(run(case, backend, min(left_s, _MOST_S), smoke=options.smoke), flush=True)


def _missing(backend: str) -> str | None:
    """What a backend lacks here; None where it can be tried. Asked in another process, or this one kept the device."""
    try:
        check_gpu()
    except GpuError as error:
        return str(error)
    if backend != "cuda":
        return None
    asking = "from engines.runner_ort_cuda import cuda_fault; print(cuda_fault() or '')"
    done = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        return f"ONNX Runtime cannot be asked: {_last(done.stderr)}"
    return done.stdout.strip() or None


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no word of why")


def run(case: Case, backend: str, left_s: float, *, smoke: bool) -> str:
    """The case's line of JSON; where there is none, a line that says why."""
    title = f"{backend} {case.model}" + (f", {case.shape}" if backend == "tensorrt" else "")
    facts = {"case": title, "backend": backend, "model": case.model, "precision": case.precision, "slots": case.slots}
    words = [sys.executable, "-m", "scripts.gpu_case", backend, case.model, case.precision, str(case.slots), case.shape]
    words += ["--budget-s", f"{left_s:.0f}", *(["--smoke"] if smoke else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=left_s)
    except subprocess.TimeoutExpired:
        return json.dumps({**facts, "fault": f"stopped after {left_s:.0f} s"})
    told = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not told:
        return json.dumps({**facts, "fault": f"exit code {done.returncode}: {_last(done.stderr)}"})
    return json.dumps({**facts, **json.loads(told[-1])})


if __name__ == "__main__":
    main()
