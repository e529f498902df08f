"""A daemon inside a test: with a fake engine whose moments the test decides, or with a real tiny model.

Purpose: `serving` opens a daemon on free doors and closes it; `Client` speaks the protocol and sorts what it hears.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect, unix_connect

from app.block import BlockHeader
from app.client_places import PROTOCOL
from app.config import Config
from app.daemon import Daemon
from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.plan_builder import MakePlanBuilder, make_plan_builder
from app.sink import to_pcm16
from app.systemd_notify import SystemdNotify
from app.text_piece import FrontEnd, TextPiece
from app.voices import VoiceModel
from engines.contract import EngineStatistics, SpeechRequest
from engines.errors import RequestError
from tests.fake_engine import FakeEngine, sine

TOKEN = "a-token-nobody-guesses"


@dataclass
class ServedFakeEngine(FakeEngine):
    """A fake engine with what a daemon asks of one."""

    busy_s: float = 0.0
    failure: str | None = None
    closed: bool = False

    def device_runs_at(self, speed: float) -> None:
        """Its speed does not matter here."""

    def check(self, request: SpeechRequest) -> None:
        """It takes three frames at once, and no more."""
        if (request.initial_codec_chunk_frames or 1) > 3:
            raise RequestError("initial_codec_chunk_frames is outside 1 to 3")

    def statistics(self) -> EngineStatistics:
        return EngineStatistics(
            slots=4,
            speaking=sum(not utterance.outcome.done() for utterance in self.started),
            waiting=0,
            step_ms=10.0,
            codec_call_ms=1.0,
            codec_frame_ms=1.0,
            busy_s=self.busy_s,
            failure=self.failure,
        )

    def close(self) -> None:
        self.closed = True
        for utterance in self.started:
            utterance.cancel()


class LetterFrontEnd:
    """One id, and so one frame, for each letter; a dot ends the segment."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, text: str) -> list[TextPiece]:
        *sentences, self.held = (self.held + text).split(".")
        return [piece for sentence in sentences for piece in self.piece(sentence)]

    def early(self) -> list[TextPiece]:
        return []

    def finish(self) -> list[TextPiece]:
        rest, self.held = self.held, ""
        return self.piece(rest)

    @staticmethod
    def piece(text: str) -> list[TextPiece]:
        ids = tuple(ord(letter) for letter in text if letter != " ")
        return [TextPiece(ids=ids, ends_segment=True, text=text, span=(0, 0))] if ids else []


class LetterReader:
    def __init__(self) -> None:
        self.streams: set[FrontEnd] = set()
        self.closed = False

    def front_end(self, language: str) -> LetterFrontEnd:
        front_end = LetterFrontEnd()
        self.streams.add(front_end)
        return front_end

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        return (1,)

    def release(self, front_end: FrontEnd) -> None:
        self.streams.discard(front_end)

    def close(self) -> None:
        self.closed = True


def fakes(*engines: ServedFakeEngine) -> Callable[..., Coroutine[Any, Any, VoiceModel]]:
    """Opens these engines, one for each bundle, in order."""
    left = iter(engines)

    async def opener(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
        engine = next(left)
        client = EngineClient(engine, max_active=config.server.slots, max_waiting=config.server.max_contexts)
        return VoiceModel(bundle, engine, LetterReader(), client)

    return opener


def settings(**sections: dict[str, Any]) -> Config:
    """A configuration on free doors."""
    tree: dict[str, dict[str, Any]] = {"server": {"port": 0, "socket": ""}}
    for name, keys in sections.items():
        tree.setdefault(name, {}).update(keys)
    return msgspec.convert(tree, Config)


@contextlib.asynccontextmanager
async def serving(
    config: Config,
    engine: ServedFakeEngine | None = None,
    *,
    notify: SystemdNotify | None = None,
    file: Path | None = None,
    opener: Any = None,
    make_builder: MakePlanBuilder = make_plan_builder,
    meanwhile: Callable[[Daemon], Coroutine[Any, Any, None]] | None = None,
) -> AsyncIterator[Daemon]:
    """A daemon that is ready; with `engine`, or on the configured bundle. `meanwhile` happens while it opens."""
    chosen = opener or (fakes(engine) if engine is not None else None)
    daemon = Daemon(config, file, notify, make_builder=make_builder, **({} if chosen is None else {"opener": chosen}))
    running = asyncio.ensure_future(daemon.run())
    if meanwhile is not None:
        await meanwhile(daemon)
    ready = asyncio.ensure_future(daemon.ready.wait())
    await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
    try:
        if running.done():
            running.result()
        yield daemon
    finally:
        ready.cancel()
        daemon.stop()
        await running


@dataclass
class Heard:
    """What a client heard of one context."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    blocks: list[tuple[BlockHeader, bytes]] = field(default_factory=list)

    @property
    def sound(self) -> bytes:
        return b"".join(payload for _, payload in self.blocks)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]

    @property
    def done(self) -> dict[str, Any]:
        [message] = self.of("context.done")
        return message


class Client:
    """One socket of a well-behaved client."""

    def __init__(
        self, daemon: Daemon, *, query: str = "", unix: str = "", name: str = "127.0.0.1", **options: Any
    ) -> None:
        options = {"compression": None, "subprotocols": [PROTOCOL], **options}
        uri = f"ws://{name}:{daemon.server.port}/v1/speak{query}"
        if name != "127.0.0.1":
            options["host"] = "127.0.0.1"
        self._opening = unix_connect(unix, uri, **options) if unix else connect(uri, **options)
        self.heard: dict[str | None, Heard] = defaultdict(Heard)
        self.order: list[str | tuple[str, int]] = []
        self.ready: dict[str, Any] = {}
        self.ws: ClientConnection
        self._names: dict[int, str] = {}

    async def __aenter__(self) -> Client:
        self.ws = await self._opening
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.ws.close()

    async def say(self, kind: str, context: str | None = None, **fields: Any) -> None:
        names = {} if context is None else {"context": context}
        await self.ws.send(json.dumps({"type": kind, **names, **fields}))

    async def speak(self, context: str, text: str, **fields: Any) -> None:
        """A whole context at once."""
        await self.say("context.start", context, **{"pace": "fast", **fields})
        await self.say("text", context, text=text)
        await self.say("end", context)

    async def hear(self) -> str:
        """Take one message; returns its type, or "audio"."""
        data = await self.ws.recv()
        if isinstance(data, bytes):
            header = BlockHeader.unpack(data)
            name = self._names[header.number]
            heard = self.heard[name]
            assert not heard.of("context.done"), "sound after the last word"
            assert header.sequence == len(heard.blocks)
            heard.blocks.append((header, data[12:]))
            self.order.append(("audio", header.number))
            return "audio"
        message = json.loads(data)
        kind = str(message["type"])
        if kind == "ready":
            self.ready = message
        if kind == "context.started":
            self.heard[message["context"]] = Heard()
            self._names[message["number"]] = message["context"]
        self.heard[message.get("context")].messages.append(message)
        self.order.append(kind)
        return kind

    async def until(self, kind: str, times: int = 1) -> None:
        """Take messages until so many of a kind have come."""
        while times:
            times -= (await self.hear()) == kind

    async def until_closed(self) -> int:
        """Take everything; the close code."""
        with contextlib.suppress(Exception):
            while True:
                await self.hear()
        await self.ws.wait_closed()
        return int(self.ws.close_code or 0)


def play(scenario: Coroutine[Any, Any, None], limit_s: float = 60.0) -> None:
    """Run a test's scenario."""
    asyncio.run(asyncio.wait_for(scenario, limit_s))


async def turn_until(reached: Callable[[], Any]) -> None:
    """Let the loop turn until something holds; the scenario's own limit bounds it."""
    while not reached():
        await asyncio.sleep(0.001)


async def get(daemon: Daemon, path: str, *, port: int | None = None, **headers: str) -> tuple[int, str, str]:
    """Status, head and body of a GET."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port or daemon.server.port)
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), head, body


def guarded(tmp_path: Path, **sections: dict[str, Any]) -> Any:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    return settings(security={"token_file": str(file)}, **sections)


def frames(*counts: int) -> bytes:
    """Sound of so many frames, each count from the beginning, as 16-bit samples."""
    return b"".join(to_pcm16(sine(count)).tobytes() for count in counts)
