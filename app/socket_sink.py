"""Sound on its way to a client: encoded and paced.

Purpose: `SocketSink`, a `Sink` that cuts sound into blocks, encodes them (on the audio pool where that costs), and
keeps no more than `ahead_ms` in front of a real-time listener. What slows the socket slows the session, and with it the
engine. Knows: time, formats. Does not know: messages, headers, websockets, engines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from app.audio_format import AudioFormat, Encoder, open_encoder
from app.executor import BoundedExecutor
from app.listening import Listening
from engines.contract import Pcm

_Result = TypeVar("_Result")
SendBlock = Callable[[bytes, int, bool], Awaitable[None]]
"""Sends a block: its bytes, how many samples of the listener's rate they stand for, whether it is the last. Raises
`ListenerLeftError`."""


class SocketSink:
    """The sound of one context."""

    def __init__(
        self,
        wanted: AudioFormat,
        audio: BoundedExecutor,
        send: SendBlock,
        clock: Callable[[], float],
        *,
        block_ms: int,
        ahead_ms: int | None,
    ) -> None:
        """`ahead_ms`: sound a listener may hold; None sends as fast as the listener takes it."""
        self.listening: Final = Listening(clock)
        self._format = wanted
        self._block_ms = block_ms
        self._ahead_ms = ahead_ms
        self._audio = audio
        self._send = send
        self._encoder: Encoder | None = None
        self._samples = 0
        """Of the listener's rate, in the blocks sent."""

    @property
    def active_at(self) -> float:
        """When sound last went out, by the clock; 0 before any did."""
        return self.listening.last_block_at or 0.0

    async def begin(self) -> None:
        """Nothing to wait for."""

    async def write(self, pcm: Pcm) -> None:
        """Send a block or several; waits for the listener."""
        if not len(pcm):
            return
        encoder = await self._opened()
        step = max(self._block_ms * self._format.voice_rate_hz // 1000, 1)
        for start in range(0, len(pcm), step):
            block = pcm[start : start + step]
            await self._hold_back()
            data = await self._work(partial(encoder.encode, block))
            if data:
                await self._hand_over(data, encoder.samples, last=False)

    async def finish(self) -> None:
        """Send what the encoder held back, in the last block, which may be empty."""
        encoder = await self._opened()
        data = await self._work(encoder.finish)
        self.listening.text_came()  # what the encoder held back waited for the end of the text, not for us
        await self._hand_over(data, encoder.samples, last=True)

    async def stop(self) -> None:
        """Silence: nothing more is sent."""
        self._encoder = None

    async def abort(self) -> None:
        """The same."""
        self._encoder = None

    async def _opened(self) -> Encoder:
        if self._encoder is None:
            self._encoder = await self._work(partial(open_encoder, self._format))
        return self._encoder

    async def _work(self, work: Callable[[], _Result]) -> _Result:
        return work() if self._format.light else await self._audio.run(work)

    async def _hold_back(self) -> None:
        """Wait until the listener has room for more."""
        if self._ahead_ms is None:
            return
        wait_s = self.listening.lead_s() - self._ahead_ms / 1000
        if wait_s > 0.0:
            await asyncio.sleep(wait_s)

    async def _hand_over(self, data: bytes, samples_so_far: int, *, last: bool) -> None:
        samples = samples_so_far - self._samples
        self._samples = samples_so_far
        if samples:
            self.listening.sent(samples / self._format.sample_rate_hz)
        await self._send(data, samples, last)
