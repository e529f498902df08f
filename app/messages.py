"""The messages of `speakd.v1`, and their forms on the wire.

Purpose: one strict struct for each message, JSON in and out. Knows: names, bounds, msgspec. Does not know: in which
order messages may come (`protocol`), how to say what is wrong with one (`protocol_errors`), blocks of sound (`block`),
sockets.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta

from app.client_places import PROTOCOL
from app.protocol_errors import MAX_CONTEXT_ID, ProtocolError, explain

MAX_INSTRUCT: Final = 2000
"""Characters."""

ContextId = Annotated[str, Meta(min_length=1, max_length=MAX_CONTEXT_ID)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Milliseconds = float
Outcome = Literal["end", "cancelled", "limit", "error"]
PlaybackState = Literal["waiting", "playing", "underrun"]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything in a message."""


class ClientMessage(Part, frozen=True, tag_field="type", omit_defaults=True):
    """Base of what a client says."""


class Format(Part, frozen=True, omit_defaults=True):
    """Wishes for the sound; None takes 16-bit samples at the voice's rate."""

    encoding: Name | None = None
    sample_rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Hertz."""


class SamplingWishes(Part, frozen=True, omit_defaults=True):
    """None takes the voice's default."""

    temperature: Annotated[float, Meta(ge=0.0, le=100.0)] | None = None
    """0 always takes the likeliest code."""
    top_k: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    top_p: Annotated[float, Meta(gt=0.0, le=1.0)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0.0, le=100.0)] | None = None
    seed: Annotated[int, Meta(ge=0, lt=1 << 31)] | None = None


class ContextStart(ClientMessage, frozen=True, tag="context.start"):
    """Open a context: one stream of text, one stream of sound."""

    context: ContextId
    voice: Name | None = None
    language: Name | None = None
    instruct: Annotated[str, Meta(max_length=MAX_INSTRUCT)] | None = None
    format: Format = Format()
    sampling: SamplingWishes = SamplingWishes()
    initial_codec_chunk_frames: Annotated[int, Meta(ge=1, le=1000)] | None = None
    max_frames: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    """Of each utterance the text is cut into."""
    pace: Literal["realtime", "fast"] = "realtime"
    play: Literal["local"] | None = None
    """"local": the daemon plays it on this machine's loudspeaker, and sends no sound."""
    now: bool = False
    """With `play`: interrupt what plays there, and go before those who wait."""


class Text(ClientMessage, frozen=True, tag="text"):
    """The next piece of a context's text; it may end within a word."""

    context: ContextId
    text: str
    sequence: Annotated[int, Meta(ge=0, lt=1 << 53)] | None = None
    """Comes back in `text.ack` once the text is taken."""


class Flush(ClientMessage, frozen=True, tag="flush"):
    """Speak what is there; more may follow."""

    context: ContextId


class EndOfText(ClientMessage, frozen=True, tag="end"):
    """No more text will come."""

    context: ContextId


class Cancel(ClientMessage, frozen=True, tag="cancel"):
    """Be silent at once."""

    context: ContextId


class Describe(ClientMessage, frozen=True, tag="describe"):
    """Say `ready` again."""


class Authorise(ClientMessage, frozen=True, tag="authorise"):
    """The first message of a client that could not put its token into a header."""

    token: Annotated[str, Meta(max_length=4096)]

    def __repr__(self) -> str:
        """Without the token."""
        return "Authorise(token=...)"


AnyClientMessage = ContextStart | Text | Flush | EndOfText | Cancel | Describe | Authorise


class ServerMessage(Part, frozen=True, tag_field="type"):
    """Base of what the server says."""


class FormatOffer(Part, frozen=True):
    """One encoding, and the rates it comes in."""

    encoding: str
    media_type: str
    sample_rates: list[int]
    """Hertz; two numbers with `any_rate` are the ends of a range."""
    any_rate: bool


class Limits(Part, frozen=True):
    """What one socket may hold."""

    message_bytes: int
    contexts: int
    text_characters: int
    """Of one context, over its life."""
    flushes: int
    """Of one context, not yet answered."""
    context_idle_s: float
    """A context that gets no text for so long, and has none left to speak, is ended."""


class Ready(ServerMessage, frozen=True, tag="ready"):
    """Said first, and in answer to `describe`."""

    protocol: str
    session: str
    voices: list[str]
    languages: list[str]
    formats: list[FormatOffer]
    limits: Limits
    frame_ms: Milliseconds


class ContextStarted(ServerMessage, frozen=True, tag="context.started"):
    """The context is open."""

    context: str
    number: int
    """Stands in the header of its blocks."""
    encoding: str
    sample_rate: int


class TextAck(ServerMessage, frozen=True, tag="text.ack"):
    """The text with this number is taken."""

    context: str
    sequence: int


class Flushed(ServerMessage, frozen=True, tag="flushed"):
    """All sound of the text before a `flush` was sent."""

    context: str


class Playback(ServerMessage, frozen=True, tag="playback"):
    """How it goes with a context that is played here."""

    context: str
    state: PlaybackState
    at_ms: Milliseconds
    """When, by this machine's monotonic clock; "playing": the first sample is in the device."""
    device: str | None
    """Known once it plays."""


class ContextDone(ServerMessage, frozen=True, tag="context.done"):
    """The last word of a context; its id may be used again."""

    context: str
    outcome: Outcome
    frames: int
    audio_ms: Milliseconds
    """Sound that was sent."""
    first_audio_ms: Milliseconds | None
    """From the context's first text to its first block; played here, to its first sample in the device."""
    engine_ms: Milliseconds
    """Computing time."""
    underruns: int
    """Times the sound came too late for a listener who plays at once."""


class Error(ServerMessage, frozen=True, tag="error"):
    """Something was refused or failed."""

    context: str | None
    code: str
    message: str


AnyServerMessage = Ready | ContextStarted | TextAck | Flushed | Playback | ContextDone | Error

_client_decoder: Final[msgspec.json.Decoder[AnyClientMessage]] = msgspec.json.Decoder(AnyClientMessage)
_server_decoder: Final[msgspec.json.Decoder[AnyServerMessage]] = msgspec.json.Decoder(AnyServerMessage)
_encoder: Final = msgspec.json.Encoder()
_CLIENT_TYPES: Final[dict[str, type[ClientMessage]]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyClientMessage)
}
_PARTS: Final[dict[str, type[Part]]] = {"format": Format, "sampling": SamplingWishes}


def parse_client(data: str | bytes) -> AnyClientMessage:
    """One client message. Raises `ProtocolError`."""
    try:
        return _client_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise explain(data, error, _CLIENT_TYPES, _PARTS) from None


def parse_server(data: str | bytes) -> AnyServerMessage:
    """One server message, for clients. Raises `ProtocolError`."""
    try:
        return _server_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProtocolError("bad_json", f"not a message of {PROTOCOL}: {error}") from None


def print_message(message: AnyClientMessage | AnyServerMessage) -> str:
    """A message as it goes over the wire."""
    return _encoder.encode(message).decode()
