"""What `speak` makes of a daemon's words that cross its own, or of contexts that come to nothing.

The daemon's side is played here, so that the order is the test's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from app import client_places
from app.daemon_client import RemoteSession
from engines.contract import End, Pace
from tests.daemon_rig import play, turn_until
from tests.playback_place import Place
from tests.session_rig import ListSink
from tests.test_daemon_client import connected, wishes

LIMITS = {"text_characters": 1000, "message_bytes": 65536, "contexts": 1, "flushes": 1, "context_idle_s": 1.0}
READY = {
    "type": "ready", "protocol": "speakd.v1", "session": "x", "voices": [], "languages": [], "formats": [],
    "limits": LIMITS, "frame_ms": 80.0,
}  # fmt: skip
STARTED = {
    "type": "context.started", "context": "speak", "number": 0, "encoding": "pcm_f32le", "sample_rate": 24000
}  # fmt: skip
TAKEN = {"type": "text.ack", "context": "speak", "sequence": 0}
DONE: dict[str, object] = {
    "type": "context.done", "context": "speak", "outcome": "end", "frames": 1, "audio_ms": 80.0, "first_audio_ms": 1.0,
    "engine_ms": 1.0, "underruns": 0,
}  # fmt: skip
IDLE: tuple[dict[str, object], ...] = (
    {"type": "error", "context": "speak", "code": "idle", "message": "no text came"},
    {**DONE, "outcome": "error"},
)


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


def test_a_context_that_ends_as_idle_while_the_text_ends_is_no_reason_to_wait(place: Place) -> None:
    """Its last words cross those of `speak`."""

    async def crossing(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            kind = json.loads(message)["type"]
            answers: dict[str, list[Any]] = {"context.start": [STARTED], "text": [TAKEN], "end": [*IDLE]}
            for answer in answers[kind]:
                await connection.send(json.dumps(answer))

    async def scenario() -> None:
        async with in_the_daemons_place(place, crossing), place.speak(stdin=asyncio.subprocess.PIPE) as speak:
            await speak.communicate(b"Hello.")
            assert speak.returncode == 0
        assert place.whole is None

    play(scenario())


def test_text_that_comes_while_an_idle_context_ends_goes_into_the_next(place: Place) -> None:
    """Its two last words come one by one, and text in between."""
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
            if kind == "text":
                await connection.send(json.dumps(TAKEN))
            if said == ["context.start", "text"]:
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


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("code", ["context_ended", "unknown_context"])
def test_text_that_crosses_the_end_of_an_idle_context_is_said_in_another(place: Place, code: str, quick: bool) -> None:
    """It has given the context up when the text comes, or has forgotten it."""
    late = {"type": "error", "context": "speak", "code": code, "message": "too late"}
    said: list[str] = []

    async def ending(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            told = json.loads(message)
            if (kind := told["type"]) != "end":
                said.append(told.get("text", kind))
            answers: dict[str, list[Any]] = {"context.start": [STARTED], "text": [TAKEN], "end": [DONE]}
            if said.count("context.start") == 1:
                error, done = IDLE
                end = [error, late, done] if code == "context_ended" else [error, done, late]
                answers = {"context.start": [STARTED], "text": end, "end": [late]}
            for answer in answers[kind]:
                await connection.send(json.dumps(answer))

    async def text() -> AsyncIterator[str]:
        yield "Hello."

    async def scenario() -> None:
        async with in_the_daemons_place(place, ending):
            if quick:
                async with place.speak(stdin=asyncio.subprocess.PIPE) as speak:
                    _, complaint = await speak.communicate(b"Hello.")
                    assert (speak.returncode, complaint) == (0, b"")
            else:
                wish = wishes(place.root / "voice")
                report = await RemoteSession(await connected(wish), ListSink(), wish, 3, Pace.FAST).run(text())
                assert report.outcome is End.END
        assert said == ["context.start", "Hello.", "context.start", "Hello."]
        assert place.whole is None

    play(scenario())


@pytest.mark.parametrize(("text", "code", "said"), [("\u4f60\u597d", 1, "nothing in this text"), ("...", 0, "")])
def test_a_text_that_comes_to_nothing_is_told_where_it_had_words(place: Place, text: str, code: int, said: str) -> None:
    """Its voice has no sound for any of it."""

    async def silent(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            nothing = {**DONE, "frames": 0}
            answers = {"context.start": STARTED, "text": TAKEN, "end": nothing}
            await connection.send(json.dumps(answers[json.loads(message)["type"]]))

    async def scenario() -> None:
        async with in_the_daemons_place(place, silent), place.speak(stdin=asyncio.subprocess.PIPE) as speak:
            _, error = await speak.communicate(text.encode())
            assert (speak.returncode, said in error.decode(), bool(error)) == (code, True, bool(code))
        assert place.whole is None

    play(scenario())


def test_a_next_context_that_is_refused_ends_the_run(place: Place) -> None:
    """It is full, or its loudspeaker gone, when the writer has thought for long."""
    full = {"type": "error", "context": "speak", "code": "busy", "message": "64 contexts are open"}
    unknown = {"type": "error", "context": "speak", "code": "unknown_context", "message": "no such context is open"}
    said: list[str] = []

    async def refusing(connection: ServerConnection) -> None:
        await connection.send(json.dumps(READY))
        async for message in connection:
            said.append(json.loads(message)["type"])
            first: dict[str, list[Any]] = {"context.start": [STARTED], "text": [TAKEN, *IDLE]}
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
