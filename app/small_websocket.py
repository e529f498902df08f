"""The client's side of a WebSocket over a Unix socket, as much of it as our own daemon needs.

Purpose: let `speak` talk to the daemon without loading a library that takes longer to import than the first sound takes
to come. Messages are whole (the daemon does not cut them); pings are answered. Knows: RFC 6455's frames. Does not know:
what is said.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from pathlib import Path
from typing import Final

from app import websocket_frames as frames
from engines.errors import SpeechError

_ACCEPT_KEY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ_BYTES: Final = 1 << 16


class WebSocketClosedError(SpeechError):
    """The other side has closed."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the daemon closed the connection ({code}{': ' if reason else ''}{reason})")
        self.code: Final = code


class SmallWebSocket:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
        self._reader = reader
        self._writer = writer
        self._held = bytearray()
        """What came and was not yet taken."""
        self.headers: Final = headers
        """Of the handshake's answer, by their names in small letters."""
        self.greeting: str | bytes = b""
        """The first message, kept for whoever talks on by whoever took it."""

    @classmethod
    async def open(cls, path: Path, target: str, subprotocol: str) -> SmallWebSocket:
        """Connect. Raises `OSError` where nobody listens, `WebSocketClosedError` where we are not wanted."""
        reader, writer = await asyncio.open_unix_connection(path, limit=frames.MOST_BYTES)
        key = base64.b64encode(os.urandom(16))
        writer.write(frames.handshake(target, subprotocol, key))
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.close()
            raise WebSocketClosedError(1006, "no handshake") from None
        except BaseException:  # whoever asked waits no longer
            writer.close()
            raise
        status, headers = frames.parse_head(head)
        accept = base64.b64encode(hashlib.sha1(key + _ACCEPT_KEY).digest()).decode()
        if " 101 " not in status or headers.get("sec-websocket-accept") != accept:
            writer.close()
            raise WebSocketClosedError(1006, status)
        return cls(reader, writer, headers)

    async def send(self, text: str) -> None:
        """Send a text message; waits while the daemon is slow. Raises `WebSocketClosedError`."""
        try:
            self._write(frames.TEXT, text.encode())
            await self._writer.drain()
        except ConnectionError:
            raise WebSocketClosedError(1006, "") from None

    async def receive(self) -> str | bytes:
        """Wait for the next message. Raises `WebSocketClosedError`."""
        while True:
            try:
                kind, payload = await self._read()
            except ConnectionError:
                raise WebSocketClosedError(1006, "it is gone") from None
            if kind == frames.TEXT:
                return payload.decode()
            if kind == frames.BINARY:
                return payload
            if kind == frames.PING:
                self._write(frames.PONG, payload)
            elif kind == frames.CLOSE:
                raise WebSocketClosedError(*frames.close_reason(payload))

    def close(self) -> None:
        """Say goodbye and hang up; idempotent."""
        if not self._writer.is_closing():
            self._write(frames.CLOSE, (1000).to_bytes(2, "big"))
            self._writer.close()

    async def _read(self) -> tuple[int, bytes]:
        try:
            while (frame := frames.take_frame(self._held)) is None:
                data = await self._reader.read(_READ_BYTES)
                if not data:
                    raise WebSocketClosedError(1006, "it is gone")
                self._held += data
        except ValueError as error:
            raise WebSocketClosedError(1002, str(error)) from None
        return frame

    def _write(self, kind: int, payload: bytes) -> None:
        self._writer.write(frames.client_frame(kind, payload))
