"""The 44 bytes before the samples of a wav file.

Purpose: headers for mono 16-bit wav, with a known length and for streams without one. Knows: the RIFF layout.
Does not know: files, sinks.
"""

from __future__ import annotations

import struct
from typing import Final

_UNKNOWN: Final = 0xFFFFFFFF
"""Length field of a stream whose end is not known, as ffmpeg and sox write and read it."""
_BYTES_PER_SAMPLE: Final = 2
_HEADER_AFTER_RIFF_SIZE: Final = 36


def wav_header(sample_rate_hz: int, data_bytes: int) -> bytes:
    """Header for `data_bytes` of samples; beyond what 32 bits can say, the length is left unknown."""
    riff_bytes = data_bytes + _HEADER_AFTER_RIFF_SIZE
    if riff_bytes >= _UNKNOWN:
        return streaming_wav_header(sample_rate_hz)
    return _header(sample_rate_hz, riff_bytes, data_bytes)


def streaming_wav_header(sample_rate_hz: int) -> bytes:
    """Header for a stream of unknown length."""
    return _header(sample_rate_hz, _UNKNOWN, _UNKNOWN)


def _header(sample_rate_hz: int, riff_bytes: int, data_bytes: int) -> bytes:
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        riff_bytes,
        b"WAVE",
        b"fmt ",
        16,  # bytes of the format block
        1,  # integer samples
        1,  # channels
        sample_rate_hz,
        sample_rate_hz * _BYTES_PER_SAMPLE,
        _BYTES_PER_SAMPLE,
        8 * _BYTES_PER_SAMPLE,
        b"data",
        data_bytes,
    )
