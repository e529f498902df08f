"""The quick path's way to a daemon: a WebSocket over a Unix socket, without what takes long to import.

Purpose: `find_daemon`, which gives a `Talk` with a daemon that has the model we mean. Like `quick` it imports only what
a bare interpreter has or finds in no time. Knows: Unix sockets, messages as bytes. Does not know: what is wished for,
in which order messages come.
"""

from __future__ import annotations

import _socket
import os
from binascii import b2a_base64

from app import client_places, websocket_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CONTEXT = "speak"
_READ_BYTES = 65536
_PATIENCE_S = 1.0
"""A daemon that does not greet us by then is not waited for."""


class Unable(Exception):  # noqa: N818
    """This is for the whole command to do, or to explain; nothing was heard, and no text was read."""


def find_daemon(fingerprint: str) -> Talk:
    """A daemon with this model. Raises `Unable`."""
    for path in client_places.client_sockets():
        try:
            talk = Talk(path)
        except (OSError, ValueError):
            continue
        if client_places.has_model(talk.headers, fingerprint):
            return talk
        talk.close()
    raise Unable


def frame(kind: str, fields: str = "") -> bytes:
    """A message about our one context."""
    message = f'{{"type":"{kind}","context":"{_CONTEXT}"{fields}}}'
    return websocket_frames.client_frame(websocket_frames.TEXT, message.encode())


class Talk:
    """A WebSocket to a daemon."""

    def __init__(self, path: str) -> None:
        """Raises `OSError` or `ValueError` where nobody is there who knows us."""
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        self.socket.settimeout(_PATIENCE_S)
        self.socket.connect(path)
        key = b2a_base64(os.urandom(16), newline=False)
        self.socket.sendall(websocket_frames.handshake(client_places.SPEAK_PATH, client_places.PROTOCOL, key))
        self._held = bytearray()
        while (end := self._held.find(b"\r\n\r\n")) < 0:
            self._take(ValueError("no handshake"))
        status, self.headers = websocket_frames.parse_head(bytes(self._held[:end]))
        del self._held[: end + 4]
        if " 101 " not in status:
            raise ValueError(status)
        self.socket.settimeout(None)

    def ask(self) -> None:
        """Have `ready` said again. Raises `Unable` where the daemon has gone."""
        self.send(websocket_frames.client_frame(websocket_frames.TEXT, b'{"type":"describe"}'))

    def send(self, data: bytes) -> None:
        """Raises `Unable` where the daemon has gone."""
        try:
            self.socket.sendall(data)
        except OSError:
            raise Unable from None

    def hear(self) -> Iterator[dict[str, Any]]:
        """Wait for something, and take apart what came. Raises `Unable` when the daemon closes."""
        import json  # takes as long as the daemon needs to answer; by now it is at work

        self._take(Unable())
        while (taken := websocket_frames.take_frame(self._held)) is not None:
            kind, payload = taken
            if kind == websocket_frames.TEXT:
                yield json.loads(payload)
            elif kind == websocket_frames.PING:
                self.send(websocket_frames.client_frame(websocket_frames.PONG, payload))
            elif kind == websocket_frames.CLOSE:
                raise Unable

    def close(self) -> None:
        """Hang up; the daemon falls silent."""
        self.socket.close()

    def _take(self, at_end: Exception) -> None:
        try:
            data = self.socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if not data:
            raise at_end
        self._held += data
