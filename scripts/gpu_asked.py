"""What one case of `scripts/gpu_check` is asked for: its arguments, and the engine's settings that follow from them.

Purpose: building a plan and measuring it are processes of their own and must mean the same plan. Knows: arguments,
where things lie. Does not know: how anything is built or measured.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engines.engine_config import EngineConfig
from engines.plan_set import PlanSizes
from scripts.gpu_models import bundle_of

POSITIONS: Final = 512
PIECE_ROWS: Final = 64
BLOCK_FRAMES: Final = 25


@dataclass(frozen=True, slots=True)
class Asked:
    """One case."""

    backend: str
    model: str
    precision: str
    slots: int
    shape: str
    """Of TensorRT's frame."""
    budget_s: float
    smoke: bool

    @property
    def bundle(self) -> Path:
        """The model's bundle."""
        return bundle_of(self.model, smoke=self.smoke)

    @property
    def cache(self) -> Path:
        """Where its plans lie: apart by shape, which a configuration cannot ask for."""
        return self.bundle.parent / "plans" / self.shape

    @property
    def sizes(self) -> PlanSizes:
        """Of the plan."""
        return PlanSizes(
            slots=self.slots, positions=POSITIONS, prefill_rows=PIECE_ROWS, codec_chunk_frames=BLOCK_FRAMES
        )

    @property
    def config(self) -> EngineConfig:
        """Of the engine."""
        return EngineConfig(
            slots=self.slots, positions=POSITIONS, prefill_rows=PIECE_ROWS, codec_chunk_frames=BLOCK_FRAMES,
            backend=self.backend, precision=self.precision if self.backend == "tensorrt" else "auto",
            plans=str(self.cache), admission=False,
        )  # fmt: skip


def read_asked() -> Asked:
    """From the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backend")
    parser.add_argument("model")
    parser.add_argument("precision")
    parser.add_argument("slots", type=int)
    parser.add_argument("shape")
    parser.add_argument("--budget-s", type=float, default=100.0)
    parser.add_argument("--smoke", action="store_true")
    return Asked(**vars(parser.parse_args()))
