"""One context: its text goes in, its sound goes out, and it ends once.

Purpose: run the session that fulfils a wish that was found possible, and say in the end what came of it. Knows:
sessions, pacing. Does not know: sockets, JSON, the order of messages, what may be wished for (`context_plan`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from app.config import Config
from app.context_plan import Plan
from app.executor import ExecutorFullError
from app.listening import ListenerLeftError, Listening
from app.local_sink import LocalSink
from app.pools import Pools
from app.protocol_errors import Code, ProtocolError
from app.server_config import ServerConfig
from app.session import Mark, SessionReport, SpeechSession
from app.sink import SinkError
from app.socket_sink import SendBlock, SocketSink
from app.text_piece import FrontEnd
from app.text_stream import ContextIdleError, TextStream
from engines.contract import End, Pace
from engines.errors import EngineBusyError, EngineClosedError, RequestError, SpeechError

_log = logging.getLogger(__name__)


class OpenLocal(Protocol):
    """How a context's sound is played here: a `LocalSink` of which all else is known."""

    def __call__(self, *, interrupt: Callable[[], None]) -> LocalSink:
        """`interrupt` ends the context when somebody more urgent wants to be heard."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport:
    """What came of a context; times in milliseconds."""

    outcome: End
    error: ProtocolError | None
    voice: str
    encoding: str
    segments: int
    characters: int
    frames: int
    audio_ms: float
    first_audio_ms: float | None
    engine_ms: float
    wall_ms: float
    listening: Listening


class SpeakingContext:
    """Speaks one context's text; used once, on the loop."""

    def __init__(
        self,
        planned: Plan,
        config: Config,
        pools: Pools,
        send: SendBlock,
        owner: object,
        open_local: OpenLocal | None = None,
        left_alone: Callable[[ContextIdleError], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`owner`: whose share of the engine this counts against. `open_local`: where it is played here.

        `left_alone` is called as soon as it is given up as idle; that it ends takes longer.
        """
        self._plan = planned
        self._pools = pools
        self._owner = owner
        self._clock = clock
        self._began = clock()
        self._characters = 0
        self._first_text_at: float | None = None
        self._sink = open_local(interrupt=self.cancel) if open_local else self._socket_sink(config.server, send)
        self._text = TextStream(
            config.limits.context_idle_s, lambda: self._sink.active_at, left_alone, self._keeps_others_waiting
        )
        self._front_end: FrontEnd | None = None
        self._session: SpeechSession | None = None
        self._cancelled = False
        self._over = False
        self._work: asyncio.Task[None] | None = None
        self.spoken: Final[list[str]] = []
        """The text, where the configuration wants it in the log."""
        self._keep_text = config.log.text

    def feed(self, text: str) -> bool:
        """Append text; never waits. False, and nothing taken, where it is too late: it is being ended as idle."""
        if self._text.left_alone:
            return False
        self._characters += len(text)
        if text and self._first_text_at is None:
            self._first_text_at = self._clock()
        if self._keep_text:
            self.spoken.append(text)
        if self._text.starved and not (self._session and self._session.speaking):
            self._sink.listening.text_came()
        self._text.feed(text)
        return True

    def flush(self, reached: Callable[[], Awaitable[None]]) -> None:
        """Speak what is there; `reached` is awaited when its sound is sent."""
        self._text.mark(Mark(reached))

    def end(self) -> None:
        """No more text will come; idempotent."""
        self._text.end()

    def cancel(self) -> None:
        """Stop at once; `run` returns when the engine has let go. Idempotent."""
        self._cancelled = True
        if self._session is not None:
            self._session.cancel()
        elif self._work is not None:
            self._work.cancel()

    def _keeps_others_waiting(self) -> bool:
        """Whether an utterance of it is under way, and somebody waits for a place."""
        return self._session is not None and self._session.speaking and self._plan.voice.model.client.waiting > 0

    def _socket_sink(self, server: ServerConfig, send: SendBlock) -> SocketSink:
        ahead_ms = None if self._plan.request.pace is Pace.FAST else server.ahead_ms
        return SocketSink(
            self._plan.audio, self._pools.audio, send, self._clock, block_ms=server.block_ms, ahead_ms=ahead_ms
        )

    @property
    def buffered_s(self) -> float:
        """Sound that waits for the listener, seconds."""
        samples = self._session.buffered_samples if self._session is not None else 0
        return samples / self._plan.voice.model.info.sample_rate_hz

    async def run(self) -> ContextReport:
        """Speak. Whatever goes wrong is in the report."""
        error: ProtocolError | None = None
        self._plan.voice.model.enter()
        self._work = asyncio.ensure_future(self._speak())
        try:
            await self._work
        except asyncio.CancelledError:
            if not self._cancelled:
                self._work.cancel()
                await asyncio.wait((self._work,))
                raise
        except ListenerLeftError:
            self._cancelled = True
        except SpeechError as failure:
            error = ProtocolError(_code(failure), str(failure))
        except Exception as failure:
            _log.exception("a context failed")
            error = ProtocolError("internal", f"internal error ({type(failure).__name__}); the daemon's log says more")
        finally:
            self._over = True
            self._release()
            await self._sink.abort()
            self._plan.voice.model.leave()
        return self._report(error)

    async def _speak(self) -> None:
        model = self._plan.voice.model
        if self._cancelled:
            return
        await self._sink.begin()
        ids = await self._pools.text.run(self._open)
        assert self._front_end is not None
        self._session = SpeechSession(
            client=model.client,
            front_end=self._front_end,
            executor=self._pools.text,
            sink=self._sink,
            request=replace(self._plan.request, instruct_ids=ids),
            owner=self._owner,
            clock=self._clock,
        )
        if self._cancelled:
            self._session.cancel()
        await self._session.run(aiter(self._text))

    def _open(self) -> tuple[int, ...]:
        """On the text pool: the front end, and the ids of the instruct message."""
        reader = self._plan.voice.model.reader
        ids = reader.instruct_ids(self._plan.instruct) if self._plan.instruct else ()
        self._front_end = reader.front_end(self._plan.request.language)
        if self._over:  # the context was cancelled meanwhile, and found nothing to release
            self._release()
        return ids

    def _release(self) -> None:
        if self._front_end is not None:
            self._plan.voice.model.reader.release(self._front_end)

    def _report(self, error: ProtocolError | None) -> ContextReport:
        listening = self._sink.listening
        spoken = self._session.report if self._session is not None else SessionReport()
        return ContextReport(
            outcome=End.ERROR if error else End.CANCELLED if self._cancelled else spoken.outcome,
            error=error,
            voice=self._plan.voice.name,
            encoding=self._plan.audio.encoding,
            segments=spoken.segments,
            characters=self._characters,
            frames=spoken.frames,
            audio_ms=1000.0 * listening.audio_s,
            first_audio_ms=self._first_audio_ms(spoken),
            engine_ms=spoken.compute_ms,
            wall_ms=1000.0 * (self._clock() - self._began),
            listening=listening,
        )

    def _first_audio_ms(self, spoken: SessionReport) -> float | None:
        """From the first text to the first block; from there or its turn to the device where it is played here."""
        if spoken.first_audio_ms is None or spoken.first_audio_at is None:
            return None
        if not isinstance(self._sink, LocalSink):  # its session may have had to wait for the text pool, and counts less
            return 1000.0 * (spoken.first_audio_at - (self._first_text_at or 0.0))
        heard_at = self._sink.first_sample_at
        return None if heard_at is None else spoken.first_audio_ms + 1000.0 * (heard_at - spoken.first_audio_at)


def _code(failure: SpeechError) -> Code:
    if isinstance(failure, (EngineBusyError, ExecutorFullError)):
        return "busy"
    if isinstance(failure, SinkError):
        return "no_loudspeaker"
    if isinstance(failure, ContextIdleError):
        return "idle"
    if isinstance(failure, RequestError):
        return "bad_request"
    if isinstance(failure, EngineClosedError):
        return "shutting_down"
    return "engine_failed"
