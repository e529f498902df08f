"""The first bytes of a connection: counted, and where they ask how the daemon is, answered in the same turn.

Purpose: `door` makes the class of the server's connections. A GET or HEAD for /health or /ready that came whole is
answered as it is read; whatever else comes is websockets' to deal with. That library takes four more turns for a GET,
each behind everyone whose sound is due: 50 clients with long texts, nothing else running, p99 5.6 ms. Knows:
transports, the first line of a request. Does not know: WebSockets, other pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Response

from app.gate import Gate
from app.http_pages import problem

AtOnce = Mapping[str, Callable[[], Response]]
"""Answers that need no more than the path."""
SERVER: Final = "speakd"
_END: Final = b"\r\n\r\n"
_GET: Final = b"GET "
_HEAD: Final = b"HEAD "
"""Handed on as a GET: websockets 16 knows no other, and 17 sends the body too."""
_SENDING: Final = (b"POST ", b"PUT ", b"PATCH ", b"DELETE ")
"""A body behind a request is a broken frame to websockets, which hangs up without a word."""


class DoorConnection(ServerConnection):
    """Begins its life as a WebSocket's connection only when a first message calls for one; see `door`."""

    gate: Gate
    at_once: Mapping[bytes, Callable[[], Response]]
    silence_s: float
    """How long a client may say nothing at all."""
    head_only = False
    """The client wants no body."""
    _silent: asyncio.TimerHandle | None = None
    _begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is open; it is cut off where there are far too many."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.gate.connections += 1
        if self.gate.connections > self.gate.most_connections:
            transport.abort()
        else:
            self._silent = self.loop.call_later(self.silence_s, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Answer, or hand the connection on."""
        if not self._begun:
            self._stop_waiting()
            if data.startswith(_HEAD):
                self.head_only, data = True, _GET + data[len(_HEAD) :]
            answer = self.at_once.get(data.partition(b"\r\n")[0])
            if answer is not None and data.endswith(_END):
                self._answer(answer())
                return
            if data.startswith(_SENDING):
                reason = "speech is asked for through a WebSocket at /v1/speak (docs/protocol.md); all else here is GET"
                self._answer(problem(HTTPStatus.METHOD_NOT_ALLOWED, reason, {"Allow": "GET"}))
                return
            self._begun = True
            super().connection_made(self.transport)
        super().data_received(data)

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The client has said all it wanted to; one that asked for a page may still read it."""
        if not self._begun:
            return None
        page = self.request is not None and self.response is None and "Upgrade" not in self.request.headers
        if page and self.transport.can_write_eof():  # TLS has no half-closed connections
            return True
        super().eof_received()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is closed."""
        self._stop_waiting()
        self.gate.connections -= 1
        if self._begun:
            super().connection_lost(exc)

    def _answer(self, response: Response) -> None:
        response.headers["Server"] = SERVER
        if self.head_only:
            response.body = b""
        self.transport.write(response.serialize())
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None


def door(gate: Gate, at_once: AtOnce, silence_s: float) -> type[DoorConnection]:
    """The class of a server's connections. `at_once`: answers by path; `silence_s`: for the first byte to come."""
    lines = {f"GET {path} HTTP/1.1".encode(): answer for path, answer in at_once.items()}
    return type("Door", (DoorConnection,), {"gate": gate, "at_once": lines, "silence_s": silence_s})
