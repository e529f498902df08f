"""The doors of the engine: what the other rooms may know of it.

Purpose: requests in, PCM and outcomes out, as plain values.
Knows: sampling wishes, outcomes, the shape of an utterance. Does not know: tensors, ONNX, threads, text rules.

The engine itself is `engines.engine.SpeechEngine`; `app` opens it, and otherwise speaks only in the terms of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Pcm = npt.NDArray[np.float32]
"""Mono samples in [-1, 1], shape [n], at the bundle's sample rate."""
Codes = npt.NDArray[np.int32]
"""Frames of codes, shape [frames, codebooks]."""


class Layout(str, Enum):
    """Where the text stands in the prompt (Qwen3-TTS: non-streaming-text and streaming-text layouts)."""

    AUTO = "auto"
    """WHOLE for CustomVoice and VoiceDesign, STREAMING for Base, as the official package has it."""
    WHOLE = "whole"
    """All text before the first frame; decoding starts at `end_of_text`."""
    STREAMING = "streaming"
    """One text token per frame; decoding starts with the first token and waits for the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Wishes for one request; None takes the bundle's default. Talker and predictor share temperature, top_k, top_p."""

    greedy: bool | None = None
    """Take the likeliest codes; the next three then count for nothing."""
    temperature: float | None = None
    """Above 0 to 10."""
    top_k: int | None = None
    """1 to the bundle's `max_top_k`."""
    top_p: float | None = None
    """Above 0 to 1."""
    repetition_penalty: float | None = None
    """Of code 0, above 0 to 10; 1 is none."""


class Pace(str, Enum):
    """How an utterance is listened to."""

    REALTIME = "realtime"
    """Somebody listens as it comes: its sound must not run out."""
    FAST = "fast"
    """As soon as can be, for a file: it takes what real-time utterances leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechRequest:
    """One utterance to speak; its text follows through `Utterance.feed`."""

    voice: str | None = None
    """Name of a speaker of the bundle (case does not matter); None takes the first, or none where there are none."""
    speaker_vector: npt.NDArray[np.float32] | None = None
    """Base models: the speaker encoder's vector, f32 [talker hidden]."""
    language: str = "auto"
    """Name of a language of the bundle (case does not matter), or "auto"."""
    instruct_ids: tuple[int, ...] = ()
    """Ids of the whole instruct message, chat markers included; empty for none."""
    layout: Layout = Layout.AUTO
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    """0 to 2**64 - 1; the same one draws the same noise."""
    max_frames: int | None = None
    """Cap by the caller; the bundle's own limits hold besides."""
    initial_codec_chunk_frames: int | None = None
    """Frames of the first block of sound; None lets the engine choose."""
    pace: Pace = Pace.REALTIME
    keep_codes: bool = False
    """Keep the frames' codes for `Outcome.codes`."""


class End(str, Enum):
    """How an utterance ended; each ends exactly once."""

    END = "end"
    CANCELLED = "cancelled"
    LIMIT = "limit"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an utterance, set after all its buffers were let go."""

    end: End
    error: str | None = None
    """What went wrong, where `end` is `ERROR`."""
    frames: int = 0
    """Frames made by the talker."""
    samples: int = 0
    """Samples written to the ring."""
    waited_ms: float = 0.0
    """From the first text that allows a start until a slot was free."""
    prefill_ms: float = 0.0
    """Of `talker_ms`, what the prompt took."""
    first_audio_ms: float | None = None
    """From the first text that allows a start to the first sample in the ring."""
    talker_ms: float = 0.0
    """Time in the frame graph, prefill included."""
    codec_ms: float = 0.0
    """Time in the codec graph."""
    codes: Codes | None = None
    """Of all frames, where the request said `keep_codes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RingStatistics:
    """What a ring has seen; sizes in the ring's own items (frames or samples)."""

    capacity: int
    used: int
    written: int
    read: int


class PcmReader(Protocol):
    """The reading end of an utterance's PCM ring."""

    def read(self, limit: int, timeout_s: float | None = None) -> Pcm:
        """Wait for samples and take at most `limit`; an empty array means the end.

        Raises `TimeoutError` when nothing came in time; `SpeechError` when the utterance failed.
        """
        ...

    def read_nowait(self, limit: int) -> Pcm | None:
        """Like `read`, but None where it would wait."""
        ...

    def on_readable(self, listener: Callable[[], None] | None) -> None:
        """Call `listener` (from an engine thread; it must not block) whenever samples or the end have come."""
        ...

    def statistics(self) -> RingStatistics:
        """A snapshot."""
        ...


class Utterance(Protocol):
    """One utterance under way. Every method may be called from any thread."""

    @property
    def pcm(self) -> PcmReader:
        """Where the sound comes out."""
        ...

    @property
    def outcome(self) -> Future[Outcome]:
        """Set exactly once."""
        ...

    def feed(self, ids: tuple[int, ...]) -> None:
        """Append body text ids. Raises `RequestError` after `end_of_text` or beyond the bundle's limits."""
        ...

    def end_of_text(self) -> None:
        """No more text will come; idempotent. An utterance with no text ends at once, without sound."""
        ...

    def cancel(self) -> None:
        """Stop at the next frame boundary; idempotent; what was read stays valid, unread sound is dropped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceInfo:
    """What a client may ask of a bundle."""

    name: str
    model_type: str
    """One of "custom_voice", "voice_design" and "base"."""
    speakers: tuple[str, ...]
    languages: tuple[str, ...]
    takes_instruct: bool
    """Whether an instruction changes how it speaks."""
    sample_rate_hz: int
    samples_per_frame: int
    codebooks: int

    @property
    def language_choices(self) -> tuple[str, ...]:
        """What a client may name: "auto", which leaves it to the voice, and those it knows."""
        return tuple(dict.fromkeys(("auto", *self.languages)))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEndInfo:
    """How a bundle's voice reads text."""

    kind: str
    """Either "text", as people write it, or "phones", a string of phone symbols."""
    tokenizer: Path
    """A `tokenizer.json`."""
    files: tuple[Path, ...] = ()
    """Further files: lexicon, letter-to-sound rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatistics:
    """What an engine is doing; for metrics and health."""

    slots: int
    """Utterances that can be spoken at once."""
    speaking: int
    """Utterances in slots."""
    waiting: int
    """Utterances admitted and not in a slot yet."""
    step_ms: float
    """Moving average: talker time until one more frame of each speaking utterance is there."""
    codec_call_ms: float
    """Moving average: codec time of a call, whatever its size."""
    codec_frame_ms: float
    """Moving average: codec time each frame adds."""
    busy_s: float
    """How long the longest piece of work under way has been running; growing without end means a hung device."""
    failure: str | None
    """Why the engine ended, if it failed."""
    real_time_streams: int = 0
    """Real-time utterances this device holds at once, by what it costs now; never more than `slots`."""
    runaways_retried: int = 0
    """Utterances that ran away before anything audible and were begun again, since the start."""
    runaways_ended: int = 0
    """Utterances that ran away and were ended (`End.LIMIT`), since the start."""
    runs_on: str = ""
    """What runs the graphs, and why nothing better does, as people are told."""
