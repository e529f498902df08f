"""An engine on a voice by rule, what its tests do with it (speak, hear, hold a run up), and utterances without one."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from engines.contract import Codes, Outcome, SpeechRequest, Utterance
from engines.engine import EngineConfig
from engines.prompt import PromptBuilder
from engines.ring import Ring
from engines.sampling import resolve_sampling
from engines.utterance import LiveUtterance
from tests import fake_voice
from tests.fake_voice import ASK, FakeRunner

SOON = 10.0
"""Seconds that a test waits for what must come."""
SAMPLES = 4
"""Samples of a frame of the fake voice."""


class Stage:
    """An engine whose model is a rule, and its two runners."""

    ahead = False

    def __init__(self, *, max_positions: int = 300, **config: float) -> None:
        self.frame, self.codec = fake_voice.frame_runner(), fake_voice.codec_runner()
        bundle = fake_voice.bundle(fake_voice.manifest(max_positions=max_positions))
        sizes = {"slots": 2, "max_waiting": 2, "prefill_rows": 8, "async_scheduling": self.ahead} | config
        self.engine = fake_voice.engine(bundle, self.frame, self.codec, EngineConfig(**sizes))  # type: ignore[arg-type]

    def say(self, frames: int, *more: int, ends: bool = True, **request: object) -> LiveUtterance:
        """Start an utterance that asks for so many frames."""
        utterance = self.engine.start(SpeechRequest(keep_codes=True, **request))  # type: ignore[arg-type]
        utterance.feed((ASK + frames, *more))
        if ends:
            utterance.end_of_text()
        return utterance


def without_engine(
    request: SpeechRequest, *, frames: int, samples: int, clock: Callable[[], float], most_text: int = 9
) -> LiveUtterance:
    """An utterance of the fake voice that nobody speaks, with rings for so many frames and samples."""
    bundle = fake_voice.bundle()
    prompts = PromptBuilder(bundle)
    return LiveUtterance(
        request,
        prompts.plan(request),
        resolve_sampling(request.sampling, 0, bundle.manifest.sampling),
        prompts=prompts,
        text_ids=bundle.manifest.text_ids,
        most_text=most_text,
        frames=Ring(frames, (bundle.manifest.frame.codebooks,), "i4"),
        pcm=Ring(samples),
        wake=lambda: None,
        clock=clock,
    )


def hear(utterance: Utterance) -> tuple[np.ndarray, Outcome]:
    """Everything it says, and what became of it."""
    parts = []
    while len(part := utterance.pcm.read(7, SOON)):
        parts.append(part)
    return np.concatenate(parts or [np.empty(0, np.float32)]), utterance.outcome.result(SOON)


def spoken(utterance: LiveUtterance) -> Codes:
    outcome = hear(utterance)[1]
    assert outcome.codes is not None
    return outcome.codes


def gate(runner: FakeRunner, at_run: int) -> tuple[threading.Event, threading.Event]:
    """Have the runner stop before one run: (it is there, let it go on)."""
    there, go_on = threading.Event(), threading.Event()

    def hook() -> None:
        if runner.runs == at_run:
            there.set()
            assert go_on.wait(SOON)

    runner.hook = hook
    return there, go_on
