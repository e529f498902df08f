"""Live playback: a `Sink` that ends in a sound device.

Purpose: `SpeakerSink`. A thread of its own opens the device, waits until enough sound is there, writes it in short
blocks, and pushes the last sample out of the device before it closes. PortAudio's blocking interface is taken rather
than its callback: the callback would need Python's lock within a few milliseconds, while a blocking write leaves the
device's own buffer full and tolerates a slow moment; nothing in this process can make it click short of that buffer
running dry. Knows: blocks of samples, rates, when to start, what a drained device is. Does not know: text, engines,
files.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.config import PlaybackConfig
from app.devices import AudioSystem, alsa_underruns, choose_format, describe_failure, find_device
from app.playback_buffer import PlaybackBuffer, Playhead
from app.sink import SinkError, to_pcm16
from engines.contract import Pcm

_BLOCK_MS: Final = 20
"""Sound per write: the longest a stop has to wait for the writing thread to notice."""
_OPENING_S: Final = 30.0
"""A device that is not open by then never will be: a sound server that hangs; one without wires takes some seconds."""
_STOP_TIMEOUT_S: Final = 1.0
"""A driver that hangs may keep the thread; the process does not wait for it any longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackStatistics:
    """What the listener got; a snapshot."""

    device: str | None
    sample_rate_hz: int | None
    underruns: int
    gap_ms: float
    device_underruns: int
    """Times ALSA said that the device ran dry; it may also be told of a gap counted above."""
    written_samples: int
    """Samples of sound (without silence around it) given to the device, at its rate."""


class SpeakerSink:
    """Plays through the device called `device` (None: the default). The device is opened in the background at once."""

    def __init__(
        self,
        sample_rate_hz: int,
        settings: PlaybackConfig,
        *,
        device: str | None = None,
        eager: bool = False,
        system: Callable[[], Any] = AudioSystem,
        clock: Callable[[], float] = time.monotonic,
        on_first: Callable[[float], None] = lambda _: None,
    ) -> None:
        """`eager` starts with the first block, for a source that makes its blocks so that the next is never late.

        `on_first` is called, on the playing thread, with the time when the first sample was in the device.
        """
        self._voice_rate_hz = sample_rate_hz
        self._settings = settings
        self._wish = device
        self._eager = eager
        self._system = system
        self._clock = clock
        self._on_first = on_first
        self._buffer = PlaybackBuffer(self._at_voice_rate(settings.buffer_ms))
        self._device: str | None = None
        self._device_rate_hz: int | None = None
        self._playhead: Playhead | None = None
        self._alsa_underruns_before = alsa_underruns()
        self._written = 0
        self._cut = False
        self._error: Exception | None = None
        self._done = threading.Event()
        self._wake: Callable[[], None] = lambda: None
        self._begun_at = clock()
        self._thread = threading.Thread(target=self._play, name="speakd-speaker", daemon=True)
        self._thread.start()

    async def write(self, pcm: Pcm) -> None:
        """Hand a block over; waits while the buffer is full."""
        await self._until(lambda: self._buffer.put(pcm))

    async def finish(self) -> None:
        """Returns when the last sample has left the device."""
        self._buffer.end()
        await self._until(self._done.is_set)

    async def stop(self) -> None:
        """Silence, at once; what the device holds is dropped."""
        self._cut = True
        self._buffer.cut()
        with contextlib.suppress(SinkError, asyncio.TimeoutError):
            await asyncio.wait_for(self._until(self._done.is_set), _STOP_TIMEOUT_S)

    async def abort(self) -> None:
        """The same as `stop`."""
        await self.stop()

    def not_opened(self) -> SinkError | None:
        """Says so where the device should be open by now; to be asked by those who wait for something else."""
        if self._device is not None or self._error is not None or self._clock() - self._begun_at < _OPENING_S:
            return None
        return SinkError(f"the sound device could not be opened within {_OPENING_S:g} s")

    @property
    def hangs(self) -> bool:
        """After `stop`: the device keeps the playing thread."""
        return not self._done.is_set()

    def statistics(self) -> PlaybackStatistics:
        """A snapshot."""
        playhead = self._playhead
        return PlaybackStatistics(
            device=self._device,
            sample_rate_hz=self._device_rate_hz,
            underruns=playhead.underruns if playhead else 0,
            gap_ms=playhead.gap_ms if playhead else 0.0,
            device_underruns=alsa_underruns() - self._alsa_underruns_before,
            written_samples=self._written,
        )

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait, woken by the playing thread, until something holds. Raises the thread's error, or that it hangs."""
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop may be gone
                loop.call_soon_threadsafe(news.set)

        self._wake = wake
        self._buffer.on_room(wake)
        patience_s = self._settings.stall_timeout_ms / 1000.0
        while True:
            news.clear()
            if self._error is not None:
                raise self._error
            if reached():
                return
            try:
                await asyncio.wait_for(news.wait(), patience_s)
            except asyncio.TimeoutError:
                if self._cut:
                    continue
                if self._device is not None:
                    raise SinkError(
                        f"the sound device '{self._device}' has taken no sound for {patience_s:g} s"
                    ) from None
                if (failure := self.not_opened()) is not None:
                    raise failure from None

    def _at_voice_rate(self, milliseconds: int) -> int:
        return self._voice_rate_hz * milliseconds // 1000

    def _play(self) -> None:
        """The playing thread."""
        try:
            with self._system() as system:
                self._play_through(system)
        except SinkError as error:
            self._error = error
        except OSError as error:
            self._error = SinkError(describe_failure(self._device or "?", error))
        except Exception as error:  # a bug here must reach the caller, not die with the thread
            self._error = error
        finally:
            self._buffer.cut()
            self._done.set()
            self._wake()

    def _play_through(self, system: Any) -> None:
        settings = self._settings
        device = find_device(system.devices(), self._wish)
        wished = choose_format(
            lambda format_: bool(system.can_do(device, format_)),
            self._voice_rate_hz,
            device,
            settings.sample_rate_hz or None,
        )
        rate_hz = wished.sample_rate_hz
        stream = system.open(device, wished, rate_hz * settings.period_ms // 1000)
        self._device, self._device_rate_hz = device.name, rate_hz
        self._playhead = Playhead(rate_hz, self._clock)
        try:
            held_ms = 1000 * stream.get_write_available() // rate_hz + 1  # nothing is in it yet: all it can hold
            output = _Output(stream, wished.channels, self._voice_rate_hz, rate_hz)
            self._pump(output, held_ms)
            if not self._cut:
                # Pa_StopStream drops what ALSA still holds, and a sound server forgets what a closed stream had queued:
                # so silence is written behind the last sample until that sample must be out.
                self._push_out(output, rate_hz * (held_ms + settings.tail_ms) // 1000)
                if not self._cut:
                    stream.stop_stream()
        finally:
            stream.close()

    def _pump(self, output: _Output, held_ms: int) -> None:
        """Buffer → device, until the end or the cut.

        A device starts with what the first write brings, so that one fills it as far as there is sound; a first
        write of a few milliseconds would run dry before the second.
        """
        assert self._playhead is not None
        start = self._at_voice_rate(self._settings.start_ms)
        self._buffer.wait_for(1 if self._eager else start)
        lead_in = output.rate_hz * self._settings.lead_in_ms // 1000
        self._playhead.writing(lead_in)
        output.silence(lead_in)
        block = self._at_voice_rate(held_ms)
        starved = False
        while not self._cut:
            pcm = self._buffer.take_nowait(block)
            if pcm is None:
                self._buffer.wait_for(start)
                starved = True
                block = self._at_voice_rate(held_ms)
                continue
            if starved and len(pcm):  # no sound is missed where only the end comes late
                self._playhead.starved()
            starved = False
            block = max(1, self._at_voice_rate(_BLOCK_MS))
            last = not len(pcm)
            samples = output.convert(pcm, last=last)
            self._playhead.writing(len(samples))
            output.write(samples)
            if len(samples) and not self._written:
                self._on_first(self._clock())
            self._written += len(samples)
            if last:
                return

    def _push_out(self, output: _Output, frames: int) -> None:
        """Silence in short blocks, so that a stop is heard in between."""
        block = max(1, output.rate_hz * _BLOCK_MS // 1000)
        while frames > 0 and not self._cut:
            output.silence(min(block, frames))
            frames -= block
            self._wake()


class _Output:
    """A stream and what stands between it and the voice's samples: rate and channels."""

    def __init__(self, stream: Any, channels: int, voice_rate_hz: int, rate_hz: int) -> None:
        self._stream = stream
        self._channels = channels
        self.rate_hz = rate_hz
        self._resampler: Any = None
        if rate_hz != voice_rate_hz:
            import soxr

            self._resampler = soxr.ResampleStream(voice_rate_hz, rate_hz, 1, dtype="float32")

    def convert(self, pcm: Pcm, *, last: bool) -> Pcm:
        """Samples at the device's rate; the last call gets what the filter still holds."""
        if self._resampler is None:
            return pcm
        converted: Pcm = self._resampler.resample_chunk(pcm, last=last)
        return converted

    def write(self, samples: Pcm) -> None:
        """Write, and wait for room in the device."""
        frames = len(samples)
        if frames:
            data = np.repeat(to_pcm16(samples), self._channels)
            self._stream.write(data.tobytes(), frames)

    def silence(self, frames: int) -> None:
        """Write silence."""
        if frames > 0:
            self._stream.write(bytes(2 * self._channels * frames), frames)
