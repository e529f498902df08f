"""Contexts whose writer says nothing for long: what they hold is spoken, then they are ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from app import client_places
from app.loudspeaker import Loudspeaker
from app.socket_sink import SocketSink
from tests.daemon_rig import Client, ServedFakeEngine, frames, play, serving, settings, turn_until
from tests.playback_place import Place, is_sine, make_place, stretches

READY = {"type": "ready", "limits": {"text_characters": 1000, "message_bytes": 65536}}
STARTED = {"type": "context.started", "context": "speak"}
IDLE: tuple[dict[str, object], ...] = (
    {"type": "error", "context": "speak", "code": "idle", "message": "no text came"},
    {"type": "context.done", "context": "speak", "outcome": "error", "frames": 0},
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return make_place(tmp_path, monkeypatch)


@contextlib.asynccontextmanager
async def in_the_daemons_place(
    place: Place, handler: Callable[[ServerConnection], Awaitable[None]]
) -> AsyncIterator[None]:
    """A socket that looks as if a daemon with the place's voice were behind it."""
    model = client_places.fingerprint(str(place.root / "voice"))

    def name_the_model(_connection: ServerConnection, _request: Request, response: Response) -> None:
        response.headers[client_places.MODELS_HEADER] = model

    protocols = [Subprotocol(client_places.PROTOCOL)]
    async with unix_serve(handler, str(place.socket), subprotocols=protocols, process_response=name_the_model):
        yield


def test_a_context_left_alone_is_ended() -> None:
    async def scenario() -> None:
        config = settings(limits={"context_idle_s": 0.1})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a")
            await client.until("context.done")
            assert client.heard["a"].of("error")[0]["code"] == "idle"

    play(scenario())


def test_text_that_comes_while_an_idle_context_ends_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        ending, may_end = asyncio.Event(), asyncio.Event()

        async def abort(_sink: SocketSink) -> None:
            ending.set()
            await may_end.wait()

        monkeypatch.setattr(SocketSink, "abort", abort)
        config = settings(limits={"context_idle_s": 0.05})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a")
            await client.say("text", "a", text="a.", sequence=1)
            await ending.wait()
            await client.say("text", "a", text="bc.", sequence=2)
            await client.say("describe")
            await client.until("ready", 2)
            heard = client.heard["a"]
            assert [message["code"] for message in heard.of("error")] == ["idle", "context_ended"], "told at once"
            may_end.set()
            await client.until("context.done")
            assert [message["sequence"] for message in heard.of("text.ack")] == [1]
            assert len(heard.of("error")) == 2
            assert (heard.done["outcome"], heard.sound) == ("error", frames(1))

    play(scenario())


def test_what_an_idle_context_holds_is_spoken() -> None:
    async def scenario() -> None:
        config = settings(limits={"context_idle_s": 0.1}, server={"slots": 1})
        engine = ServedFakeEngine(hold=True)
        async with serving(config, engine) as daemon, Client(daemon) as client:
            began = time.monotonic()
            await client.speak("a", "abc.")
            await turn_until(lambda: engine.started)
            engine.hold = False
            for name, text in (("b", "ab. cde"), ("c", "d.")):
                await client.say("context.start", name, pace="fast")
                await client.say("text", name, text=text)
            await turn_until(lambda: time.monotonic() > began + 0.3)
            engine.started[0].sound(3)
            engine.started[0].end()
            await client.until("context.done", 3)
            assert [client.heard[name].sound for name in "abc"] == [frames(3), frames(2, 3), frames(1)]
            assert [client.heard[name].of("error")[0]["code"] for name in "bc"] == ["idle", "idle"]

    play(scenario())


def test_who_waits_for_the_loudspeaker_is_not_idle(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        idle_s = 0.1
        async with (
            place.daemon(engine, limits={"context_idle_s": idle_s}) as daemon,
            Client(daemon, unix=str(place.socket)) as client,
        ):
            async with Loudspeaker(None, now=False):
                for name, text in (("a", "ab"), ("b", "cde.")):
                    await client.say("context.start", name, play="local")
                    await client.say("text", name, text=text)
                waited_from = time.monotonic()
                await turn_until(lambda: time.monotonic() > waited_from + 4 * idle_s)
            await client.until("context.done", 2)
            for name, count in (("a", 2), ("b", 3)):
                heard = client.heard[name]
                assert heard.of("error")[0]["code"] == "idle", "it was not told that the text is complete"
                assert "playing" in {message["state"] for message in heard.of("playback")}
                assert heard.done["audio_ms"] == 80 * count
        assert is_sine(stretches(place.played())[-1], 3)  # the device was opened anew for it

    play(scenario())


def test_a_context_that_ends_as_idle_while_the_text_ends_is_no_reason_to_wait(place: Place) -> None:
    """The daemon's side is played here: its last words cross those of `speak`."""

    async def crossing(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            kind = json.loads(message)["type"]
            if kind == "context.start":
                await connection.send(json.dumps(STARTED))
            for end in IDLE if kind == "end" else ():
                await connection.send(json.dumps(end))

    async def scenario() -> None:
        async with in_the_daemons_place(place, crossing), place.speak(stdin=asyncio.subprocess.PIPE) as speak:
            await speak.communicate(b"Hello.")
            assert speak.returncode == 0
        assert place.whole is None

    play(scenario())


def test_text_that_comes_while_an_idle_context_ends_goes_into_the_next(place: Place) -> None:
    """The daemon's side is played here: its two last words come one by one, and text in between."""
    error, done = IDLE
    said: list[str] = []
    left_alone = asyncio.Event()
    written = asyncio.Event()

    async def slow(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            kind = json.loads(message)["type"]
            said.append(kind)
            if kind == "context.start":
                await connection.send(json.dumps(STARTED))
            elif said == ["context.start", "text"]:
                await connection.send(json.dumps(error))
                await (await connection.ping())
                left_alone.set()
                await written.wait()
                await (await connection.ping())  # it looks at both, and finds the text
                await (await connection.ping())
                await connection.send(json.dumps(done))
            elif kind == "end":
                await connection.send(json.dumps({**done, "outcome": "end"}))

    async def scenario() -> None:
        async with in_the_daemons_place(place, slow), place.speak(stdin=asyncio.subprocess.PIPE) as speak:
            assert speak.stdin is not None
            speak.stdin.write(b"Hello. ")
            await left_alone.wait()
            speak.stdin.write(b"And more.")
            written.set()
            await turn_until(lambda: said.count("text") == 2)
            speak.stdin.close()
            assert await speak.wait() == 0
        assert said == ["context.start", "text", "context.start", "text", "end"]

    play(scenario())


def test_a_next_context_that_is_refused_ends_the_run(place: Place) -> None:
    """The daemon's side is played here: it is full, or its loudspeaker gone, when the writer has thought for long."""
    full = {"type": "error", "context": "speak", "code": "busy", "message": "64 contexts are open"}
    unknown = {"type": "error", "context": "speak", "code": "unknown_context", "message": "no such context is open"}
    said: list[str] = []

    async def refusing(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            said.append(json.loads(message)["type"])
            first: dict[str, list[Any]] = {"context.start": [STARTED], "text": [*IDLE]}
            answers = [full] if said == ["context.start", "text", "context.start"] else first.get(said[-1], [])
            for answer in answers if len(said) <= 3 else [unknown]:
                await connection.send(json.dumps(answer))
            if len(said) == 2:
                await (await connection.ping())
                left_alone.set()

    left_alone = asyncio.Event()

    async def scenario() -> None:
        async with in_the_daemons_place(place, refusing), place.speak(stdin=asyncio.subprocess.PIPE) as speak:
            assert speak.stdin is not None
            speak.stdin.write(b"Hello. ")
            await left_alone.wait()
            _, error = await speak.communicate(b"And more.")
            assert (speak.returncode, error) == (1, b"speak: 64 contexts are open\n")
        assert place.whole is None

    play(scenario())


def test_a_pipe_that_pauses_goes_on(place: Place) -> None:
    async def scenario() -> None:
        async with (
            place.daemon(engine := ServedFakeEngine(), limits={"context_idle_s": 0.05}) as daemon,
            place.speak(stdin=asyncio.subprocess.PIPE) as speak,
        ):
            assert speak.stdin is not None
            for count, letters in enumerate((2, 5), 1):
                await turn_until(lambda: daemon.services.gate.contexts == 0)
                speak.stdin.write(b"a" * letters + b".")
                await turn_until(partial(lambda count: len(engine.started) == count, count))
                await turn_until(lambda: daemon.services.gate.contexts == 0)
            speak.stdin.close()
            assert await speak.wait() == 0
        assert [len(utterance.ids) for utterance in engine.started] == [2, 5]
        assert is_sine(stretches(place.played())[-1], 5)

    play(scenario())
