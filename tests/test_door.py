"""The first bytes of a connection: answered at once, handed on, or waited for in vain."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import cast

import pytest
from websockets.asyncio.server import Server, ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.server import ServerProtocol

from app.config import Config
from app.door import DoorConnection, door
from app.gate import RESERVE, Gate
from app.websocket_frames import handshake
from tests.daemon_rig import ServedFakeEngine, play, serving, settings, turn_until


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.state = "open"

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered here."""


@pytest.fixture
def handed_on(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What reaches websockets: an empty message for the beginning, then every piece."""
    seen: list[bytes] = []
    monkeypatch.setattr(ServerConnection, "connection_made", lambda _, __: seen.append(b""))
    monkeypatch.setattr(ServerConnection, "data_received", lambda _, data: seen.append(data))
    return seen


def knock(gate: Gate, silence_s: float = 60.0) -> tuple[DoorConnection, Wire]:
    """A new connection; /health is always well."""

    def well() -> Response:
        return Response(HTTPStatus.OK, "OK", Headers({"Content-Length": "4"}), b"well")

    connection = door(gate, {"/health": well}, silence_s)(ServerProtocol(), cast("Server", None))
    wire = Wire()
    connection.connection_made(wire)
    return connection, wire


def test_a_whole_get_is_answered_as_it_is_read(handed_on: list[bytes]) -> None:
    async def scenario() -> None:
        gate = Gate(Config())
        connection, wire = knock(gate)
        connection.data_received(b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n")
        assert wire.written.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nServer: speakd\r\n" in wire.written
        assert wire.written.endswith(b"\r\n\r\nwell")
        assert wire.state == "closed"
        connection.connection_lost(None)
        assert gate.connections == 0
        assert not handed_on

    play(scenario())


@pytest.mark.parametrize("first", [b"GET /other HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.1\r\nHost:", b"\x16\x03\x01"])
def test_anything_else_is_handed_on(handed_on: list[bytes], first: bytes) -> None:
    async def scenario() -> None:
        connection, wire = knock(Gate(Config()))
        connection.data_received(first)
        connection.data_received(b"more\r\n\r\n")
        assert handed_on == [b"", first, b"more\r\n\r\n"]
        assert not wire.written

    play(scenario())


def test_who_has_spoken_once_may_be_silent(handed_on: list[bytes]) -> None:
    async def scenario() -> None:
        (_, silent), (speaking, wire) = (knock(Gate(Config()), silence_s=0.0) for _ in range(2))
        speaking.data_received(b"GET /v1/speak HTTP/1.1\r\n")
        for _ in range(3):
            await asyncio.sleep(0)
        assert (silent.state, wire.state) == ("aborted", "open")

    play(scenario())


def test_nothing_of_a_post_is_handed_on(handed_on: list[bytes]) -> None:
    async def scenario() -> None:
        connection, wire = knock(Gate(Config()))
        connection.data_received(b"POST / HTTP/1.1\r\n\r\n{}")
        assert (wire.written[:13], wire.state, handed_on) == (b"HTTP/1.1 405 ", "closed", [])

    play(scenario())


def test_a_websocket_whose_client_has_no_more_to_say_is_closed() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
            writer.write(handshake("/v1/speak", "speakd.v1", b"MDEyMzQ1Njc4OWFiY2RlZg=="))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
            writer.write_eof()
            assert b'"type":"ready"' in await reader.read()
            writer.close()
            await turn_until(lambda: daemon.services.gate.connections == 0)

    play(scenario())


def test_far_too_many_are_cut_off(handed_on: list[bytes]) -> None:
    async def scenario() -> None:
        gate = Gate(settings(limits={"sockets": 1}))
        wires = [knock(gate)[1] for _ in range(RESERVE + 2)]
        assert [wire.state for wire in wires] == ["open"] * (RESERVE + 1) + ["aborted"]
        assert not handed_on

    play(scenario())


def test_who_says_nothing_or_hangs_up_is_gone() -> None:
    async def scenario() -> None:
        async with serving(settings(limits={"handshake_s": 0.2}), ServedFakeEngine()) as daemon:
            gate, port = daemon.services.gate, daemon.server.port
            silent, silent_writer = await asyncio.open_connection("127.0.0.1", port)
            brief, brief_writer = await asyncio.open_connection("127.0.0.1", port)
            await turn_until(lambda: gate.connections == 2)
            brief_writer.write_eof()
            assert await brief.read() == b""
            assert await silent.read() == b""
            silent_writer.close()
            brief_writer.close()
            await turn_until(lambda: gate.connections == 0)

    play(scenario())


def test_a_get_in_pieces() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
            writer.write(b"GET /health HTTP/1.1\r\nHo")
            await turn_until(lambda: daemon.services.gate.connections == 1)
            writer.write(b"st: here\r\n\r\n")
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"\r\nServer: speakd\r\n" in answer
            writer.close()

    play(scenario())


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/voices", "/", "/nowhere"])
def test_a_head_has_the_head_of_the_answer_alone(path: str) -> None:
    """Monitors ask so; RFC 9110, 9.3.2."""

    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            answers = []
            for method in ("GET", "HEAD"):
                reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
                writer.write(f"{method} {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
                answers.append(await reader.read())
                writer.close()
            head, separator, body = answers[0].partition(b"\r\n\r\n")
            assert answers[1] == head + separator
            assert f"Content-Length: {len(body)}".encode() in head

    play(scenario())


@pytest.mark.parametrize("path", ["/metrics", "/v1/voices", "/", "/health"])
def test_a_get_whose_client_has_no_more_to_say(path: str) -> None:
    """As `printf ... | nc -N` sends it."""

    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            writer.write_eof()
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
            writer.close()
            await turn_until(lambda: daemon.services.gate.connections == 0)

    play(scenario())


def test_who_posts_hears_what_to_do_instead() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
            writer.write(b'POST /v1/speak HTTP/1.1\r\nHost: here\r\nContent-Length: 13\r\n\r\n{"text":"Hi"}')
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 405 ")
            assert b"\r\nAllow: GET\r\n" in answer
            assert b"WebSocket at /v1/speak" in answer
            writer.close()
            await turn_until(lambda: daemon.services.gate.connections == 0)

    play(scenario())
