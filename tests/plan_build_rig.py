"""A build of a plan at a fake TensorRT: what is wished, what is told of it, what it leaves.

Knows: the build's door. Does not know: TensorRT, what is tested.
"""

from __future__ import annotations

from pathlib import Path

from engines.plan_files import Plan
from engines.plan_set import PlanSizes
from export.plan_build import Watcher, build_plan
from export.plan_choice import PlanWish
from export.plan_progress import BuildState
from tests.fake_builder import FakeBuilder

SIZES = PlanSizes(slots=2, positions=64, prefill_rows=8, codec_chunk_frames=5)


class Diary:
    """Everything a build told."""

    def __init__(self, stop_at: str = "") -> None:
        self.states: list[BuildState] = []
        self.waited = 0
        self._stop_at = stop_at

    @property
    def watcher(self) -> Watcher:
        return Watcher(tell=self.states.append, waiting=self._wait, stopping=self._stopping, clock=self._clock)

    def _wait(self) -> None:
        self.waited += 1

    def _stopping(self) -> bool:
        return [state.stage for state in self.states].count(self._stop_at) > 1  # it has begun, and goes on

    def _clock(self) -> float:
        return float(len(self.states))


def wish_for(bundle: Path, checkpoint: Path, folder: Path) -> PlanWish:
    return PlanWish(
        bundle=bundle, cache=folder / "plans", sizes=SIZES, checkpoint=checkpoint, precision="fp32", measured=False
    )


def build(wish: PlanWish, builder: FakeBuilder | None = None, diary: Diary | None = None) -> tuple[Plan, bool]:
    return build_plan(wish, builder or FakeBuilder(), (diary or Diary()).watcher)


def left_in(cache: Path) -> set[str]:
    """What lies in a cache beside plans."""
    return {path.name for path in cache.iterdir() if path.name.startswith(".")} - {".lock"}
