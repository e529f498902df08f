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

from engines.errors import SpeechError

_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_ACCEPT_KEY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST_BYTES: Final = 1 << 24
"""Of one message; the daemon's blocks are far smaller."""


class WebSocketClosedError(SpeechError):
    """The other side has closed."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the daemon closed the connection ({code}{': ' if reason else ''}{reason})")
        self.code: Final = code


class SmallWebSocket:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str] | None = None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.headers: Final = headers or {}
        """Of the handshake's answer, by their names in small letters."""

    @classmethod
    async def open(cls, path: Path, target: str, subprotocol: str) -> SmallWebSocket:
        """Connect. Raises `OSError` where nobody listens, `WebSocketClosedError` where we are not wanted."""
        reader, writer = await asyncio.open_unix_connection(path, limit=_MOST_BYTES)
        key = base64.b64encode(os.urandom(16))
        writer.write(
            f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {subprotocol}\r\n"
            f"Sec-WebSocket-Key: {key.decode()}\r\n\r\n".encode()
        )
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.close()
            raise WebSocketClosedError(1006, "no handshake") from None
        status, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        accept = base64.b64encode(hashlib.sha1(key + _ACCEPT_KEY).digest()).decode()
        if " 101 " not in status or headers.get("sec-websocket-accept") != accept:
            writer.close()
            raise WebSocketClosedError(1006, status)
        return cls(reader, writer, headers)

    async def send(self, text: str) -> None:
        """Send a text message; waits while the daemon is slow. Raises `WebSocketClosedError`."""
        try:
            self._write(_TEXT, text.encode())
            await self._writer.drain()
        except ConnectionError:
            raise WebSocketClosedError(1006, "") from None

    async def receive(self) -> str | bytes:
        """Wait for the next message. Raises `WebSocketClosedError`."""
        while True:
            try:
                kind, payload = await self._read()
            except (asyncio.IncompleteReadError, ConnectionError):
                raise WebSocketClosedError(1006, "it is gone") from None
            if kind == _TEXT:
                return payload.decode()
            if kind == _BINARY:
                return payload
            if kind == _PING:
                self._write(_PONG, payload)
            elif kind == _CLOSE:
                code = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1005
                raise WebSocketClosedError(code, payload[2:].decode(errors="replace"))

    def close(self) -> None:
        """Say goodbye and hang up; idempotent."""
        if not self._writer.is_closing():
            self._write(_CLOSE, (1000).to_bytes(2, "big"))
            self._writer.close()

    async def _read(self) -> tuple[int, bytes]:
        first, second = await self._reader.readexactly(2)
        length = second & 0x7F
        if length >= 126:
            length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8), "big")
        if first & 0xF0 != 0x80 or second & 0x80 or length > _MOST_BYTES:
            raise WebSocketClosedError(1002, "a frame that our daemon does not send")
        return first & 0x0F, await self._reader.readexactly(length)

    def _write(self, kind: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes([0x80 | kind, 0x80 | size])
        elif size < 1 << 16:
            head = bytes([0x80 | kind, 0x80 | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | kind, 0x80 | 127]) + size.to_bytes(8, "big")
        key = os.urandom(4)
        mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
        self._writer.write(head + key + (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big"))
