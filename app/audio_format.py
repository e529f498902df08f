"""What a listener's sound looks like: encodings, rates, and the streaming encoders behind them.

Purpose: `AudioFormat`, checked wishes; `open_encoder`, which turns blocks of samples into bytes as they come. Encoders
are used by one stream, one call at a time. Knows: sample layouts, G.711, and which library writes which container.
Does not know: sockets, contexts, engines.

`light` formats cost less than handing them to another thread; the others belong on the audio pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import soxr

from app.messages import FormatOffer
from app.sink import to_pcm16
from app.wav import streaming_wav_header
from engines.contract import Pcm
from engines.errors import SpeechError

LOWEST_RATE_HZ: Final = 8000
HIGHEST_RATE_HZ: Final = 48000
OPUS_RATES_HZ: Final = (8000, 12000, 16000, 24000, 48000)
MEDIA_TYPES: Final = {
    "pcm_s16le": "audio/L16",
    "pcm_f32le": "audio/x-raw",
    "mulaw": "audio/basic",
    "alaw": "audio/x-alaw-basic",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "opus": "audio/ogg; codecs=opus",
}
"""Encodings, and what the web calls them."""
_COMPRESSED: Final = frozenset({"flac", "opus"})

Bytes8 = npt.NDArray[np.uint8]


class FormatError(SpeechError):
    """A format that cannot be made; the message says which can."""


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """One encoding at one rate."""

    encoding: str
    sample_rate_hz: int
    voice_rate_hz: int
    """Rate of the samples that go in."""

    @property
    def light(self) -> bool:
        """Whether encoding a block is cheaper than handing it to another thread."""
        return self.encoding not in _COMPRESSED and self.sample_rate_hz == self.voice_rate_hz


class Encoder(Protocol):
    """Samples in, bytes out. A call may give nothing and the next one more."""

    @property
    def samples(self) -> int:
        """Of the listener's rate, in the bytes given so far; of a compressed stream, all that went into it."""
        ...

    def encode(self, pcm: Pcm) -> bytes:
        """The next block."""
        ...

    def finish(self) -> bytes:
        """The end of the stream: what was held back."""
        ...


def offers() -> list[FormatOffer]:
    """Every format there is."""
    return [
        FormatOffer(
            encoding=name,
            media_type=media_type,
            sample_rates=list(OPUS_RATES_HZ) if name == "opus" else [LOWEST_RATE_HZ, HIGHEST_RATE_HZ],
            any_rate=name != "opus",
        )
        for name, media_type in MEDIA_TYPES.items()
    ]


def choose(encoding: str | None, sample_rate_hz: int | None, voice_rate_hz: int) -> AudioFormat:
    """Check a wish; None takes 16-bit samples, and the voice's rate. Raises `FormatError`."""
    name = encoding or "pcm_s16le"
    rate = sample_rate_hz or voice_rate_hz
    if name not in MEDIA_TYPES:
        raise FormatError(f"there is no encoding '{name}'; choose {', '.join(MEDIA_TYPES)}")
    if name == "opus" and rate not in OPUS_RATES_HZ:
        raise FormatError(f"opus comes at {', '.join(map(str, OPUS_RATES_HZ))} Hz, not {rate}")
    if not LOWEST_RATE_HZ <= rate <= HIGHEST_RATE_HZ:
        raise FormatError(f"sample_rate must be {LOWEST_RATE_HZ} to {HIGHEST_RATE_HZ} Hz, not {rate}")
    return AudioFormat(name, rate, voice_rate_hz)


def open_encoder(wanted: AudioFormat) -> Encoder:
    """The encoder of a format."""
    if wanted.encoding in _COMPRESSED:
        from app.audio_container import ContainerEncoder  # the library behind it is loaded when somebody asks

        inner: Encoder = ContainerEncoder(wanted.encoding, wanted.sample_rate_hz)
    else:
        inner = SampleEncoder(wanted.encoding, wanted.sample_rate_hz)
    if wanted.sample_rate_hz == wanted.voice_rate_hz:
        return inner
    return ResampledEncoder(inner, wanted.voice_rate_hz, wanted.sample_rate_hz)


class SampleEncoder:
    """Formats in which every sample is a fixed number of bytes."""

    def __init__(self, encoding: str, sample_rate_hz: int) -> None:
        self._encoding = encoding
        self._header = streaming_wav_header(sample_rate_hz) if encoding == "wav" else b""
        self.samples = 0

    def encode(self, pcm: Pcm) -> bytes:
        """The next block."""
        self.samples += len(pcm)
        header, self._header = self._header, b""
        if self._encoding == "pcm_f32le":
            return pcm.astype("<f4").tobytes()
        samples = to_pcm16(pcm)
        if self._encoding == "mulaw":
            return MULAW[samples.view(np.uint16)].tobytes()
        if self._encoding == "alaw":
            return ALAW[samples.view(np.uint16)].tobytes()
        return header + samples.astype("<i2").tobytes()

    def finish(self) -> bytes:
        """A wav without sound still has its header."""
        header, self._header = self._header, b""
        return header


class ResampledEncoder:
    """Another rate than the voice's, then an encoder."""

    def __init__(self, inner: Encoder, from_hz: int, to_hz: int) -> None:
        self._inner = inner
        # The engine for varying rates holds the same at any time; the other one up to 76 ms, now more, now less, which
        # a listener who plays at once hears as a gap: blocks are sized by the sound that goes in.
        self._resampler = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="HQ", vr=True)

    @property
    def samples(self) -> int:
        """Without what the filter holds: 10 ms, below half the voice's rate 25."""
        return self._inner.samples

    def encode(self, pcm: Pcm) -> bytes:
        """The next block."""
        samples = self._resampler.resample_chunk(pcm.astype(np.float32, copy=False))
        return self._inner.encode(samples) if len(samples) else b""

    def finish(self) -> bytes:
        """The filter's tail, then the encoder's."""
        tail = self._resampler.resample_chunk(np.empty(0, np.float32), last=True)
        return (self._inner.encode(tail) if len(tail) else b"") + self._inner.finish()


def _mulaw_table() -> Bytes8:
    """ITU-T G.711 mu-law of every 16-bit sample, by its bits read as unsigned."""
    samples = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32)
    sign = np.where(samples < 0, 0x80, 0)
    size = np.minimum(np.abs(samples) >> 2, 8158) + 33
    segment = np.floor(np.log2(size)).astype(np.int32) - 5
    steps = (size >> (segment + 1)) & 0x0F
    table: Bytes8 = (~(sign | (segment << 4) | steps) & 0xFF).astype(np.uint8)
    return table


def _alaw_table() -> Bytes8:
    """ITU-T G.711 A-law of every 16-bit sample, by its bits read as unsigned."""
    samples = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.int32) >> 3
    sign = np.where(samples < 0, 0, 0x80)
    size = np.where(samples < 0, -samples - 1, samples)
    segment = np.where(size < 32, 0, np.floor(np.log2(np.maximum(size, 1))).astype(np.int32) - 4)
    steps = np.where(segment == 0, size >> 1, size >> np.maximum(segment, 1)) & 0x0F
    table: Bytes8 = ((sign | (segment << 4) | steps) ^ 0x55).astype(np.uint8)
    return table


MULAW: Final = _mulaw_table()
ALAW: Final = _alaw_table()
