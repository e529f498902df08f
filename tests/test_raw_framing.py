"""Raw framing at a live socket: nothing but sound, and a close that says the rest."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
import websocket
from websockets.exceptions import ConnectionClosed

from app.protocol import SpeechProtocol
from tests.daemon_rig import Client, ServedFakeEngine, frames, play, serving, settings
from tests.test_protocol import LIMITS, refusal


def test_raw_framing_is_sound_only_and_ends_the_socket() -> None:
    async def scenario() -> None:
        async with (
            serving(settings(), ServedFakeEngine()) as daemon,
            Client(daemon, query="?framing=raw", subprotocols=None) as client,
        ):
            lines = [
                {"type": "context.start", "context": "a", "pace": "fast"},
                {"type": "text", "context": "a", "text": "abc"},
                {"type": "end", "context": "a"},
            ]
            await client.ws.send("".join(json.dumps(line) + "\n" for line in lines).encode())
            sound = b""
            with pytest.raises(ConnectionClosed) as closed:  # noqa: PT012
                while True:
                    block = await client.ws.recv()
                    assert isinstance(block, bytes)
                    sound += block
            assert sound == frames(3)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "end")

    play(scenario())


def test_a_client_of_another_make_gets_sound() -> None:
    """websocket-client shares no code with the library that the daemon is built on."""

    def listen(port: int | None) -> bytes:
        url = f"ws://127.0.0.1:{port}/v1/speak?framing=raw"
        socket = websocket.create_connection(url, timeout=30)
        try:
            return exchange(socket)
        finally:
            socket.shutdown()  # type: ignore[no-untyped-call]

    def exchange(socket: websocket.WebSocket) -> bytes:
        for line in (
            {"type": "context.start", "context": "a", "format": {"encoding": "wav"}},
            {"type": "text", "context": "a", "text": "abc"},
            {"type": "end", "context": "a"},
        ):
            socket.send(json.dumps(line))
        sound = b""
        while (found := socket.recv_data())[0] == websocket.ABNF.OPCODE_BINARY:
            sound += found[1]
        assert found[0] == websocket.ABNF.OPCODE_CLOSE
        return sound

    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            sound = await asyncio.to_thread(listen, daemon.server.port)
        assert sound[:4] == b"RIFF"
        assert sound[44:] == frames(3)

    play(scenario())


def test_raw_framing_says_what_is_wrong_in_the_close() -> None:
    async def scenario() -> None:
        async with (
            serving(settings(), ServedFakeEngine()) as daemon,
            Client(daemon, query="?framing=raw") as client,
        ):
            await client.ws.send('{"type":"context.start","context":"a","voice":"eve"}')
            assert await client.until_closed() == 1008
            assert "ada, bob" in (client.ws.close_reason or "")

    play(scenario())


def test_raw_framing_refuses_a_broken_text_message_without_waiting_for_a_line_end() -> None:
    protocol = SpeechProtocol(LIMITS, raw=True)
    [line] = protocol.messages('{"type": "text", ')
    assert refusal(protocol.receive(line)).code == "bad_json"


def test_raw_framing_takes_a_line_that_is_nested_too_deep_for_broken() -> None:
    """Deeper than any Python reads: 3.14 goes as deep as its stack has room, which is some ten thousand levels."""
    levels = 500_000
    limits = msgspec.structs.replace(LIMITS, message_bytes=8 * levels)
    protocol = SpeechProtocol(limits, raw=True)
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    assert protocol.messages(deep) == []
    [line] = protocol.messages(b"\n")
    assert refusal(protocol.receive(line)).code == "bad_json"
