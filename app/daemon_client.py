"""`speak` through the daemon: the same run, spoken by an engine that is warm already.

Purpose: find a daemon that can do what is wished, and be a session to the caller (`run`, `cancel`, `report`), though
the engine is in another process. Sound comes as floating-point samples at the voice's rate, so every sink and option
behaves as without a daemon. Knows: the protocol, the Unix socket's place. Does not know: options, devices, files.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Final

import numpy as np

from app.block import HEADER
from app.client_places import PROTOCOL, SPEAK_PATH, fingerprint, has_model
from app.messages import (
    AnyClientMessage,
    Cancel,
    ContextDone,
    ContextStart,
    ContextStarted,
    EndOfText,
    Error,
    Format,
    Ready,
    SamplingWishes,
    Text,
    TextAck,
    parse_client,
    parse_server,
    print_message,
)
from app.protocol_errors import ProtocolError
from app.session import SessionReport
from app.sink import Sink
from app.small_websocket import SmallWebSocket
from app.socket_path import client_paths
from app.text_room import CROSSED, Relay
from app.wishes import Wishes
from engines.contract import End, Layout, Pace
from engines.errors import SpeechError

_CONTEXT: Final = "speak"
_SHARE: Final = 8
"""Bytes of a message for each character of its text: six, and the rest for what stands around it."""
_PATIENCE_S: Final = 1.0
"""A daemon that does not greet us by then is not waited for."""
_LAST_WORD_S: Final = 0.5


async def find_daemon(wishes: Wishes) -> SmallWebSocket | None:
    """A connection to a daemon that can fulfil these wishes with this very model; None where there is none."""
    if wishes.save_codes is not None or wishes.layout is not Layout.AUTO or not wishes.normalize:
        return None
    if not _can_be_said(wishes):
        return None
    mark = fingerprint(str(wishes.bundle))
    for path in client_paths():
        with contextlib.suppress(OSError, SpeechError, asyncio.TimeoutError):
            socket = await asyncio.wait_for(SmallWebSocket.open(path, SPEAK_PATH, PROTOCOL), _PATIENCE_S)
            with contextlib.ExitStack() as ends:
                ends.callback(socket.close)
                if has_model(socket.headers, mark) and await _greets(socket):
                    ends.pop_all()
                    return socket
    return None


def _start(wishes: Wishes, seed: int, pace: Pace) -> ContextStart:
    sampling = wishes.sampling
    return ContextStart(
        context=_CONTEXT,
        voice=wishes.voice,
        language=wishes.language,
        instruct=wishes.instruct or None,
        format=Format(encoding="pcm_f32le"),
        sampling=SamplingWishes(
            temperature=0.0 if sampling.greedy else sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            repetition_penalty=sampling.repetition_penalty,
            seed=seed,
        ),
        max_frames=wishes.max_frames,
        pace=pace.value,
    )


def _can_be_said(wishes: Wishes) -> bool:
    """Whether the protocol has words for these wishes; if not, this process fulfils them, or says what is wrong."""
    if wishes.sampling.temperature == 0.0:
        return False  # to the protocol that is greedy, here it is none
    start = _start(wishes, wishes.seed or 0, Pace.FAST)
    try:
        return parse_client(print_message(start)) == start
    except ProtocolError:
        return False


async def _greets(socket: SmallWebSocket) -> bool:
    socket.greeting = await asyncio.wait_for(socket.receive(), _PATIENCE_S)
    return isinstance(parse_server(socket.greeting), Ready)


class RemoteSession:
    """Speaks one text into one sink, by the daemon; used once. Stands in for `SpeechSession`."""

    def __init__(self, socket: SmallWebSocket, sink: Sink, wishes: Wishes, seed: int, pace: Pace) -> None:
        self.report = SessionReport()
        self._socket = socket
        self._sink = sink
        self._wishes = wishes
        self._seed = seed
        self._pace = pace
        self._began: float | None = None
        self._work: asyncio.Task[None] | None = None
        self._cancelled = False
        ready = parse_server(socket.greeting)
        assert isinstance(ready, Ready)  # `find_daemon` has seen to it
        self._relay = Relay(ready.limits.text_characters, ready.limits.message_bytes // _SHARE)
        self._over = asyncio.Event()
        """The last context has ended."""
        self._telling = asyncio.Lock()
        """What goes into one context is not torn by what begins the next."""

    async def run(self, texts: AsyncIterator[str]) -> SessionReport:
        """Speak everything that comes. Raises what went wrong; the sink is then aborted."""
        self._work = asyncio.ensure_future(self._speak(texts))
        try:
            await self._work
        except asyncio.CancelledError:
            if not self._cancelled:
                await self._sink.abort()
                raise
            await self._sink.stop()
            if self._wishes.stats:
                await self._hear_out()
            self.report.outcome = End.CANCELLED
        except BaseException:
            await self._sink.abort()
            raise
        finally:
            self._socket.close()
        return self.report

    def cancel(self) -> None:
        """Stop at once: `run` returns soon, with what was spoken so far kept. Idempotent."""
        self._cancelled = True
        if self._work is not None:
            self._work.cancel()

    async def _speak(self, texts: AsyncIterator[str]) -> None:
        self._relay.begin()
        await self._start_context()
        writing = asyncio.ensure_future(self._write(texts))
        listening = asyncio.ensure_future(self._listen())
        try:
            await asyncio.wait((writing, listening), return_when=asyncio.FIRST_COMPLETED)
            if not listening.done():
                await writing  # a source of text that fails ends it all
            if listening.done() or self._relay.open:
                await listening
        finally:
            writing.cancel()
            listening.cancel()
            await asyncio.gather(writing, listening, return_exceptions=True)
        await self._sink.finish()

    async def _start_context(self) -> None:
        await self._say(_start(self._wishes, self._seed, self._pace))

    async def _say(self, message: AnyClientMessage) -> None:
        await self._socket.send(print_message(message))

    async def _write(self, texts: AsyncIterator[str]) -> None:
        async for text in texts:
            if self._began is None:
                self._began = time.monotonic()
            await self._tell(text)
        async with self._telling:
            self._relay.written = True
            if self._relay.open:
                await self._say(EndOfText(context=_CONTEXT))

    async def _tell(self, text: str) -> None:
        """Put text into the context, and into others behind it."""
        while text:
            if self._relay.ending:
                self._over.clear()
                await self._over.wait()
            async with self._telling:
                if not self._relay.open:
                    self._relay.begin()
                    await self._start_context()
                piece, text, full = self._relay.put(text)
                if piece:
                    await self._say(Text(context=_CONTEXT, text=piece, sequence=0))
                if full:
                    await self._say(EndOfText(context=_CONTEXT))

    async def _tell_again(self) -> None:
        """What crossed the end of a context, into another."""
        async with self._telling:
            if again := self._relay.again():
                await self._start_context()
                for piece in again:
                    await self._say(Text(context=_CONTEXT, text=piece, sequence=0))
                if self._relay.written:
                    await self._say(EndOfText(context=_CONTEXT))

    async def _listen(self) -> None:
        """Sound to the sink, until the last word."""
        failed: Error | None = None
        started = False
        while True:
            message = await self._socket.receive()
            if isinstance(message, bytes):
                pcm = np.frombuffer(message, "<f4", offset=HEADER.size).astype(np.float32, copy=False)
                if len(pcm):
                    self.report.heard(len(pcm), self._began, time.monotonic)
                    await self._sink.write(pcm)
                continue
            event = parse_server(message)
            if isinstance(event, ContextStarted):
                started = True
            elif isinstance(event, Error) and event.code == "idle":
                self._relay.ending = True
            elif isinstance(event, Error) and event.code not in CROSSED:
                failed = event
            elif isinstance(event, TextAck):
                self._relay.taken()
            elif isinstance(event, ContextDone):
                self._account(event)
                if failed is not None or self._relay.done(event.frames):
                    break
                started = False
                await self._tell_again()
                self._over.set()
            if failed is not None and not started:
                break
        if failed is not None:
            raise SpeechError(failed.message)

    async def _hear_out(self) -> None:
        """What it came to until it was cancelled, if the daemon says so soon."""
        with contextlib.suppress(SpeechError, asyncio.TimeoutError):
            await self._say(Cancel(context=_CONTEXT))
            await asyncio.wait_for(self._last_word(), _LAST_WORD_S)

    async def _last_word(self) -> None:
        while True:
            message = await self._socket.receive()
            event = parse_server(message) if isinstance(message, str) else None
            if isinstance(event, ContextDone):
                self._account(event)
            if isinstance(event, (ContextDone, Error)):  # an error where it is done already
                return

    def _account(self, event: ContextDone) -> None:
        self.report.frames += event.frames
        self.report.compute_ms += event.engine_ms
        if event.outcome == "cancelled" and not self._cancelled:
            raise SpeechError("the daemon was stopped before all was spoken; speak it again")
        if event.outcome == "limit" or not self._relay.ending:  # being left alone is no failure
            self.report.ended(End(event.outcome))
