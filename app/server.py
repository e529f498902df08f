"""The daemon's doors: a TCP port and a Unix socket, WebSockets and GET on both.

Purpose: accept, judge and route what comes in; keep the deadlines of those inside; end in good order. Knows:
websockets, addresses, close codes. Does not know: messages (`connection`), speech, systemd, signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import structlog
from websockets.asyncio.server import Server, ServerConnection, serve, unix_serve
from websockets.exceptions import NegotiationError
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from app import socket_file
from app.client_places import MODELS_HEADER, PROTOCOL, SPEAK_PATH
from app.connection import FULL, NOT_AUTHORISED, RESTARTING, TRY_LATER, Connection
from app.door import SERVER, DoorConnection, door
from app.http_pages import GUARDED, Sources, answer, at_once, problem, target
from app.services import Services

_ONCE: Final = ("Host", "Origin", "Authorization")
"""Headers that decide who may come in."""
_CHECK_S: Final = 1.0
_CLOSE_S: Final = 2.0
"""How long a client may take to answer a close frame."""
_LEAVE_S: Final = 0.4
"""The same, when the daemon ends."""
_LINGER_S: Final = 0.2
"""After that, for connections that are cut off."""
_log: Final = structlog.stdlib.get_logger("speakd")


class SpeakServer:
    """Listens, from `open` until `close`."""

    def __init__(self, services: Services, sources: Sources) -> None:
        self._services = services
        self._sources = sources
        self._servers: list[Server] = []
        self._connections: set[Connection] = set()
        self._work: list[asyncio.Task[None]] = []
        self._unix: Path | None = None
        self._made: os.stat_result | None = None
        """The socket's file as it was made; by now another may have the name."""
        self.port: int | None = None
        """The TCP port, once it is open."""

    def ring_levels_s(self) -> list[float]:
        """Sound that waits for its listener, of every context, seconds."""
        return [level for connection in self._connections for level in connection.buffered_s]

    async def open(self, unix: Path | None, tls: ssl.SSLContext | None) -> None:
        """Begin to listen. Raises `OSError`."""
        config, services = self._services.config, self._services
        options: dict[str, Any] = {
            "process_request": self._judge,
            "process_response": self._introduce,
            "create_connection": door(services.gate, at_once(self._sources), config.limits.handshake_s),
            "select_subprotocol": _choose_subprotocol,
            "compression": None,
            "max_size": config.limits.message_bytes,
            "max_queue": 4,
            "write_limit": config.limits.write_buffer_bytes,
            "open_timeout": config.limits.handshake_s,
            "close_timeout": _CLOSE_S,
            "ping_interval": None,  # a reader that is merely slow would look dead: see Connection.check
            "server_header": SERVER,
        }
        secure: dict[str, Any] = {} if tls is None else {"ssl": tls, "ssl_handshake_timeout": config.limits.handshake_s}
        server = await serve(self._serve, config.server.host, config.server.port, **secure, **options)
        self._servers.append(server)
        self.port = next(iter(server.sockets)).getsockname()[1]
        if unix is not None:
            await self._open_unix(unix, options)
            self._work.append(asyncio.ensure_future(self._keep_unix(unix, options)))
        self._work.append(asyncio.ensure_future(self._check()))

    async def _open_unix(self, unix: Path, options: dict[str, Any]) -> None:
        """Make the Unix socket. Raises `OSError`."""
        try:
            await asyncio.to_thread(socket_file.clear, unix)
            self._servers.append(await unix_serve(self._serve, str(unix), **options))
        except OSError as error:  # the system's own words often do not say where
            if str(unix) in str(error):
                raise
            raise OSError(f"no socket can be made at '{unix}': {error.strerror or error}") from error
        self._unix = unix
        self._made = await asyncio.to_thread(unix.stat)
        await self.guard_unix()

    async def guard_unix(self) -> None:
        """Leave the Unix socket as open as the loopback is; to be called again when the guard is another."""
        if self._unix is not None:
            await asyncio.to_thread(self._unix.chmod, 0o660 if self._services.guard.wants_token else 0o666)

    async def close(self, grace_s: float) -> None:
        """Refuse newcomers, let what is being spoken end within `grace_s`, then send everyone away, saying why."""
        self._services.gate.closing = True
        loop = asyncio.get_running_loop()
        until = loop.time() + grace_s
        leaving: dict[Connection, asyncio.Task[None]] = {}
        while True:
            late = loop.time() >= until
            for connection in self._connections:
                if connection not in leaving and (late or not connection.speaking):
                    leaving[connection] = asyncio.ensure_future(connection.send_home())
            if late or self._connections <= leaving.keys():
                break
            await asyncio.sleep(min(0.05, max(until - loop.time(), 0.0)))
        if leaving:
            await asyncio.wait(leaving.values(), timeout=_LEAVE_S)
        for connection in leaving:
            connection.hang_up()
        for task in self._work:
            task.cancel()
        for server in self._servers:
            server.close(code=RESTARTING, reason="the daemon is restarting")
        waiting = [asyncio.ensure_future(server.wait_closed()) for server in self._servers]
        if waiting:
            await asyncio.wait(waiting, timeout=_LINGER_S)
        if self._unix is not None and self._made is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(socket_file.remove, self._unix, self._made)

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _judge(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a GET, or let a WebSocket in."""
        services = self._services
        path, query = target(request)
        for name in _ONCE:
            if len(request.headers.get_all(name)) > 1:
                return problem(HTTPStatus.BAD_REQUEST, f"send one {name} header")
        if path != SPEAK_PATH:
            authorised = services.guard.knows_header(request.headers.get("Authorization"))
            if path in GUARDED and not authorised and not _is_unix(connection):
                services.metrics.refused("not_authorised")
                header = {"WWW-Authenticate": "Bearer"}
                return problem(HTTPStatus.UNAUTHORIZED, "show the token: Authorization: Bearer ...", header)
            response = await answer(path, self._sources)
            if isinstance(connection, DoorConnection) and connection.head_only:
                response.body = b""
            return response
        if not services.guard.allows_origin(request.headers.get("Origin"), request.headers.get("Host")):
            services.metrics.refused("origin")
            return problem(HTTPStatus.FORBIDDEN, "this page's origin may not connect; add it to security.origins")
        if _framing(query) not in {"raw", "blocks"}:
            return problem(HTTPStatus.BAD_REQUEST, "framing must be 'blocks' or 'raw'")
        return None

    def _introduce(self, connection: ServerConnection, _request: Request, response: Response) -> None:
        """Tell whoever comes through the Unix socket which models are here, so that `speak` knows its own."""
        voices = self._services.voices
        if voices is not None and _is_unix(connection):
            response.headers[MODELS_HEADER] = ",".join(model.fingerprint for model in voices.models)

    async def _serve(self, websocket: ServerConnection) -> None:
        """One WebSocket's life."""
        services, address, local = self._services, _address(websocket), _is_unix(websocket)
        request = websocket.request
        if request is None or services.gate.closing:
            await websocket.close(RESTARTING, "the daemon is restarting")
            return
        if services.voices is None:
            await websocket.close(TRY_LATER, "the voices are being opened; try again in a few seconds")
            return
        refusal = services.gate.enter_socket(address)
        if refusal is not None:
            services.metrics.refused("full")
            await websocket.close(FULL, refusal)
            return
        try:
            shown = request.headers.get("Authorization")
            authorised = local or services.guard.knows_header(shown)
            if shown is not None and not authorised:
                services.metrics.refused("not_authorised")
                await websocket.close(NOT_AUTHORISED, "this is not the token")
                return
            _bound_send_buffer(websocket, services.config.limits.write_buffer_bytes)
            raw = _framing(target(request)[1]) == "raw"
            connection = Connection(websocket, services, services.voices, raw=raw, authorised=authorised, local=local)
            self._connections.add(connection)
            try:
                await connection.run()
            finally:
                self._connections.discard(connection)
        finally:
            services.gate.leave_socket(address)

    async def _check(self) -> None:
        """Once a second: the deadlines of everyone inside. Nobody could be heard while this process stood still."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _CHECK_S
            await asyncio.sleep(_CHECK_S)
            away_s = loop.time() - due
            for connection in list(self._connections):
                if away_s > _CHECK_S:
                    connection.excuse(away_s)
                sent_away = connection.check()
                if sent_away is not None:
                    self._services.metrics.refused(sent_away)

    async def _keep_unix(self, unix: Path, options: dict[str, Any]) -> None:
        """Make the Unix socket again where its file was removed: nobody can find it any more. Who is inside stays."""
        complained = False
        while True:
            await asyncio.sleep(_CHECK_S)
            if self._services.gate.closing or not await asyncio.to_thread(socket_file.is_gone, unix):
                continue
            for server in self._servers[1:]:
                server.server.close()  # first: as it closes it may remove what has its name
            del self._servers[1:]
            try:
                await self._open_unix(unix, options)
            except OSError as error:
                if not complained:
                    _log.error("the Unix socket's file was removed, and cannot be made again", error=str(error))
                complained = True
            else:
                _log.warning("the Unix socket's file was removed; it was made again", socket=str(unix))
                complained = False


def _choose_subprotocol(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """Ours if it is offered; a shell's client offers none, and that is well too."""
    if offered and PROTOCOL not in offered:
        raise NegotiationError(f"offer the subprotocol {PROTOCOL}, or none")
    return Subprotocol(PROTOCOL) if offered else None


def _framing(query: str) -> str:
    return parse_qs(query).get("framing", ["blocks"])[-1]


def _is_unix(connection: ServerConnection) -> bool:
    """Whether somebody comes through the Unix socket; its file's permissions have judged them."""
    sock = connection.transport.get_extra_info("socket")
    return sock is not None and sock.family == socket.AF_UNIX


def _address(connection: ServerConnection) -> str:
    peer = connection.remote_address
    return str(peer[0]) if isinstance(peer, tuple) and peer else "unix"


def _bound_send_buffer(connection: ServerConnection, size: int) -> None:
    """Keep the kernel from taking minutes of sound for a client that does not read."""
    sock = connection.transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
