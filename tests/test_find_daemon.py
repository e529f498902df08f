"""Which daemon `speak` takes for its own: where it looks, whom it leaves alone, for how long it waits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from app import client_places
from app.daemon_client import find_daemon
from app.small_websocket import SmallWebSocket, WebSocketClosedError
from app.socket_path import client_paths, server_path
from tests.daemon_rig import ServedFakeEngine, play, serving, settings
from tests.test_daemon_client import bundle, connected, socket, wishes

__all__ = ["bundle", "socket"]  # fixtures


def test_another_model_is_not_taken_for_ours(socket: Path, bundle: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other/manifest.json").write_text('{"other": 1}')
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        assert await find_daemon(wishes(bundle)) is None, "nobody listens"
        async with serving(config, ServedFakeEngine()):
            assert await find_daemon(wishes(tmp_path / "other")) is None
            (await connected(wishes(bundle))).close()

    play(scenario())


def test_a_stranger_on_the_socket_is_left_alone(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        async def stranger(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_unix_server(stranger, socket)
        assert await find_daemon(wishes(bundle)) is None
        with pytest.raises(WebSocketClosedError):
            await SmallWebSocket.open(socket, "/", "x")
        server.close()

    play(scenario())


def test_a_daemon_that_does_not_answer_in_time_is_not_kept_waiting(
    socket: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.daemon_client._PATIENCE_S", 0.1)

    async def scenario() -> None:
        left = asyncio.Event()

        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            left.set()
            writer.close()

        async def no_greeting(connection: ServerConnection) -> None:
            await connection.wait_closed()
            left.set()

        def name_the_model(_connection: ServerConnection, _request: Request, response: Response) -> None:
            response.headers[client_places.MODELS_HEADER] = client_places.fingerprint(str(bundle))

        protocols = [Subprotocol(client_places.PROTOCOL)]
        async with await asyncio.start_unix_server(mute, socket):
            assert await find_daemon(wishes(bundle)) is None
            await asyncio.wait_for(left.wait(), 10)
        left.clear()
        socket.unlink(missing_ok=True)
        async with unix_serve(no_greeting, str(socket), subprotocols=protocols, process_response=name_the_model):
            assert await find_daemon(wishes(bundle)) is None
            await asyncio.wait_for(left.wait(), 10)

    play(scenario())


def test_places() -> None:
    assert server_path("") is None
    assert server_path("/x/y.sock") == Path("/x/y.sock")
    assert server_path("auto", {"RUNTIME_DIRECTORY": "/run/speakd:/run/b"}) == Path("/run/speakd/speakd.sock")
    assert server_path("auto", {"XDG_RUNTIME_DIR": "/run/user/1"}) == Path("/run/user/1/speakd.sock")
    own = server_path("auto", {})
    assert own in client_paths({})
    assert client_paths({"XDG_RUNTIME_DIR": "/run/user/1"})[0] == Path("/run/user/1/speakd.sock")
    assert client_paths({})[-1] == Path("/run/speakd/speakd.sock")
    assert client_paths({"SPEAKD_SOCKET": ""}) == []
    assert client_places.fingerprint("/nowhere") == ""
