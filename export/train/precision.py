"""The arithmetic that networks train in: bfloat16 where the device is quicker with it, else float32.

Knows: that a processor without instructions for bfloat16 imitates them, sixty times slower (docs/LOG.md).
Does not know: networks.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Final

import torch

_WIDTH: Final = 256  # of the product that is timed: as wide as the shipped voice
_TRIES: Final = 5


def autocast(device: torch.device) -> torch.autocast:
    """The context that forward passes run in on `device`."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu" or _processor_gains())


@cache
def _processor_gains() -> bool:
    return _least_s(torch.bfloat16) < _least_s(torch.float32)


def _least_s(kind: torch.dtype) -> float:
    matrix, times = torch.ones(_WIDTH, _WIDTH, dtype=kind), []
    for _ in range(_TRIES):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    return min(times)
