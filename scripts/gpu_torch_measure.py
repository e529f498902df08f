"""What PyTorch makes of the same work: bandwidth of the device, codec, prompts and frames of the 0.6B shape.

Purpose: measure the codec's decoder, and the network as the official modules are written and with joined projections,
for 1 to 8 sequences, each eagerly and as one CUDA graph. Prints one JSON line for each result, the most telling first;
what fails is told and costs nothing else. Knows: what is measured. Does not know: ONNX, TensorRT, the engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import torch

from export.train.shape import VoiceShape
from scripts.gpu_rows import emit, reason
from scripts.gpu_shape import SMOKE, Shape, copied_bytes, plain
from scripts.gpu_torch import Frame, random_codec, random_frame
from scripts.gpu_torch_time import captured, copy_bandwidth_gb_s, per_run_ms

CODEC: Final = VoiceShape(
    hidden=1024, codes=2048, code_groups=16, codebook_dim=512, latent=1024, codec_layers=8, codec_heads=16,
    codec_intermediate=1024, codec_window=72, decoder_dim=1536,
)  # fmt: skip
CODEC_HIDDEN: Final = 512
"""Width of the released codec's transformer."""
CODEC_FRAMES: Final = {1: "codec1_ms", 25: "codec_ms"}
"""Frames of a call, and the result's name, per frame as the engine's cases have it."""
CONTEXT: Final = 300
"""Rows in the cache of each sequence while frames are timed."""
PROMPT_ROWS: Final = 25


def measure(ends: float, *, smoke: bool) -> None:
    """Everything, until `ends` (monotonic, s)."""
    if not smoke and not torch.cuda.is_available():
        emit(missing="no CUDA device that PyTorch can use")
        return
    device = "cpu" if smoke else "cuda"
    if smoke:
        torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    emit(case="PyTorch", torch=torch.__version__, cuda=torch.version.cuda, **device_facts(device))
    with boxed(case="copy"):
        size_bytes = 1 << 22 if smoke else copied_bytes(torch.cuda.mem_get_info()[0])
        emit(case="copy", bandwidth_gb_s=copy_bandwidth_gb_s(device, size_bytes))
    measure_codec(device, smoke=smoke)
    for batch in (1, 2) if smoke else (1, 4, 2, 8):
        for fused in (False, True):
            if time.monotonic() > ends:
                emit(missing=f"no time left from the frames of {batch} slots on")
                return
            measure_frames(device, batch, fused=fused, smoke=smoke)


def measure_codec(device: str, *, smoke: bool) -> None:
    """The decoder over whole blocks: it carries no state, so this is its cheapest form."""
    dtype = torch.float32 if smoke else torch.bfloat16
    shape, hidden = (VoiceShape(), 128) if smoke else (CODEC, CODEC_HIDDEN)
    told: dict[str, object] = {"slots": 1, "dtype": name_of(dtype)}
    with boxed(case="PyTorch codec", **told):
        decoder = random_codec(shape, hidden, max(CODEC_FRAMES), device, dtype)
        for frames, column in CODEC_FRAMES.items():
            codes = torch.randint(0, shape.codes, (1, shape.code_groups, frames), device=device)

            def decode(codes: torch.Tensor = codes) -> None:
                decoder(codes)

            for kind, took_ms in both_ways(decode, device, 2 if smoke else 20, f"codec, {frames} frames", told):
                emit(case=f"PyTorch {kind} codec", **{column: took_ms / frames}, **told)


def measure_frames(device: str, batch: int, *, fused: bool, smoke: bool) -> None:
    """Frames; for one sequence its prompt, too."""
    s, dtype = (SMOKE, torch.float32) if smoke else (Shape(), torch.bfloat16)
    style = "joined projections" if fused else "as the official modules"
    told: dict[str, object] = {"slots": batch, "dtype": name_of(dtype)}
    with boxed(case=f"PyTorch, {style}", **told):
        frame = random_frame(s, batch, device, dtype, fused=fused)
        reads = s.reads(plain(8 * dtype.itemsize), batch, min(CONTEXT, s.positions))
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()  # making it took more than using it does
        timed = both_ways(frame.run, device, 3 if smoke else 50, f"frame, {style}", told, lambda: rewind(frame))
        for kind, frame_ms in timed:
            memory = {"memory_mb": torch.cuda.max_memory_allocated() / 1e6} if device == "cuda" else {}
            emit(case=f"PyTorch {kind}, {style}", frame_ms=frame_ms, **reads, **memory, **told)
        if batch == 1:
            measure_prompt(frame, device, style, told, smoke=smoke)


def measure_prompt(frame: Frame, device: str, style: str, told: dict[str, object], *, smoke: bool) -> None:
    """A prompt through the talker, without the frame after it."""
    rows = min(PROMPT_ROWS, frame.s.positions)
    prompt = torch.randn(1, rows, frame.s.hidden, device=device, dtype=frame.row.dtype)
    places = torch.arange(rows, device=device)

    def prefill() -> None:
        frame.talker(prompt, places)

    for kind, prefill_ms in both_ways(prefill, device, 2 if smoke else 20, f"prompt, {style}", told):
        emit(case=f"PyTorch {kind} prompt, {style}", prefill_ms=prefill_ms, **told)


def both_ways(
    run: Callable[[], object], device: str, runs: int, case: str, told: dict[str, object],
    before: Callable[[], object] = lambda: None,
) -> Iterator[tuple[str, float]]:  # fmt: skip
    """Its time in ms, eagerly and captured; where one fails that is told, and the other goes on."""
    with boxed(case=f"PyTorch eager {case}", **told):
        yield "eager", per_run_ms(run, device, runs, before)
    if device != "cuda":
        return
    with boxed(case=f"PyTorch CUDA graph {case}", **told):
        before()
        graph = captured(run)
        yield "CUDA graph", per_run_ms(graph.replay, device, 2 * runs, before)


@contextmanager
def boxed(**facts: object) -> Iterator[None]:
    """What fails inside is told as a result's fault."""
    try:
        yield
    except Exception as error:
        emit(**facts, fault=reason(error))


def rewind(frame: Frame) -> None:
    """Back to the middle of the cache, so that the runs that follow fit."""
    frame.at.fill_(min(CONTEXT, frame.s.positions // 2))


def name_of(dtype: torch.dtype) -> str:
    """As people write it."""
    return str(dtype).removeprefix("torch.")


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
        "l2_bytes": getattr(found, "L2_cache_size", None),  # newer versions tell it
    }
