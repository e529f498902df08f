"""One context's life, without a socket: it ends once, says how, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from app import text_stream
from app.config import PlaybackConfig
from app.context import ContextReport, OpenLocal, SpeakingContext
from app.context_plan import plan
from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.listening import ListenerLeftError
from app.local_sink import LocalLoudspeaker, LocalSink
from app.messages import ContextStart
from app.pools import Pools
from app.text_piece import TextPiece
from app.voices import VoiceModel, VoiceTable
from engines.contract import End
from tests.daemon_rig import LetterFrontEnd, LetterReader, ServedFakeEngine, play, settings, turn_until
from tests.silent_player import SilentPlayer
from tests.test_executor import Gate


@dataclass(eq=False)
class World:
    """What a context stands on; its blocks are kept."""

    engine: ServedFakeEngine = field(default_factory=ServedFakeEngine)
    reader: LetterReader = field(default_factory=LetterReader)
    waiting: int = 8
    now: float = 100.0
    step_s: float = 0.0
    """What it takes to send a block."""

    def __post_init__(self) -> None:
        self.text = BoundedExecutor("text", workers=1, max_waiting=self.waiting)
        self.client = EngineClient(self.engine, max_active=1, max_waiting=0)
        self.model = VoiceModel("bundle", self.engine, self.reader, self.client)
        self.blocks: list[bytes] = []
        self.left = False

    def context(self, open_local: OpenLocal | None = None, **wishes: Any) -> SpeakingContext:
        planned = plan(ContextStart(context="a", pace="fast", **wishes), VoiceTable([self.model]))
        pools = Pools(text=self.text, audio=self.text)
        return SpeakingContext(planned, settings(), pools, self._send, self, open_local, clock=lambda: self.now)

    async def _send(self, data: bytes, samples: int, last: bool) -> None:
        if self.left:
            raise ListenerLeftError("the client has left")
        self.now += self.step_s
        self.blocks.append(data)

    def nothing_is_left(self) -> bool:
        return (self.model.users, self.client.active, len(self.reader.streams)) == (0, 0, 0)


class SlowReader(LetterReader):
    """Opens a front end when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def front_end(self, language: str) -> LetterFrontEnd:
        self.gate()
        return super().front_end(language)


def local(loudspeaker: LocalLoudspeaker) -> OpenLocal:
    def open_local(*, interrupt: Callable[[], None]) -> LocalSink:
        return LocalSink(loudspeaker, 24000, now=False, interrupt=interrupt, tell=lambda *_: None)

    return open_local


def test_a_context_that_ran_says_what_came_of_it() -> None:
    async def scenario() -> None:
        world = World(step_s=0.5)
        context = world.context()
        context.feed("abc. de.")
        context.end()
        world.now += 2.0
        report = await context.run()
        assert (report.outcome, report.error, report.segments, report.frames) == (End.END, None, 2, 5)
        assert (report.characters, report.audio_ms, report.first_audio_ms) == (8, 400.0, 2000.0)
        assert report.wall_ms == 2000.0 + 500.0 * len(world.blocks)
        assert world.nothing_is_left()

    play(scenario())


def test_a_context_cancelled_before_it_began_spends_nothing() -> None:
    async def scenario() -> None:
        world = World()
        context = world.context()
        context.feed("abc.")
        context.cancel()
        report = await context.run()
        assert (report.outcome, report.segments, report.first_audio_ms) == (End.CANCELLED, 0, None)
        assert world.engine.started == []
        assert world.nothing_is_left()

    play(scenario())


def test_a_context_cancelled_while_its_text_rules_open_ends_at_once_and_leaves_none_open() -> None:
    async def scenario() -> None:
        reader = SlowReader()
        world = World(reader=reader)
        context = world.context()
        running = asyncio.ensure_future(context.run())
        await asyncio.to_thread(reader.gate.entered.wait, 30)
        context.cancel()
        report = await running
        assert (report.outcome, report.frames) == (End.CANCELLED, 0)
        assert context.buffered_s == 0.0
        reader.gate.open.set()
        await turn_until(lambda: world.text.statistics().active == 0)
        assert world.nothing_is_left()

    play(scenario())


def test_the_place_at_the_loudspeaker_is_given_back_by_a_context_that_never_sounded() -> None:
    async def scenario() -> None:
        reader = SlowReader()
        world, loudspeaker = World(reader=reader), LocalLoudspeaker(PlaybackConfig(), SilentPlayer())
        context = world.context(local(loudspeaker))
        running = asyncio.ensure_future(context.run())
        await asyncio.to_thread(reader.gate.entered.wait, 30)
        assert not loudspeaker.line.free
        context.cancel()
        assert (await running).outcome is End.CANCELLED
        assert loudspeaker.line.free
        reader.gate.open.set()
        await turn_until(lambda: world.text.statistics().active == 0)
        assert world.nothing_is_left()

    play(scenario())


def test_first_audio_counts_from_the_first_text_though_others_are_read_before() -> None:
    async def scenario() -> None:
        reader = SlowReader()
        world = World(reader=reader)
        context = world.context()
        context.feed("")
        world.now += 5.0
        context.feed("ab")
        context.end()
        speaking = asyncio.ensure_future(context.run())
        await asyncio.to_thread(reader.gate.entered.wait, 30)
        world.now += 0.25
        reader.gate.open.set()
        assert (await speaking).first_audio_ms == 250.0

    play(scenario())


def test_first_audio_of_what_is_played_here_is_its_first_sample_in_the_device() -> None:
    async def scenario() -> None:
        world = World()
        context = world.context(local(LocalLoudspeaker(PlaybackConfig(), SilentPlayer(at_s=100.25))))
        context.feed("abc.")
        context.end()
        assert (await context.run()).first_audio_ms == 250.0

    play(scenario())


def test_a_listener_who_left_is_no_error_and_the_engine_stops() -> None:
    async def scenario() -> None:
        world = World(engine=ServedFakeEngine(hold=True))
        context = world.context()
        context.feed("abc.")
        running = asyncio.ensure_future(context.run())
        await turn_until(lambda: world.engine.started)
        world.left = True
        world.engine.started[0].sound(2)
        report = await running
        assert (report.outcome, report.error) == (End.CANCELLED, None)
        assert world.engine.started[0].cancelled
        assert world.nothing_is_left()

    play(scenario())


def test_a_listener_who_left_before_sound_that_was_all_made_is_no_error_either() -> None:
    async def scenario() -> None:
        world = World()
        world.left = True
        context = world.context()
        context.feed("abc.")
        context.end()
        report = await context.run()
        assert (report.outcome, report.error, report.frames) == (End.CANCELLED, None, 3)
        assert world.nothing_is_left()

    play(scenario())


def test_sound_that_waits_is_counted() -> None:
    async def scenario() -> None:
        world = World(engine=ServedFakeEngine(hold=True))
        context = world.context()
        assert context.buffered_s == 0.0
        context.feed("abc.")
        running = asyncio.ensure_future(context.run())
        await turn_until(lambda: world.engine.started)
        world.engine.started[0].sound(2)
        assert np.isclose(context.buffered_s, 0.16)
        context.cancel()
        await running

    play(scenario())


@pytest.mark.parametrize("full", ["engine", "text"])
def test_what_is_full_is_told_as_busy(full: str) -> None:
    async def scenario() -> None:
        world, gate, errors = World(waiting=0), Gate(), list[ContextReport]()
        if full == "engine":
            await world.client.start(plan(ContextStart(context="b"), VoiceTable([world.model])).request)
        else:
            world.text.submit(gate)
        context = world.context()
        context.feed("abc.")
        context.end()
        errors.append(await context.run())
        gate.open.set()
        assert errors[0].outcome is End.ERROR
        assert errors[0].error is not None
        assert errors[0].error.code == "busy"

    play(scenario())


class PiecewiseFrontEnd(LetterFrontEnd):
    """Gives what it has at once, as for voices that read while they speak."""

    def feed(self, text: str) -> list[TextPiece]:
        return [TextPiece(ids=tuple(map(ord, text)), ends_segment=False, text=text, span=(0, 0))]

    def finish(self) -> list[TextPiece]:
        return [TextPiece(ids=(), ends_segment=True, text="", span=(0, 0))]


class PiecewiseReader(LetterReader):
    def front_end(self, language: str) -> LetterFrontEnd:
        return PiecewiseFrontEnd()


def test_a_writer_who_pauses_within_a_sentence_gives_the_place_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of them kept everybody else from being heard until they were ended as idle."""
    monkeypatch.setattr(text_stream, "_YIELD_S", 0.02)

    async def scenario() -> None:
        world = World(reader=PiecewiseReader())
        world.client = world.model.client = EngineClient(world.engine, max_active=1, max_waiting=1)
        loop = asyncio.get_running_loop()
        contexts = [world.context(), world.context()]
        runs = [asyncio.ensure_future(context.run()) for context in contexts]
        contexts[0].feed("ab")
        await turn_until(lambda: world.engine.started)
        alone_until = loop.time() + 0.1
        await turn_until(lambda: loop.time() > alone_until)
        assert not world.engine.started[0].text_ended, "nobody waits"
        contexts[1].feed("c")
        contexts[1].end()
        assert (await runs[1]).frames == 1
        contexts[0].feed("de")
        contexts[0].end()
        assert (await runs[0]).frames == 4
        assert [len(utterance.ids) for utterance in world.engine.started] == [2, 1, 2]

    play(scenario(), 20.0)
