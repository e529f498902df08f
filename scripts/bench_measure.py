"""Durations, memory and bandwidth, with nothing but numpy, so that any interpreter can measure the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

PROBE_BYTES: Final = 1 << 28  # far larger than any cache here


def median_ms(action: Callable[[], object], runs: int, warm: int = 2) -> float:
    """Median duration of `action` in milliseconds, after `warm` runs that do not count."""
    for _ in range(warm):
        action()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken)) * 1000


def read_bandwidth_gb_s() -> float:
    """Bytes per second one thread reads from memory, in GB/s: the best of several sums over a large array."""
    words = np.ones(PROBE_BYTES // 8, np.uint64)
    best = min(median_ms(words.sum, runs=1, warm=0) for _ in range(6))
    return PROBE_BYTES / best / 1e6


def peak_memory_mb() -> float:
    """Most memory this process ever had resident, in MB (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    return float("nan")
