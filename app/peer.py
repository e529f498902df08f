"""The other end of one WebSocket: what it says, what it takes, and when it last did either.

Purpose: the few things done with a socket, each in one place: read, send, ping, close, cut. Knows: websockets. Does not
know: messages, deadlines (the connection's).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from app.listening import ListenerLeftError

_REASON_BYTES: Final = 120
"""A close frame has room for 123."""


class Peer:
    """One client, as its socket shows it; used on the loop."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self.alive_at = self.pinged_at = self._loop.time()
        """When it last said or took something, be it a pong; when it was last asked whether it is there."""
        self.busy_at = self.alive_at
        """When a message last went either way."""

    def excuse(self, away_s: float) -> None:
        """For so long nobody listened: it may have said and taken what it liked."""
        now = self._loop.time()
        self.alive_at = min(self.alive_at + away_s, now)
        self.pinged_at = min(self.pinged_at + away_s, now)
        self.busy_at = min(self.busy_at + away_s, now)

    async def hear(self) -> str | bytes | None:
        """What it says next; None when it has left."""
        try:
            said = await self._socket.recv()
        except ConnectionClosed:
            return None
        self.busy_at = self.alive_at = self._loop.time()
        return said

    async def send(self, message: str | bytes) -> None:
        """Send, and wait while the client is slow. Raises `ListenerLeftError`."""
        try:
            await self._socket.send(message)
        except ConnectionClosed:
            raise ListenerLeftError("the client has left") from None
        self.busy_at = self.alive_at = self._loop.time()

    async def ping(self) -> None:
        """Ask whether it is there; its answer counts as something said."""
        self.pinged_at = self._loop.time()
        with contextlib.suppress(ConnectionClosed):
            pong = await self._socket.ping()
            await pong
            self.alive_at = self._loop.time()

    async def close(self, code: int, reason: str) -> None:
        """Send the client away; returns when the closing handshake is over or has taken too long."""
        await self._socket.close(code, reason.encode()[:_REASON_BYTES].decode(errors="ignore"))

    def cut(self) -> None:
        """End the connection without a word."""
        self._socket.transport.abort()

    def hang_up(self) -> None:
        """End the connection of a client that does not answer; what it can still read, it may."""
        if self._socket.transport.get_write_buffer_size():
            self.cut()
        else:
            self._socket.transport.close()
