"""The whole engine of one case of `scripts/gpu_check`: how soon and how fast it speaks, and whether it says the same.

Knows: the engine's contract. Does not know: backends, stages' times.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, Final

import numpy as np

from engines.bundle import Bundle
from engines.codec import Codec
from engines.contract import Codes, Outcome, Pace, Pcm, Sampling, SpeechRequest
from engines.engine import SpeechEngine
from engines.engine_config import EngineConfig
from engines.runner_ort import OrtRunner
from engines.timing import Span, Work

SPOKEN_FRAMES: Final = 50


def speak(engine: SpeechEngine, slots: int) -> dict[str, Any]:
    """Time to the first sound of one, and from frame to frame while all slots speak (`periods_ms`)."""
    found: dict[str, Any] = {"ttfa_ms": float(np.median([_first_ms(engine) for _ in range(5)]))}
    mark = time.monotonic()
    started = [_begin(engine, number, SPOKEN_FRAMES) for number in range(slots)]
    for utterance in started:
        while len(utterance.pcm.read(1 << 20, timeout_s=120)):
            pass
    return found | periods_ms([span for span in engine.timeline() if span.began >= mark], slots)


def periods_ms(spans: list[Span], slots: int) -> dict[str, float]:
    """Mean time from a frame of all slots to the next: `period_ms` where the codec rests meanwhile, and else
    `crowded_period_ms`, in which a frame takes longer because the codec has a part of the device."""
    steps = [span for span in spans if span.work is Work.STEP]
    calls = [span for span in spans if span.work is Work.CODEC]
    found: dict[str, list[float]] = {"period_ms": [], "crowded_period_ms": []}
    for sooner, later in pairwise(steps):
        if len(sooner.slots) == len(later.slots) == slots:
            crowded = any(call.began < later.ended and call.ended > sooner.ended for call in calls)
            found["crowded_period_ms" if crowded else "period_ms"].append(1000 * (later.ended - sooner.ended))
    return {name: float(np.mean(times)) for name, times in found.items() if times}


def compare(engine: SpeechEngine, bundle: Bundle, config: EngineConfig) -> dict[str, Any]:
    """The same request here and on the processor: frames that are the same, and this sound against the processor's
    sound of these very codes."""
    codes, pcm = _said(engine)
    plain = EngineConfig(slots=1, positions=config.positions, backend="cpu", admission=False)
    with SpeechEngine.open(bundle.path, plain) as other:
        theirs, _ = _said(other)
    found = {"frames_here": len(codes), "frames_on_processor": len(theirs), **compare_codes(codes, theirs)}
    if len(codes):
        codec = Codec(OrtRunner(bundle.path / bundle.manifest.graphs.codec), bundle.manifest, 1, len(codes))
        codec.begin(0)
        found |= compare_sound(pcm, codec.decode(0, codes))
    return found


def compare_codes(codes: Codes, theirs: Codes) -> dict[str, Any]:
    """The share of codes that are the same in the frames that both have, and the first frame that differs."""
    shared = min(len(codes), len(theirs))
    same = codes[:shared] == theirs[:shared]
    first = int(np.argmin(same.all(axis=1))) if shared and not same.all() else None
    return {"same_speech": float(same.mean()) if shared else 0.0, "first_difference": first}


def compare_sound(pcm: Pcm, reference: Pcm) -> dict[str, Any]:
    """The error's share of the reference, as far as both go; their lengths in samples where they differ."""
    shared = min(len(pcm), len(reference))
    here, there = pcm[:shared], reference[:shared]
    lengths = {} if len(pcm) == len(reference) else {"samples_here": len(pcm), "samples_wanted": len(reference)}
    if not shared:
        return {"sound_error": None, **lengths}
    wrong = np.sqrt(np.mean((here - there) ** 2)) / max(np.sqrt(np.mean(there**2)), 1e-9)
    return {"sound_error": float(wrong), **lengths}


def _first_ms(engine: SpeechEngine) -> float:
    """From the text to the first sample."""
    began = time.perf_counter()
    utterance = _begin(engine, 0, 3)
    utterance.pcm.read(1, timeout_s=120)
    first_ms = (time.perf_counter() - began) * 1000
    utterance.outcome.result(120)
    return first_ms


def _begin(engine: SpeechEngine, number: int, most: int) -> Any:
    """An utterance of some fixed words."""
    request = SpeechRequest(
        sampling=Sampling(greedy=True), seed=number, max_frames=most, pace=Pace.FAST, keep_codes=True
    )
    utterance = engine.start(request)
    utterance.feed(tuple(range(40, 60)))
    utterance.end_of_text()
    return utterance


def _said(engine: SpeechEngine) -> tuple[Codes, Pcm]:
    """Codes and sound of the fixed words."""
    utterance = _begin(engine, 0, SPOKEN_FRAMES)
    blocks = [np.zeros(0, np.float32)]
    while len(block := utterance.pcm.read(1 << 20, timeout_s=120)):
        blocks.append(block)
    outcome: Outcome = utterance.outcome.result(120)
    assert outcome.codes is not None
    return outcome.codes, np.concatenate(blocks)
