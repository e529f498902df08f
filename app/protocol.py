"""The conversation of `speakd.v1` on one socket, without the socket.

Purpose: `SpeechProtocol`: what a client sent goes in and comes back as events; what the server wants to say goes in and
comes back as the message to send, or as nothing where the conversation no longer allows it. All rules of order stand in
one table. So the promises hold whatever the shell around it does: one `context.done` for each `context.started`, no
sound after it, no sound after `cancel`.
Knows: contexts and their states, limits, framing. Does not know: sockets, asyncio, voices, sound.

Raw framing: one context; its sound goes out without headers and nothing else does; lines come in (`raw_lines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.block import BlockHeader
from app.messages import (
    AnyClientMessage,
    AnyServerMessage,
    Authorise,
    Cancel,
    ContextDone,
    ContextStart,
    ContextStarted,
    Describe,
    EndOfText,
    Error,
    Flush,
    Flushed,
    Limits,
    Outcome,
    Playback,
    PlaybackState,
    Ready,
    Text,
    TextAck,
    parse_client,
    print_message,
)
from app.protocol_errors import Code, ProtocolError
from app.protocol_table import REFUSALS, TRANSITIONS, Context, State, Step
from app.raw_lines import RawLines


@dataclass(frozen=True, slots=True)
class Start:
    """A client wants a context; answer with `started` or `refuse`."""

    number: int
    message: ContextStart


@dataclass(frozen=True, slots=True)
class Fed:
    """Text for a context; `ack` it if it has a `sequence`."""

    number: int
    context: str
    text: str
    sequence: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """A context was told to flush, end or cancel; repeated wishes are told once."""

    number: int
    step: Step


@dataclass(frozen=True, slots=True)
class Asked:
    """The client wants to hear `ready` again."""


@dataclass(frozen=True, slots=True)
class TokenShown:
    """The client says it may be here."""

    token: str

    def __repr__(self) -> str:
        """Without the token."""
        return "TokenShown(...)"


@dataclass(frozen=True, slots=True)
class Refused:
    """A message was refused; the error is to be sent."""

    error: ProtocolError


Event = Start | Fed | Told | Asked | TokenShown | Refused


class SpeechProtocol:
    """One socket's conversation, the server's side."""

    def __init__(self, limits: Limits, *, raw: bool = False) -> None:
        self.limits: Final = limits
        self.raw: Final = raw
        self._by_id: dict[str, Context] = {}
        self._by_number: dict[int, Context] = {}
        self._next_number = 0
        self._lines = RawLines(limits.message_bytes)

    @property
    def contexts(self) -> int:
        """Contexts that are not done."""
        return len(self._by_id)

    # -- in -----------------------------------------------------------------------------------------------------------

    def messages(self, data: str | bytes) -> Sequence[str | bytes]:
        """The messages in what came over the socket; in raw framing these are whole lines."""
        return self._lines.feed(data) if self.raw else [data]

    def receive(self, message: str | bytes) -> Event:
        """Take one of the `messages`. Never raises: what is wrong with it is an event too."""
        try:
            if len(message) > self.limits.message_bytes:
                raise ProtocolError("bad_json", f"a message may have {self.limits.message_bytes} bytes, no more")
            if isinstance(message, bytes) and not self.raw:
                raise ProtocolError("bad_json", "send messages as text, not binary; only the server sends binary")
            return self._event(parse_client(message))
        except ProtocolError as error:
            return Refused(error)

    def _event(self, message: AnyClientMessage) -> Event:
        if isinstance(message, ContextStart):
            return Start(self._open(message.context), message)
        if isinstance(message, Text):
            return self._feed(message)
        if isinstance(message, Describe):
            return Asked()
        if isinstance(message, Authorise):
            return TokenShown(message.token)
        step = {Flush: Step.FLUSH, EndOfText: Step.END, Cancel: Step.CANCEL}[type(message)]
        context = self._client_step(message.context, step)
        if step is Step.FLUSH:
            if context.flushes >= self.limits.flushes:
                raise ProtocolError("too_many_flushes", f"wait for 'flushed': {context.flushes} are due", context.id)
            context.flushes += 1
        return Told(context.number, step)

    def _open(self, name: str) -> int:
        if name in self._by_id:
            raise ProtocolError("context_exists", "this context is open; take another id", name)
        most = 1 if self.raw else self.limits.contexts
        if len(self._by_id) >= most:
            raise ProtocolError("too_many_contexts", f"{most} contexts are open, the most for one socket", name)
        while self._next_number in self._by_number:
            self._next_number = (self._next_number + 1) & 0xFFFF
        context = Context(name, self._next_number)
        self._next_number = (self._next_number + 1) & 0xFFFF
        self._by_id[name] = self._by_number[context.number] = context
        return context.number

    def _feed(self, message: Text) -> Fed:
        context = self._client_step(message.context, Step.TEXT)
        most = self.limits.text_characters
        if context.characters + len(message.text) > most:
            raise ProtocolError("text_too_long", f"a context takes {most} characters; start another", context.id)
        context.characters += len(message.text)
        return Fed(context.number, context.id, message.text, message.sequence)

    def _client_step(self, name: str, step: Step) -> Context:
        context = self._by_id.get(name)
        if context is None:
            raise ProtocolError("unknown_context", "no such context is open; it may be done already", name)
        after = TRANSITIONS[context.state].get(step)
        if after is None:
            code, message = REFUSALS[context.state]
            raise ProtocolError(code, message, name)
        context.state = after
        return context

    # -- out ----------------------------------------------------------------------------------------------------------

    def ready(self, message: Ready) -> str | None:
        """What is here."""
        return self._control(message)

    def started(self, number: int, encoding: str, sample_rate: int) -> str | None:
        """Say yes to a context."""
        context = self._server_step(number, Step.STARTED)
        if context is None:
            return None
        return self._control(
            ContextStarted(context=context.id, number=number, encoding=encoding, sample_rate=sample_rate)
        )

    def refuse(self, number: int, code: Code, message: str) -> str | None:
        """Say no to a context that has not started."""
        context = self._by_number.get(number)
        if context is None or context.state is not State.NEW:
            return None
        self._forget(context)
        return self.error(ProtocolError(code, message, context.id))

    def ack(self, number: int, sequence: int) -> str | None:
        """Text was taken."""
        context = self._server_step(number, Step.ACK)
        return None if context is None else self._control(TextAck(context=context.id, sequence=sequence))

    def audio(self, number: int, payload: bytes, samples: int, *, last: bool = False) -> bytes | None:
        """A block of `samples` samples, or None where the context may not sound any more."""
        context = self._server_step(number, Step.AUDIO)
        if context is None:
            return None
        header = BlockHeader(number=number, sequence=context.blocks, first_sample=context.samples, last=last)
        context.blocks += 1
        context.samples += samples
        if self.raw:
            return payload or None
        return header.pack() + payload

    def flushed(self, number: int) -> str | None:
        """The sound before a flush is sent."""
        context = self._server_step(number, Step.FLUSHED)
        if context is None:
            return None
        context.flushes -= 1
        return self._control(Flushed(context=context.id))

    def playback(self, number: int, state: PlaybackState, at_ms: float, device: str | None) -> str | None:
        """How it goes with a context that is played here."""
        context = self._server_step(number, Step.PLAYBACK)
        if context is None:
            return None
        return self._control(Playback(context=context.id, state=state, at_ms=at_ms, device=device))

    def done(
        self,
        number: int,
        outcome: Outcome,
        *,
        frames: int,
        audio_ms: float,
        first_audio_ms: float | None,
        engine_ms: float,
        underruns: int,
    ) -> str | None:
        """The last word of a context; None if it was never started or is done."""
        context = self._server_step(number, Step.DONE)
        if context is None:
            return None
        self._forget(context)
        return self._control(
            ContextDone(
                context=context.id,
                outcome=outcome,
                frames=frames,
                audio_ms=audio_ms,
                first_audio_ms=first_audio_ms,
                engine_ms=engine_ms,
                underruns=underruns,
            )
        )

    def error(self, error: ProtocolError) -> str | None:
        """What was refused or failed."""
        return self._control(Error(context=error.context, code=error.code, message=str(error)))

    def _server_step(self, number: int, step: Step) -> Context | None:
        context = self._by_number.get(number)
        after = None if context is None else TRANSITIONS[context.state].get(step)
        if context is None or after is None:
            return None
        context.state = after
        return context

    def _forget(self, context: Context) -> None:
        del self._by_id[context.id]
        del self._by_number[context.number]

    def _control(self, message: AnyServerMessage) -> str | None:
        return None if self.raw else print_message(message)
