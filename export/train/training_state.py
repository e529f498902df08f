"""What every training here does alike: how fast it learns when, and how its state gets to disk."""

from __future__ import annotations

import math
from pathlib import Path

import torch

LEAST = 0.02  # of the highest rate, at the end


def rate_at(highest: float, least: float, done: int, warm_up: int, share: float) -> float:
    """Learning rate after `done` steps and a share of the budget: rises over `warm_up` steps, falls along a cosine."""
    fall = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
    return min(1.0, (done + 1) / warm_up) * (least + (highest - least) * fall)


def save(path: Path, state: dict[str, object]) -> None:
    """Write the state aside, then rename it into place."""
    aside = path.with_suffix(".part")
    torch.save(state, aside)
    aside.replace(path)
