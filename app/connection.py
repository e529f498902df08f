"""One client: the shell around the conversation.

Purpose: read messages, hand them to the protocol, do what its events say, send what it allows, and leave nothing behind
when the client goes. Knows: tasks, deadlines. Does not know: the order of messages (the protocol's), how speech is made
(the context's), what closing and pinging are (the peer's).
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec
from websockets.asyncio.server import ServerConnection

from app.audio_format import offers
from app.client_places import PROTOCOL
from app.context import ContextReport, OpenLocal, SpeakingContext
from app.context_plan import Plan, plan
from app.listening import ListenerLeftError
from app.local_sink import LocalSink
from app.logs import log_context
from app.messages import Outcome, PlaybackState, Ready
from app.peer import Peer
from app.protocol import Asked, Event, Fed, Refused, SpeechProtocol, Start, TokenShown, Told
from app.protocol_errors import ProtocolError
from app.protocol_table import Step
from app.services import Services, limits_of
from app.text_stream import ContextIdleError
from app.voices import VoiceTable

NOT_AUTHORISED: Final = 4401
FULL: Final = 4429
RESTARTING: Final = 1012
TRY_LATER: Final = 1013
_LAST_WORDS_S: Final = 0.2


class Connection:
    """One socket; used once, on the loop."""

    def __init__(
        self,
        socket: ServerConnection,
        services: Services,
        voices: VoiceTable,
        *,
        raw: bool,
        authorised: bool,
        local: bool,
    ) -> None:
        """`local`: the client is on this machine for certain, and may use its loudspeaker."""
        self.session: Final = secrets.token_hex(6)
        self._peer = Peer(socket)
        self._services = services
        self._voices = voices
        self._limits = services.config.limits
        """Those the client is told; it keeps them when the configuration is read again."""
        self._protocol = SpeechProtocol(limits_of(services.config), raw=raw)
        self._authorised = authorised
        self._local = local
        self._loop = asyncio.get_running_loop()
        self._contexts: dict[int, SpeakingContext] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened_at = self._loop.time()

    @property
    def speaking(self) -> bool:
        """Whether a context is open."""
        return bool(self._contexts)

    @property
    def buffered_s(self) -> list[float]:
        """Sound that waits in each of its contexts, seconds."""
        return [context.buffered_s for context in self._contexts.values()]

    async def run(self) -> None:
        """Serve until the client leaves or is sent away; then end its contexts, and wait for the engine to let go."""
        try:
            if self._authorised:
                await self._say_ready()
            while (data := await self._peer.hear()) is not None:
                for message in self._protocol.messages(data):
                    await self._on(self._protocol.receive(message))
        except ListenerLeftError:
            pass
        finally:
            for context in self._contexts.values():
                context.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def excuse(self, away_s: float) -> None:
        """This process was stopped, or had no processor, for so long: that is not held against the client."""
        self._opened_at += away_s
        self._peer.excuse(away_s)

    def check(self) -> str | None:
        """To be called about once a second: deadlines. Returns why the peer was sent away, if it was."""
        now, limits = self._loop.time(), self._limits
        if not self._authorised and now - self._opened_at > limits.handshake_s:
            return self._send_away(NOT_AUTHORISED, "not_authorised", "no token came in time")
        alive_at = self._peer.alive_at
        if now - alive_at > limits.peer_timeout_s:
            self._peer.cut()  # nobody is there to read a close frame
            return "dead_peer"
        if not self._contexts and not self._local and now - self._peer.busy_at > limits.idle_s:
            return self._send_away(1000, "idle_socket", f"idle for {limits.idle_s:g} s")
        if now - max(alive_at, self._peer.pinged_at) > limits.ping_s:
            self._later(self._peer.ping())
        return None

    async def send_home(self) -> None:
        """The daemon ends: cancel what is still spoken, say the last words, and close."""
        for context in self._contexts.values():
            context.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_WORDS_S)
        await self._peer.close(RESTARTING, "the daemon is restarting")

    def hang_up(self) -> None:
        """Cut the connection of a client that does not answer; what it can still read, it may."""
        self._peer.hang_up()

    # -- in -----------------------------------------------------------------------------------------------------------

    async def _on(self, event: Event) -> None:
        if isinstance(event, TokenShown):
            await self._authorise(event.token)
        elif not self._authorised:
            await self._turn_away("show the token first: an Authorization header, or an 'authorise' message")
        elif isinstance(event, Fed):
            context = self._contexts.get(event.number)
            if context is None or not context.feed(event.text):  # it is about to say its last word
                self._services.metrics.refused("context_ended")
                late = "the context was just ending when this text came; say it in another"
                await self._send(self._protocol.error(ProtocolError("context_ended", late, event.context)))
            elif event.sequence is not None:
                await self._send(self._protocol.ack(event.number, event.sequence))
        elif isinstance(event, Told):
            self._tell(event.number, event.step)
        elif isinstance(event, Start):
            await self._start(event)
        elif isinstance(event, Asked):
            await self._say_ready()
        else:
            await self._refuse(event)

    async def _authorise(self, token: str) -> None:
        if not self._services.guard.knows(token):
            await self._turn_away("this is not the token")
        elif not self._authorised:
            self._authorised = True
            await self._say_ready()

    async def _turn_away(self, reason: str) -> None:
        self._services.metrics.refused("not_authorised")
        await self._send(self._protocol.error(ProtocolError("not_authorised", reason)))
        await self._peer.close(NOT_AUTHORISED, reason)

    async def _refuse(self, event: Refused) -> None:
        self._services.metrics.refused(event.error.code)
        await self._send(self._protocol.error(event.error))
        if self._protocol.raw:
            await self._peer.close(1008, f"{event.error.code}: {event.error}")

    def _tell(self, number: int, step: Step) -> None:
        context = self._contexts.get(number)
        if context is None:
            return
        if step is Step.FLUSH:
            context.flush(lambda: self._send(self._protocol.flushed(number)))
        elif step is Step.END:
            context.end()
        else:
            context.cancel()

    async def _start(self, event: Start) -> None:
        gate = self._services.gate
        try:
            planned = plan(event.message, self._voices_now())
            if planned.local:
                allowed = self._local or self._services.config.security.loudspeaker_over_tcp
                self._services.loudspeaker.admit(allowed=allowed)
            gate.enter_context()
        except ProtocolError as error:
            message = self._protocol.refuse(event.number, error.code, str(error))
            self._services.metrics.refused(error.code)
            await self._send(message)
            if self._protocol.raw:
                await self._peer.close(TRY_LATER if error.code in {"busy", "shutting_down"} else 1008, str(error))
            return
        send = partial(self._send_block, event.number)
        config = msgspec.structs.replace(self._services.config, limits=self._limits)
        left_alone = partial(self._left_alone, event.message.context)
        sink, pools = self._sink(event, planned), self._services.pools
        context = SpeakingContext(planned, config, pools, send, self, sink, left_alone)
        self._contexts[event.number] = context
        started = self._protocol.started(event.number, planned.audio.encoding, planned.audio.sample_rate_hz)
        self._later(self._speak(event.number, event.message.context, context))
        await self._send(started)

    def _sink(self, event: Start, planned: Plan) -> OpenLocal | None:
        """How sound is played here, if it is."""
        if not planned.local:
            return None
        rate_hz, tell = planned.audio.sample_rate_hz, partial(self._playback, event.number)
        return partial(LocalSink, self._services.loudspeaker, rate_hz, now=planned.now, tell=tell)

    def _voices_now(self) -> VoiceTable:
        """The present table; a socket outlives a reload."""
        return self._services.voices or self._voices

    async def _say_ready(self) -> None:
        voices = self._voices_now()
        info = voices.default.model.info
        ready = Ready(
            protocol=PROTOCOL,
            session=self.session,
            voices=voices.names,
            languages=voices.languages,
            formats=offers(),
            limits=self._protocol.limits,
            frame_ms=1000.0 * info.samples_per_frame / info.sample_rate_hz,
        )
        await self._send(self._protocol.ready(ready))

    # -- out ----------------------------------------------------------------------------------------------------------

    async def _speak(self, number: int, name: str, context: SpeakingContext) -> None:
        """The life of one context."""
        began = self._loop.time()
        try:
            report = await context.run()
        finally:
            del self._contexts[number]
            self._services.gate.leave_context(self._loop.time() - began)
        self._services.metrics.context_ended(report)
        text = "".join(context.spoken) or None if self._services.config.log.text else None
        log_context(self.session, name, report, text)
        with contextlib.suppress(ListenerLeftError):
            await self._last_words(number, name, report)

    async def _last_words(self, number: int, name: str, report: ContextReport) -> None:
        if report.error is not None:
            self._services.metrics.refused(report.error.code)
            if report.error.code != "idle":  # that was said when it was decided
                await self._send(self._protocol.error(ProtocolError(report.error.code, str(report.error), name)))
        outcome: Outcome = report.outcome.value
        await self._send(
            self._protocol.done(
                number,
                outcome,
                frames=report.frames,
                audio_ms=round(report.audio_ms, 3),
                first_audio_ms=None if report.first_audio_ms is None else round(report.first_audio_ms, 3),
                engine_ms=round(report.engine_ms, 3),
                underruns=report.listening.underruns,
            )
        )
        if self._protocol.raw:
            failed = report.error is not None
            await self._peer.close(1011 if failed else 1000, str(report.error) if failed else outcome)

    def _playback(self, number: int, state: PlaybackState, at_s: float, device: str | None) -> None:
        self._say_soon(partial(self._protocol.playback, number, state, round(1000.0 * at_s, 3), device))

    def _left_alone(self, name: str, error: ContextIdleError) -> None:
        """At once, so that its client keeps the next text for another context."""
        self._say_soon(partial(self._protocol.error, ProtocolError("idle", str(error), name)))

    def _say_soon(self, message: Callable[[], str | None]) -> None:
        async def say() -> None:
            with contextlib.suppress(ListenerLeftError):
                await self._send(message())

        self._later(say())

    async def _send_block(self, number: int, data: bytes, samples: int, last: bool) -> None:
        await self._send(self._protocol.audio(number, data, samples, last=last))

    async def _send(self, message: str | bytes | None) -> None:
        """Send, and wait while the client is slow. Raises `ListenerLeftError`."""
        if message is not None:
            await self._peer.send(message)

    def _send_away(self, code: int, why: str, reason: str) -> str:
        self._later(self._peer.close(code, reason))
        return why

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
