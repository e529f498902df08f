"""A session with everything around it fake: a front end of letters, a sink that keeps what it gets, an engine of sines.

Purpose: what tests of runs of speech stand on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.session import SessionReport, SpeechSession
from app.text_piece import TextPiece
from engines.contract import Pcm, SpeechRequest
from tests.fake_engine import FakeEngine


class FakeFrontEnd:
    """One id for each letter; a dot ends the segment; what follows the last space waits for more."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, text: str) -> list[TextPiece]:
        self.held += text
        *sentences, self.held = self.held.split(".")
        return [self.piece(sentence, ends=True) for sentence in sentences]

    def early(self) -> list[TextPiece]:
        words, space, self.held = self.held.rpartition(" ")
        return [self.piece(words, ends=False)] if space else []

    def finish(self) -> list[TextPiece]:
        rest, self.held = self.held, ""
        return [self.piece(rest, ends=True)] if rest else []

    @staticmethod
    def piece(text: str, *, ends: bool) -> TextPiece:
        ids = tuple(ord(letter) for letter in text if letter != " ")
        return TextPiece(ids=ids, ends_segment=ends, text=text, span=(0, 0))


@dataclass
class ListSink:
    """Keeps what it gets, and how it ended."""

    blocks: list[Pcm] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    fail: Exception | None = None
    full: asyncio.Event | None = None

    async def write(self, pcm: Pcm) -> None:
        if self.fail is not None:
            raise self.fail
        self.blocks.append(pcm)
        if self.full is not None:
            await self.full.wait()

    async def finish(self) -> None:
        self.ended.append("finish")

    async def stop(self) -> None:
        self.ended.append("stop")

    async def abort(self) -> None:
        self.ended.append("abort")

    @property
    def sound(self) -> Pcm:
        return np.concatenate([np.empty(0, np.float32), *self.blocks])


async def texts(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


@dataclass
class Run:
    """A session with everything around it fake but the session itself."""

    engine: FakeEngine = field(default_factory=FakeEngine)
    sink: ListSink = field(default_factory=ListSink)
    request: SpeechRequest = field(default_factory=lambda: SpeechRequest(seed=7))
    max_active: int = 1

    def __post_init__(self) -> None:
        self.pool = BoundedExecutor("text", workers=1, max_waiting=4)
        self.client = EngineClient(self.engine, max_active=self.max_active, max_waiting=0)
        self.session = SpeechSession(
            client=self.client,
            front_end=FakeFrontEnd(),
            executor=self.pool,
            sink=self.sink,
            request=self.request,
        )

    async def speak(self, *pieces: str) -> SessionReport:
        try:
            return await self.session.run(texts(*pieces))
        finally:
            self.pool.shutdown()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


async def until(reached: Any) -> None:
    """Let the loop turn until something holds; the test's own time limit bounds it."""
    while not reached():
        await asyncio.sleep(0)
