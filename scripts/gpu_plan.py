"""The plan of one case of `scripts/gpu_check`, built in a process of its own.

Purpose: what a build leaves on the device must not be in the memory of the measurement, which finds the plan in the
cache. Prints one JSON line. Knows: builds. Does not know: TensorRT, CUDA, how a plan is measured.
"""

from __future__ import annotations

import time
from typing import Any

from export.build_command import load_builder
from export.errors import StoppedError
from export.plan_build import Watcher, build_plan
from export.plan_choice import PlanWish
from export.tensorrt import FrameShape
from scripts.gpu_asked import Asked, read_asked
from scripts.gpu_models import checkpoint_of
from scripts.gpu_rows import emit


def main() -> None:
    """Build one plan, or find it."""
    try:
        emit(**build(read_asked()))
    except StoppedError:
        emit(stopped=True)


def build(asked: Asked) -> dict[str, Any]:
    """The plan's size, what its verification found, and how long it took to build where it had to be.

    Random weights are not verified: it takes four sessions on the processor, and their codes mean nothing.
    """
    wish = PlanWish(
        bundle=asked.bundle, cache=asked.cache, sizes=asked.sizes,
        checkpoint=checkpoint_of(asked.model, smoke=asked.smoke), precision=asked.precision,
        shape=FrameShape(asked.shape), measured=False, verified=asked.model == "default",
    )  # fmt: skip
    ends = time.monotonic() + asked.budget_s
    watcher = Watcher(tell=lambda _: None, waiting=lambda: None, stopping=lambda: time.monotonic() > ends)
    plan, built = build_plan(wish, load_builder(), watcher)
    found = plan.about.verification
    told: dict[str, Any] = {"verified": found is not None, "built": built, "plan_mb": plan.about.bytes / 1e6}
    if found is not None:
        told |= {"agreement": found.agreement, "pcm_error": found.pcm_error}
    return told | ({"build_s": plan.about.build_s} if built else {})


if __name__ == "__main__":
    main()
