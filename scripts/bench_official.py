"""The official package's eager PyTorch on one checkpoint, for `scripts/bench model`; run by its own interpreter.

Prints one JSON line: milliseconds per frame of talker and predictor together, and of the codec for 1 and 25 frames.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from qwen_tts import Qwen3TTSModel

from scripts.bench_measure import median_ms, peak_memory_mb

TEXT = "The quick brown fox jumps over the lazy dog."


def main() -> None:
    """Measure and print."""
    checkpoint, threads, frames = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    model: Any = Qwen3TTSModel.from_pretrained(str(checkpoint), dtype=torch.float32)
    talker = model.model.talker
    steps: list[float] = []
    talker.codec_head.register_forward_hook(lambda *_: steps.append(time.perf_counter()))
    voice = model.model.get_supported_speakers()
    codec_parts = model.model.speech_tokenizer
    original, codec_parts.decode = codec_parts.decode, lambda *_a, **_k: ([np.zeros(1, np.float32)], 24000)
    with torch.inference_mode():
        model.generate_custom_voice(
            text=TEXT, speaker=sorted(voice)[0], language="english", do_sample=False, subtalker_dosample=False,
            non_streaming_mode=True, max_new_tokens=frames, min_new_tokens=frames,
        )  # fmt: skip
    codec_parts.decode = original
    decoder = codec_parts.model.decoder
    books = codec_parts.model.config.decoder_config.num_quantizers

    def decode_ms(count: int) -> float:
        codes = torch.zeros(1, books, count, dtype=torch.long)
        with torch.inference_mode():
            return median_ms(lambda: decoder(codes), runs=5) / count

    gaps = np.diff(np.array(steps)) * 1000
    row = {
        "frame_ms": float(np.median(gaps[1:])),
        "codec1_ms": decode_ms(1),
        "codec25_ms": decode_ms(25),
        "peak_mb": peak_memory_mb(),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
