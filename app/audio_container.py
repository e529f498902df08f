"""flac and opus as streams, by FFmpeg's libraries.

Purpose: `ContainerEncoder`: samples in, the bytes of a flac file or of an Ogg stream out, packet by packet.
Knows: PyAV. Does not know: rates other than its own, sockets.
"""

from __future__ import annotations

from typing import Final

import av
import numpy as np

from app.sink import to_pcm16
from engines.contract import Pcm

_OPUS_BITS_PER_S: Final = 48_000
_PAGE_US: Final = "20000"
"""An Ogg page is sent once it holds so much sound; by default it would wait for a second of it."""
_FRAMES_PER_S: Final = 50
"""Of flac: nothing is heard of a frame that is not full."""
_MEDIA: Final = {"flac": ("flac", "flac"), "opus": ("ogg", "libopus")}
"""Encoding: container, codec."""


class _Outlet:
    """What the container writes into; it can only go forward."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken = b"".join(self._written)
        self._written.clear()
        return taken


class ContainerEncoder:
    """One stream of flac or opus."""

    def __init__(self, encoding: str, sample_rate_hz: int) -> None:
        container, codec = _MEDIA[encoding]
        self._outlet = _Outlet()
        options = {"page_duration": _PAGE_US, "flush_packets": "1"} if container == "ogg" else {"flush_packets": "1"}
        self._container = av.open(self._outlet, "w", format=container, container_options=options)
        self._rate = sample_rate_hz
        stream = self._container.add_stream(codec, rate=sample_rate_hz)
        if not isinstance(stream, av.AudioStream):
            raise TypeError(f"{codec} is not an audio codec")
        self._stream = stream
        self._stream.layout = "mono"
        self._stream.format = "s16"
        if encoding == "opus":
            self._stream.bit_rate = _OPUS_BITS_PER_S
            self._stream.options = {"application": "voip"}
        else:  # by itself 0.1 s, the end of a word, would wait for what comes next; this costs 4 % more bytes
            self._stream.options = {"frame_size": str(sample_rate_hz // _FRAMES_PER_S)}
        self.samples = 0

    def encode(self, pcm: Pcm) -> bytes:
        """The next block."""
        frame = av.AudioFrame.from_ndarray(to_pcm16(pcm).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = self._rate
        frame.pts = self.samples
        self.samples += len(pcm)
        self._container.mux(self._stream.encode(frame))
        return self._outlet.take()

    def finish(self) -> bytes:
        """What the codec held back, and the container's end."""
        if not self.samples:
            self.encode(np.zeros(1, np.float32))  # neither container can be closed without a frame
            self.samples = 0
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._outlet.take()
