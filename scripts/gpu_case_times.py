"""The engine's stages by themselves, with nobody's words to say: prompts, frames, codec calls.

Purpose: the times of one case of `scripts/gpu_check`, each told as soon as it is known. Knows: the engine's stages.
Does not know: backends, engines.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from engines.bundle import Bundle
from engines.contract import Sampling
from engines.sampling import resolve_sampling
from engines.stages import F32, CodecStage, Stages, TalkerStage
from scripts.bench_measure import median_ms
from scripts.gpu_asked import BLOCK_FRAMES
from scripts.gpu_frame_time import HeardCuda

PROMPT_ROWS: Final = 25
CONTEXT_ROWS: Final = 300
RUNS: Final = 60


def measure_stages(stages: Stages, bundle: Bundle, slots: int, cuda: HeardCuda | None) -> Iterator[dict[str, Any]]:
    """Each part's times, in milliseconds; `cuda` is what the stages launch through, where that is to be timed."""
    talker = stages.talker
    rows = np.random.default_rng(0).standard_normal((PROMPT_ROWS, bundle.manifest.talker.hidden)).astype(np.float32)

    def prefill(slot: int) -> None:
        talker.begin(slot, resolve_sampling(Sampling(greedy=True), 0, bundle.manifest.sampling))
        talker.forbid_end(slot, forbidden=True)
        talker.prefill(slot, rows, rows, last=False)  # not the last: some backends make a frame with that one

    yield {"prefill_ms": median_ms(lambda: prefill(0), 9)}
    for slot in range(slots):
        prefill(slot)
        _fill(talker, slot, rows)
    yield {"frame_ms": frame_time_ms(talker, slots)}
    if cuda is not None and (device_ms := cuda.last_ms(RUNS)) is not None:
        yield {"device_ms": device_ms}
    for slot in range(1, slots):
        talker.release(slot)
    yield {"lone_frame_ms": frame_time_ms(talker, 1)}
    talker.release(0)
    yield from _codec_times(stages.codec, bundle.manifest.frame.codebooks)


def _fill(talker: TalkerStage, slot: int, rows: F32) -> None:
    """Prompt until the cache holds about as much as in the middle of an utterance."""
    while talker.length(slot) + PROMPT_ROWS <= CONTEXT_ROWS:
        talker.prefill(slot, rows, rows, last=talker.length(slot) + 2 * PROMPT_ROWS > CONTEXT_ROWS)


def frame_time_ms(talker: TalkerStage, slots: int) -> float:
    """One frame of the first slots, the others idle, of many launched back to back."""
    _frames(talker, slots, 8)
    began = time.perf_counter()
    _frames(talker, slots, RUNS)
    return (time.perf_counter() - began) * 1000 / RUNS


def _frames(talker: TalkerStage, slots: int, count: int) -> None:
    """So many frames of all slots, two launched at any moment."""
    live = range(slots)
    talker.launch(live)
    for _ in range(count - 1):
        talker.launch(live)
        talker.collect()
    talker.collect()


def _codec_times(codec: CodecStage, codebooks: int) -> Iterator[dict[str, Any]]:
    codec.begin(0)
    one, block = (np.zeros((count, codebooks), np.int64) for count in (1, BLOCK_FRAMES))
    yield {"codec1_ms": median_ms(lambda: codec.decode(0, one), 15)}
    yield {"codec_ms": median_ms(lambda: codec.decode(0, block), 9) / BLOCK_FRAMES}
