"""The PyTorch stage of `scripts/gpu_check`: bandwidth of the device, and frames of the 0.6B shape with random weights.

Purpose: measure what PyTorch makes of the same work, eagerly and as one CUDA graph, as the official modules are written
and with joined projections, for 1 to 8 sequences; and the codec's decoder. Prints one JSON line for each result, the
most telling first. Knows: how to time a device. Does not know: ONNX, TensorRT, the engine. Needs PyTorch and nothing
else; `--smoke` runs tiny sizes on the processor.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import torch

from export.train.codec import Decoder
from export.train.shape import VoiceShape
from scripts.gpu_shape import SMOKE, Shape
from scripts.gpu_torch import Frame, random_frame

CODEC = VoiceShape(
    hidden=1024, codes=2048, code_groups=16, codebook_dim=512, latent=1024, codec_layers=8, codec_heads=16,
    codec_intermediate=1024, codec_window=72, decoder_dim=1536,
)  # fmt: skip
CONTEXT = 300
"""Rows in the cache of each sequence while frames are timed."""


def main() -> None:
    """Measure what there is time for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget-s", type=float, default=90.0)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on the processor")
    options = parser.parse_args()
    ends = time.monotonic() + options.budget_s
    if not options.smoke and not torch.cuda.is_available():
        emit(missing="no CUDA device that PyTorch can use")
        return
    device = "cpu" if options.smoke else "cuda"
    if options.smoke:
        torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    emit(case="PyTorch", torch=torch.__version__, cuda=torch.version.cuda, **device_facts(device))
    bandwidth = copy_bandwidth_gb_s(device, 1 << 22 if options.smoke else 1 << 32)
    emit(case="copy", bandwidth_gb_s=bandwidth)
    for batch in (1, 2) if options.smoke else (1, 4, 2, 8):
        for fused in (False, True):
            if time.monotonic() > ends:
                emit(missing=f"no time left for {batch} slots")
                return
            measure_frames(device, batch, bandwidth, fused=fused, smoke=options.smoke)
    measure_codec(device, smoke=options.smoke)


def measure_frames(device: str, batch: int, bandwidth: float, *, fused: bool, smoke: bool) -> None:
    """Eagerly and captured; one line each."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    s = SMOKE if smoke else Shape()
    dtype = torch.float32 if smoke else torch.bfloat16
    frame = random_frame(s, batch, device, dtype, fused=fused)
    kind = "joined projections" if fused else "as the official modules"
    floor_ms = s.frame_bytes(8 * dtype.itemsize, batch, min(CONTEXT, s.positions), dtype.itemsize) / bandwidth / 1e6
    eager_ms = per_run_ms(frame.run, device, 3 if smoke else 20, lambda: rewind(frame))
    told = {"slots": batch, "dtype": str(dtype).removeprefix("torch."), "floor_ms": floor_ms}
    emit(case=f"PyTorch eager, {kind}", frame_ms=eager_ms, roofline=floor_ms / eager_ms, **told)
    if device != "cuda":
        emit(case=f"PyTorch CUDA graph, {kind}", missing="no CUDA device", **told)
        return
    graph = captured(frame)
    graph_ms = per_run_ms(graph.replay, device, 100, lambda: rewind(frame))
    memory = torch.cuda.max_memory_allocated() / 1e6
    emit(case=f"PyTorch CUDA graph, {kind}", frame_ms=graph_ms, roofline=floor_ms / graph_ms, memory_mb=memory, **told)


def rewind(frame: Frame) -> None:
    """Back to the middle of the cache, so that the runs that follow fit."""
    frame.at.fill_(min(CONTEXT, frame.s.positions // 2))


def captured(frame: Frame) -> torch.cuda.CUDAGraph:
    """The whole frame as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # libraries set themselves up outside of the capture
        for _ in range(3):
            frame.run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        frame.run()
    return graph


def measure_codec(device: str, *, smoke: bool) -> None:
    """The decoder over whole blocks, eagerly: it carries no state, so this is its cheapest form."""
    torch.manual_seed(0)
    dtype = torch.float32 if smoke else torch.bfloat16
    shape = VoiceShape() if smoke else CODEC
    decoder = Decoder(shape).to(device=device, dtype=dtype).eval()
    for frames in (1, 25):
        codes = torch.randint(0, shape.codes, (1, shape.code_groups, frames), device=device)

        def decode(codes: torch.Tensor = codes) -> None:
            decoder(codes)

        took_ms = per_run_ms(decode, device, 2 if smoke else 20)
        emit(case="PyTorch eager codec", slots=1, frames=frames, codec_ms=took_ms / frames,
             dtype=str(dtype).removeprefix("torch."))  # fmt: skip


def copy_bandwidth_gb_s(device: str, size_bytes: int) -> float:
    """Bytes read and written a second, GB/s, by a copy far larger than any cache."""
    source = torch.empty(size_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * size_bytes / per_run_ms(lambda: target.copy_(source), device, 5) / 1e6


def per_run_ms(run: Callable[[], object], device: str, runs: int, before: Callable[[], object] | None = None) -> float:
    """Mean duration of a run, after some that do not count; the queue stays full while it is measured."""
    prepare = before or (lambda: None)
    prepare()
    for _ in range(3):
        run()
    prepare()
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


def device_facts(device: str) -> dict[str, object]:
    """What the device is."""
    if device != "cuda":
        return {"device": "processor"}
    found = torch.cuda.get_device_properties(0)
    return {
        "device": found.name,
        "architecture": f"sm_{found.major}{found.minor}",
        "memory_gb": found.total_memory / 1e9,
        "multiprocessors": found.multi_processor_count,
    }


def emit(**facts: object) -> None:
    """One result, at once: a stage that is stopped keeps what it has."""
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
