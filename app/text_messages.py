"""What the daemon and its text worker say to each other, and how it goes over their socket.

Purpose: requests and answers as values; `send` and `receive` put them on a socket, each with its length in front.
Knows: msgpack, sockets. Does not know: text, who asks, what is answered.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from app.text_piece import TextPiece

MOST_BYTES: Final = 1 << 20
"""Of a message. A piece of text is some hundred characters, an instruct message some thousand."""
_LENGTH: Final = struct.Struct("<I")
Message = TypeVar("Message")


class _Message(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Base of all of them."""


class Open(_Message, frozen=True):
    """Open a bundle's front end, under a number."""

    reader: int
    bundle: str


class Begin(_Message, frozen=True):
    """A stream of text begins."""

    stream: int
    reader: int
    language: str


class Feed(_Message, frozen=True):
    """Text of a stream."""

    stream: int
    text: str


class Early(_Message, frozen=True):
    """Give what can be said of an unfinished sentence."""

    stream: int


class Finish(_Message, frozen=True):
    """Give the rest of a stream, which may go on."""

    stream: int


class Instruct(_Message, frozen=True):
    """Ids of an instruct message."""

    reader: int
    text: str


class Forget(_Message, frozen=True):
    """A stream is over."""

    stream: int


class Close(_Message, frozen=True):
    """A bundle's front end is needed no more."""

    reader: int


class Pieces(_Message, frozen=True):
    """Answer to `Feed`, `Early` and `Finish`."""

    pieces: list[TextPiece]


class Ids(_Message, frozen=True):
    """Answer to `Instruct`."""

    ids: tuple[int, ...]


class Done(_Message, frozen=True):
    """Answer to all others."""


class Failed(_Message, frozen=True):
    """It could not be done. "bundle": the bundle is at fault, and the message is for people; "internal": a trace."""

    kind: Literal["bundle", "internal"]
    message: str


Request: TypeAlias = Open | Begin | Feed | Early | Finish | Instruct | Forget | Close
Answer: TypeAlias = Pieces | Ids | Done | Failed
REQUESTS: Final[msgspec.msgpack.Decoder[Request]] = msgspec.msgpack.Decoder(Request)
ANSWERS: Final[msgspec.msgpack.Decoder[Answer]] = msgspec.msgpack.Decoder(Answer)


def send(link: socket.socket, message: Request | Answer) -> None:
    """Raises `OSError` (`TimeoutError` among them), and `ValueError` for a message that is too long."""
    data = msgspec.msgpack.encode(message)
    if len(data) > MOST_BYTES:
        raise ValueError(f"a message of {len(data)} bytes to or from the text worker; {MOST_BYTES} are the most")
    link.sendall(_LENGTH.pack(len(data)) + data)


def receive(link: socket.socket, decoder: msgspec.msgpack.Decoder[Message]) -> Message:
    """Raises `EOFError` where the other side is gone, `OSError`, and `ValueError` for what is no message."""
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes to or from the text worker; {MOST_BYTES} are the most")
    return decoder.decode(_exactly(link, length))


def _exactly(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            raise EOFError("the other side of the text worker's socket is gone")
        data += part
    return bytes(data)
