"""How `scripts/gpu_check` times a device through PyTorch, and captures what it times.

Knows: CUDA's events and graphs as PyTorch has them. Does not know: what is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def per_run_ms(run: Callable[[], object], device: str, runs: int, before: Callable[[], object] = lambda: None) -> float:
    """Mean duration of a run, after some that do not count; the queue stays full while it is measured."""
    before()
    for _ in range(3):
        run()
    before()
    if device != "cuda":
        began = time.perf_counter()
        for _ in range(runs):
            run()
        return (time.perf_counter() - began) * 1000 / runs
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(runs):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / runs


def captured(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A run as one CUDA graph.

    Captured on the stream that it was tried on: what libraries keep for each stream (workspaces, handles) is there by
    then. PyTorch's own stream for captures has seen none of it, and what is not there yet may not be made there.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries set themselves up outside of the capture
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        run()
    return graph


def copy_bandwidth_gb_s(device: str, size_bytes: int) -> float:
    """Bytes read and written a second, GB/s, by a copy far larger than any cache."""
    source = torch.empty(size_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size_bytes / per_run_ms(lambda: target.copy_(source), device, 5) / 1e6
