"""One bundle measured in a process of its own, for `scripts/bench model`. Prints one JSON line."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np

from engines.bundle import open_bundle
from engines.codec import Codec
from engines.contract import Sampling, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.manifest import Manifest
from engines.runner_ort import OrtRunner
from engines.sampling import resolve_sampling
from engines.talker import Talker
from scripts.bench_measure import median_ms, peak_memory_mb
from scripts.bench_tools import Value, frame_bytes

PROMPT_ROWS: Final = 25
CONTEXT_ROWS: Final = 300
POSITIONS: Final = 512
RUNS: Final = 15


def main() -> None:
    """Measure the graphs alone first, then the whole engine."""
    path, threads, frames = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    bundle = open_bundle(path, verify=False)
    row: dict[str, Value] = {"frame_mb": frame_bytes(path, bundle.manifest, CONTEXT_ROWS) / 1e6}
    row |= _engine(path, threads, frames)
    row["peak_mb"] = peak_memory_mb()  # of the whole engine, before the graphs are loaded a second time
    row |= _talker(path, bundle.manifest, threads)
    row |= _codec(path, bundle.manifest)
    print(json.dumps(row))


def _engine(path: Path, threads: int, frames: int) -> dict[str, Value]:
    """Load time, warm time to first audio (median), and the real-time factor of one utterance."""
    start = time.perf_counter()
    engine = SpeechEngine.open(path, EngineConfig(talker_threads=threads, positions=POSITIONS))
    load_ms = (time.perf_counter() - start) * 1000
    with engine:
        engine.warm_up()
        first = float(np.median([_speak(engine, 3)[0] for _ in range(5)]))
        _, took_s, audio_s = _speak(engine, frames)
    return {"load_ms": load_ms, "ttfa_ms": first, "rtf": took_s / audio_s, "speed": audio_s / took_s}


def _speak(engine: SpeechEngine, frames: int) -> tuple[float, float, float]:
    """Speak; returns milliseconds to the first sample, seconds to the last one, seconds of audio."""
    request = SpeechRequest(language="english", sampling=Sampling(greedy=True), max_frames=frames)
    start = time.perf_counter()
    utterance = engine.start(request)
    utterance.feed(tuple(range(40, 60)))
    utterance.end_of_text()
    samples, first_ms = 0, 0.0
    while len(block := utterance.pcm.read(1 << 16, timeout_s=600)):
        first_ms = first_ms or (time.perf_counter() - start) * 1000
        samples += len(block)
    return first_ms, time.perf_counter() - start, samples / engine.info.sample_rate_hz


def _talker(path: Path, manifest: Manifest, threads: int) -> dict[str, Value]:
    """Prefill of a short prompt, and one frame with a few hundred rows behind it."""
    talker = Talker(OrtRunner(path / manifest.graphs.frame, threads), manifest, 1, POSITIONS)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((PROMPT_ROWS, manifest.talker.hidden)).astype(np.float32)
    sampling = resolve_sampling(Sampling(greedy=True), 0, manifest.sampling)

    def prefill() -> None:
        talker.begin(0, sampling)
        talker.prefill(0, rows, rows, last=True)

    prefill_ms = median_ms(prefill, RUNS)
    while talker.length(0) + PROMPT_ROWS <= CONTEXT_ROWS:
        talker.prefill(0, rows, rows, last=True)
    return {"prefill_ms": prefill_ms, "frame_ms": median_ms(lambda: talker.step([0]), RUNS)}


def _codec(path: Path, manifest: Manifest) -> dict[str, Value]:
    codec = Codec(OrtRunner(path / manifest.graphs.codec), manifest, 1, 25)
    codec.begin(0)

    def per_frame(count: int) -> float:
        codes = np.zeros((count, manifest.frame.codebooks), np.int64)
        return median_ms(lambda: codec.decode(0, codes), RUNS) / count

    return {"codec1_ms": per_frame(1), "codec25_ms": per_frame(25)}


if __name__ == "__main__":
    main()
