"""One run of speech: text in as it comes, utterances in order, sound out.

Purpose: `SpeechSession`. Each segment of the text becomes one utterance; the next one is begun as soon as the engine
has let go of the last, while its sound still drains, so that the listener hears no gap. Three tasks work hand in
hand, with a bounded queue between each: text → pieces, pieces → utterances, utterances → sink. A slow sink slows the
reader of text. Knows: the order of things and how they end. Does not know: text rules, files, devices, how the engine
works.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from app.engine_client import EngineClient, Speech
from app.executor import BoundedExecutor
from app.pauses import Pause, with_pauses
from app.sink import Sink
from app.text_piece import FrontEnd, TextPiece
from engines.contract import Codes, End, Layout, Outcome, SpeechRequest
from engines.errors import SpeechError

PIECES_WAITING: Final = 64
"""Pieces of text cut ahead of the engine; beyond that the reader of text waits."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Among the texts: speak what is there, and `reached` is awaited when all its sound is in the sink."""

    reached: Callable[[], Awaitable[None]]


_SEVERITY: Final = (End.END, End.LIMIT, End.CANCELLED, End.ERROR)


@dataclass(slots=True, kw_only=True)
class SessionReport:
    """What a run has come to; filled in as it goes."""

    outcome: End = End.END
    """The worst of the segments' ends."""
    segments: int = 0
    frames: int = 0
    samples: int = 0
    """Samples handed to the sink."""
    compute_ms: float = 0.0
    """Time in the frame graph and in the codec graph."""
    first_audio_ms: float | None = None
    """From the first text to the first sample handed to the sink."""
    first_audio_at: float | None = None
    """The same moment, on the session's clock."""
    codes: list[Codes] = field(default_factory=list)

    def heard(self, samples: int, began: float | None, clock: Callable[[], float]) -> None:
        """Sound goes to the sink; `began`: when the first text came."""
        if self.first_audio_at is None and began is not None:
            self.first_audio_at = clock()
            self.first_audio_ms = 1000.0 * (self.first_audio_at - began)
        self.samples += samples

    def ended(self, end: End) -> None:
        """A segment has ended."""
        self.outcome = max(self.outcome, end, key=_SEVERITY.index)


def segment_seed(seed: int, segment: int) -> int:
    """The seed of one segment: the first has the user's own, the others are drawn from it and stay below 2^31."""
    if segment == 0:
        return seed
    digest = hashlib.blake2b(f"{seed}/{segment}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") & 0x7FFFFFFF


class SpeechSession:
    """Speaks one text into one sink; used once."""

    def __init__(
        self,
        *,
        client: EngineClient,
        front_end: FrontEnd,
        executor: BoundedExecutor,
        sink: Sink,
        request: SpeechRequest,
        owner: object = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`owner`: whose share of the engine its utterances count against."""
        self.report = SessionReport()
        self._client = client
        self._front_end = front_end
        self._executor = executor
        self._sink = sink
        self._request = request
        self._owner = owner
        self._clock = clock
        self._began: float | None = None
        self._pieces: asyncio.Queue[TextPiece | Mark | None] = asyncio.Queue(PIECES_WAITING)
        self._speeches: asyncio.Queue[Speech | Mark | None] = asyncio.Queue(1)
        self._open: list[Speech] = []
        self._work: asyncio.Task[None] | None = None
        self._cancelled = False

    @property
    def speaking(self) -> bool:
        """Whether an utterance is under way."""
        return bool(self._open)

    @property
    def buffered_samples(self) -> int:
        """Made, and not yet gone to the sink."""
        return sum(speech.buffered_samples for speech in self._open)

    async def run(self, texts: AsyncIterator[str | Mark]) -> SessionReport:
        """Speak everything that comes; returns when the sink is finished, or stopped after `cancel`.

        Raises what went wrong; the sink is then aborted, and every utterance is over.
        """
        if self._cancelled:
            return await self._stopped()
        self._work = asyncio.ensure_future(self._speak(texts))
        try:
            await self._work
        except asyncio.CancelledError:
            if not self._cancelled:
                self._work.cancel()
                await asyncio.wait((self._work,))
                await self._sink.abort()
                raise
            return await self._stopped()
        except BaseException:
            await self._sink.abort()
            raise
        return self.report

    def cancel(self) -> None:
        """Stop at once: `run` returns soon, with what was spoken so far kept. Idempotent."""
        if not self._cancelled and self._work is not None:
            self._work.cancel()
        self._cancelled = True

    async def _stopped(self) -> SessionReport:
        self.report.outcome = End.CANCELLED
        await self._sink.stop()
        return self.report

    async def _speak(self, texts: AsyncIterator[str | Mark]) -> None:
        try:
            await _together(self._cut(texts), self._begin_utterances(), self._play())
        finally:
            await self._let_go()
        await self._sink.finish()

    async def _let_go(self) -> None:
        """End what is still being spoken; what it came to is part of the report."""
        for speech in self._open:
            speech.cancel()
        for speech in self._open:
            await speech.close()
            with contextlib.suppress(SpeechError):
                self._account(await speech.outcome())

    async def _cut(self, texts: AsyncIterator[str | Mark]) -> None:
        """Text → pieces."""
        async for text in with_pauses(texts):
            if isinstance(text, Pause):
                await self._put(self._front_end.early)
            elif isinstance(text, Mark):
                await self._put(self._front_end.finish)
                await self._pieces.put(text)
            else:
                if self._began is None:
                    self._began = self._clock()
                await self._put(partial(self._front_end.feed, text))
        await self._put(self._front_end.finish)
        await self._pieces.put(None)

    async def _put(self, cut: Callable[[], list[TextPiece]]) -> None:
        """What a step of the front end gives, into the queue."""
        for piece in await self._executor.run(cut):
            await self._pieces.put(piece)

    async def _begin_utterances(self) -> None:
        """Pieces → utterances: one after the other, each begun when the engine has let go of the one before."""
        current: Speech | None = None
        last: Speech | None = None
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, Mark):
                if current is not None:
                    current.end_of_text()
                    current = None
                await self._speeches.put(piece)
                continue
            if current is None:
                if not piece.ids:
                    continue
                if last is not None:
                    await last.outcome()
                current = last = await self._begin(whole=piece.ends_segment)
                await self._speeches.put(current)
            if piece.ids:
                current.feed(piece.ids)
            if piece.ends_segment:
                current.end_of_text()
                current = None
        if current is not None:
            current.end_of_text()
        await self._speeches.put(None)

    async def _begin(self, *, whole: bool) -> Speech:
        """The next utterance; text that is not `whole` yet is read while it is spoken."""
        request = replace(self._request, seed=segment_seed(self._request.seed, self.report.segments))
        if not whole and request.layout is Layout.AUTO:
            request = replace(request, layout=Layout.STREAMING)
        speech = await self._client.start(request, self._owner)
        self._open.append(speech)
        self.report.segments += 1
        return speech

    async def _play(self) -> None:
        """Utterances → sink, in order."""
        limit = self._client.info.sample_rate_hz
        while (speech := await self._speeches.get()) is not None:
            if isinstance(speech, Mark):
                await speech.reached()
                continue
            while len(pcm := await speech.read(limit)):
                self.report.heard(len(pcm), self._began, self._clock)
                await self._sink.write(pcm)
            self._account(await speech.outcome())
            self._open.remove(speech)
            await speech.close()

    def _account(self, outcome: Outcome) -> None:
        report = self.report
        report.frames += outcome.frames
        report.compute_ms += outcome.talker_ms + outcome.codec_ms
        report.ended(outcome.end)
        if outcome.codes is not None:
            report.codes.append(outcome.codes)
        if outcome.end is End.ERROR:
            raise SpeechError(outcome.error or "the engine failed without saying why")


def all_codes(report: SessionReport, codebooks: int) -> Codes:
    """Codes of every segment in order, i32 [frames, codebooks]."""
    return np.concatenate([np.empty((0, codebooks), np.int32), *report.codes]).astype(np.int32)


async def _together(*jobs: Coroutine[Any, Any, None]) -> None:
    """Run jobs side by side; the first failure cancels the others and is raised once they have ended."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
