"""One case of `scripts/gpu_check`, in a process of its own: a model on a backend with so many slots.

Purpose: for TensorRT build the plan; then time prompts, frames launched back to back and codec calls by themselves, let
the whole engine speak, and compare what it says with the processor's. Prints one JSON line. Knows: the engine's stages.
Does not know: TensorRT, CUDA.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from app.nvml import read_gpu
from engines.backends import open_stages
from engines.bundle import Bundle, open_bundle
from engines.codec import Codec
from engines.contract import Codes, Outcome, Pace, Pcm, Sampling, SpeechRequest
from engines.engine import SpeechEngine
from engines.engine_config import EngineConfig
from engines.plan_set import PlanSizes
from engines.runner_ort import OrtRunner
from engines.sampling import resolve_sampling
from engines.stages import Stages, TalkerStage
from engines.timing import Work
from scripts.bench_measure import median_ms
from scripts.gpu_models import bundle_of, checkpoint_of
from scripts.gpu_shape import Shape

POSITIONS, PIECE_ROWS, BLOCK_FRAMES = 512, 64, 25
PROMPT_ROWS, CONTEXT_ROWS = 25, 300
RUNS = 60
SPOKEN_FRAMES = 50
BITS = {"int4": 4.125, "int8": 8.125, "fp8": 8.0, "fp16": 16.0, "fp32": 32.0}
"""Of a stored weight; 16 bits of scale for each block of 128."""
HEAD_BITS = {"int4": 8.125}


def main() -> None:
    """Measure one case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("backend")
    parser.add_argument("model")
    parser.add_argument("precision")
    parser.add_argument("slots", type=int)
    parser.add_argument("shape")
    parser.add_argument("--budget-s", type=float, default=100.0)
    parser.add_argument("--smoke", action="store_true")
    asked = parser.parse_args()
    path, row = bundle_of(asked.model, smoke=asked.smoke), dict[str, Any]()
    cache = path.parent / "plans" / asked.shape
    if asked.backend == "tensorrt":
        row |= build(asked, path, cache)
    bundle = open_bundle(path, verify=False)
    config = EngineConfig(
        slots=asked.slots, positions=POSITIONS, prefill_rows=PIECE_ROWS, codec_chunk_frames=BLOCK_FRAMES,
        backend=asked.backend, precision=asked.precision if asked.backend == "tensorrt" else "auto", plans=str(cache),
        admission=False,
    )  # fmt: skip
    before_mb = used_mb()
    stages = open_stages(bundle, config)
    row |= measure_stages(stages, bundle, asked.slots)
    if asked.model == "0.6b" and not asked.smoke:
        row["frame_bytes"] = frame_bytes(asked.precision, asked.slots)
    with SpeechEngine(bundle, stages, config) as engine:
        engine.warm_up()
        row |= speak(engine, asked.slots, row["frame_ms"])
        after_mb = used_mb()
        row["memory_mb"] = None if before_mb is None or after_mb is None else after_mb - before_mb
        if asked.model == "default":
            row |= compare(engine, bundle, config)
    if asked.backend == "tensorrt":
        row["bandwidth_gb_s"] = copy_bandwidth_gb_s()
    print(json.dumps(row), flush=True)


def build(asked: argparse.Namespace, bundle: Path, cache: Path) -> dict[str, Any]:
    """The plan; what its verification found."""
    from export.build_door import load_builder  # TensorRT's side is asked for only here
    from export.plan_build import Watcher, build_plan
    from export.plan_choice import PlanWish
    from export.tensorrt import FrameShape

    sizes = PlanSizes(slots=asked.slots, positions=POSITIONS, prefill_rows=PIECE_ROWS, codec_chunk_frames=BLOCK_FRAMES)
    wish = PlanWish(
        bundle=bundle, cache=cache, sizes=sizes, checkpoint=checkpoint_of(asked.model, smoke=asked.smoke),
        precision=asked.precision, shape=FrameShape(asked.shape), measured=False,
    )  # fmt: skip
    ends = time.monotonic() + asked.budget_s
    watcher = Watcher(tell=lambda _: None, waiting=lambda: None, stopping=lambda: time.monotonic() > ends)
    plan, _ = build_plan(wish, load_builder(), watcher)
    found = plan.about.verification
    told = {} if found is None else {"agreement": found.agreement, "pcm_error": found.pcm_error}
    return {"build_s": plan.about.build_s, "plan_mb": plan.about.bytes / 1e6, **told}


def measure_stages(stages: Stages, bundle: Bundle, slots: int) -> dict[str, Any]:
    """Prompts, frames and codec calls by themselves, with nobody's words to say."""
    talker, codec, manifest = stages.talker, stages.codec, bundle.manifest
    rows = np.random.default_rng(0).standard_normal((PROMPT_ROWS, manifest.talker.hidden)).astype(np.float32)
    greedy = resolve_sampling(Sampling(greedy=True), 0, manifest.sampling)

    def prefill(slot: int) -> None:
        talker.begin(slot, greedy)
        talker.forbid_end(slot, forbidden=True)
        talker.prefill(slot, rows, rows, last=True)

    prefill_ms = median_ms(lambda: prefill(0), 9)
    for slot in range(slots):
        prefill(slot)
        while talker.length(slot) + PROMPT_ROWS <= CONTEXT_ROWS:
            talker.prefill(slot, rows, rows, last=True)
    frame_ms = frame_time_ms(talker, slots)
    for slot in range(1, slots):
        talker.release(slot)
    lone_frame_ms = frame_time_ms(talker, 1)
    talker.release(0)
    codec.begin(0)
    one, block = (np.zeros((count, manifest.frame.codebooks), np.int64) for count in (1, BLOCK_FRAMES))
    codec1_ms = median_ms(lambda: codec.decode(0, one), 15)
    codec_ms = median_ms(lambda: codec.decode(0, block), 9) / BLOCK_FRAMES
    return {
        "prefill_ms": prefill_ms, "frame_ms": frame_ms, "lone_frame_ms": lone_frame_ms, "codec1_ms": codec1_ms,
        "codec_ms": codec_ms,
    }  # fmt: skip


def frame_time_ms(talker: TalkerStage, slots: int) -> float:
    """One frame of the first slots, the others idle, of many launched back to back."""
    frames(talker, slots, 8)
    began = time.perf_counter()
    frames(talker, slots, RUNS)
    return (time.perf_counter() - began) * 1000 / RUNS


def frames(talker: TalkerStage, slots: int, count: int) -> None:
    """So many frames of all slots, two launched at any moment."""
    live = range(slots)
    talker.launch(live)
    for _ in range(count - 1):
        talker.launch(live)
        talker.collect()
    talker.collect()


def speak(engine: SpeechEngine, slots: int, frame_ms: float) -> dict[str, Any]:
    """Time to the first sound of one, and the pace of all slots at once; `gap` is what the engine adds to a frame."""
    first_ms = float(np.median([one_first_ms(engine) for _ in range(5)]))
    mark = time.monotonic()
    started = [begin(engine, number, SPOKEN_FRAMES) for number in range(slots)]
    for utterance in started:
        while len(utterance.pcm.read(1 << 20, timeout_s=120)):
            pass
    steps = [span for span in engine.timeline() if span.work is Work.STEP and span.began >= mark]
    full = [span for span in steps if len(span.slots) == slots]
    found: dict[str, Any] = {"ttfa_ms": first_ms}
    if len(full) > 2:
        period_ms = 1000 * (full[-1].ended - full[0].ended) / (len(full) - 1)
        found |= {"period_ms": period_ms, "gap": period_ms / frame_ms - 1}
    return found


def one_first_ms(engine: SpeechEngine) -> float:
    """From the text to the first sample."""
    began = time.perf_counter()
    utterance = begin(engine, 0, 3)
    utterance.pcm.read(1, timeout_s=120)
    first_ms = (time.perf_counter() - began) * 1000
    utterance.outcome.result(120)
    return first_ms


def begin(engine: SpeechEngine, number: int, most: int) -> Any:
    """An utterance of some fixed words."""
    request = SpeechRequest(
        sampling=Sampling(greedy=True), seed=number, max_frames=most, pace=Pace.FAST, keep_codes=True
    )
    utterance = engine.start(request)
    utterance.feed(tuple(range(40, 60)))
    utterance.end_of_text()
    return utterance


def compare(engine: SpeechEngine, bundle: Bundle, config: EngineConfig) -> dict[str, Any]:
    """The same request here and on the processor: frames that are the same, and this sound against the processor's
    sound of these very codes."""
    codes, pcm = said(engine)
    plain = EngineConfig(slots=1, positions=config.positions, backend="cpu", admission=False)
    with SpeechEngine.open(bundle.path, plain) as other:
        theirs, _ = said(other)
    shared = min(len(codes), len(theirs))
    same = codes[:shared] == theirs[:shared]
    codec = Codec(OrtRunner(bundle.path / bundle.manifest.graphs.codec), bundle.manifest, 1, max(len(codes), 1))
    codec.begin(0)
    reference = codec.decode(0, codes)
    wrong = float(np.sqrt(np.mean((pcm - reference) ** 2)) / max(np.sqrt(np.mean(reference**2)), 1e-9))
    return {
        "same_speech": float(same.mean()) if shared else 0.0,
        "first_difference": int(np.argmin(same.all(axis=1))) if shared and not same.all() else None,
        "frames_here": len(codes),
        "frames_on_processor": len(theirs),
        "sound_error": wrong,
    }


def said(engine: SpeechEngine) -> tuple[Codes, Pcm]:
    """Codes and sound of the fixed words."""
    utterance = begin(engine, 0, SPOKEN_FRAMES)
    blocks = []
    while len(block := utterance.pcm.read(1 << 20, timeout_s=120)):
        blocks.append(block)
    outcome: Outcome = utterance.outcome.result(120)
    assert outcome.codes is not None
    return outcome.codes, np.concatenate(blocks)


def frame_bytes(precision: str, slots: int) -> float:
    """What a frame of the 0.6B shape must read; caches are float16."""
    return Shape().frame_bytes(BITS[precision], slots, CONTEXT_ROWS, 2, HEAD_BITS.get(precision, 0.0))


def copy_bandwidth_gb_s(size_bytes: int = 1 << 28, copies: int = 20) -> float | None:
    """Bytes read and written a second, GB/s; for devices without PyTorch. None where the memory is not there."""
    from cuda.bindings import runtime

    places = [runtime.cudaMalloc(size_bytes) for _ in range(2)]
    if any(int(error) for error, _ in places):
        return None
    (_, source), (_, target) = places
    kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice
    runtime.cudaMemcpy(target, source, size_bytes, kind)
    runtime.cudaDeviceSynchronize()
    began = time.perf_counter()
    for _ in range(copies):
        runtime.cudaMemcpyAsync(target, source, size_bytes, kind, 0)
    runtime.cudaDeviceSynchronize()
    took_s = time.perf_counter() - began
    for _, place in places:
        runtime.cudaFree(place)
    return 2 * size_bytes * copies / took_s / 1e9


def used_mb() -> float | None:
    """Memory in use on the GPU, by anybody; None where nobody tells."""
    gpu = read_gpu()
    if gpu is not None and gpu.memory_used_bytes is not None:
        return gpu.memory_used_bytes / 1e6
    try:
        from cuda.bindings import runtime
    except ImportError:
        return None
    error, free, total = runtime.cudaMemGetInfo()
    return None if int(error) else (total - free) / 1e6


if __name__ == "__main__":
    main()
