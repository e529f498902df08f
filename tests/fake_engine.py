"""An engine without a model, at the contract's border: each text id becomes one frame of a sine.

Purpose: let the application's tests see utterances begin, sound, fail and end, at moments the test decides. Knows: the
engine's contract, its ring. Does not know: models.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from engines.contract import Codes, End, Outcome, Pcm, SpeechRequest, VoiceInfo
from engines.errors import RequestError, SpeechError
from engines.ring import Ring

INFO = VoiceInfo(
    name="fake",
    model_type="custom_voice",
    speakers=("ada", "bob"),
    languages=("english",),
    takes_instruct=False,
    sample_rate_hz=24000,
    samples_per_frame=1920,
    codebooks=4,
)


def sine(frames: int, start_frame: int = 0) -> Pcm:
    """A 440 Hz tone in frames, its phase running on from frame to frame."""
    n = np.arange(start_frame * INFO.samples_per_frame, (start_frame + frames) * INFO.samples_per_frame)
    return (0.5 * np.sin(2 * np.pi * 440.0 * n / INFO.sample_rate_hz)).astype(np.float32)


class FakeUtterance:
    """Sounds when its text has ended, unless the engine is told to hold it."""

    def __init__(self, engine: FakeEngine, request: SpeechRequest) -> None:
        self.engine = engine
        self.request = request
        self.ids: list[int] = []
        self.text_ended = False
        self.cancelled = False
        self.pcm = Ring(INFO.samples_per_frame * 1000)
        self.outcome: Future[Outcome] = Future()

    def feed(self, ids: tuple[int, ...]) -> None:
        if self.text_ended:
            raise RequestError("no text can follow the end of text")
        self.ids += ids
        self.engine.events.append(f"feed {self.request.seed}")

    def end_of_text(self) -> None:
        self.text_ended = True
        if not self.engine.hold:
            self.sound(len(self.ids))
            self.end()

    def cancel(self) -> None:
        self.cancelled = True
        if not self.outcome.done() and not self.engine.slow_to_cancel:
            self.pcm.cancel()
            self.end(End.CANCELLED)

    def sound(self, frames: int) -> None:
        """Put frames of sound into the ring."""
        if frames:
            assert self.pcm.write_nowait(sine(frames)), "the ring is too small for this test"

    def end(self, end: End = End.END, error: str | None = None) -> None:
        """Close the sound and set the outcome."""
        self.pcm.close(SpeechError(error) if error else None)
        frames = len(self.ids)
        codes: Codes | None = None
        if self.request.keep_codes:
            codes = np.array([[ident] * INFO.codebooks for ident in self.ids], np.int32).reshape(-1, INFO.codebooks)
        self.engine.events.append(f"end {self.request.seed}")
        self.outcome.set_result(
            Outcome(end=end, error=error, frames=frames, talker_ms=2.0 * frames, codec_ms=frames, codes=codes)
        )


@dataclass
class FakeEngine:
    """Starts fake utterances and remembers them."""

    hold: bool = False
    """Utterances neither sound nor end until the test says so."""
    slow_to_cancel: bool = False
    """A cancelled utterance ends only when the test says so."""
    refuse: Exception | None = None
    started: list[FakeUtterance] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    info: VoiceInfo = INFO

    def start(self, request: SpeechRequest) -> FakeUtterance:
        if self.refuse is not None:
            raise self.refuse
        self.events.append(f"start {request.seed}")
        self.started.append(FakeUtterance(self, request))
        return self.started[-1]
