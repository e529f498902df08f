"""A run of speech: order, overlap without a gap, seeds, failures, and stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.session import SessionReport, SpeechSession, all_codes, segment_seed
from app.sink import SinkError
from engines.contract import End, Layout, Pcm, SpeechRequest
from engines.errors import RequestError, SpeechError
from tests.fake_engine import INFO, FakeEngine, sine


@dataclass(frozen=True)
class TextPiece:
    ids: tuple[int, ...]
    ends_segment: bool


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
        return TextPiece(tuple(ord(letter) for letter in text if letter != " "), ends)


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


def test_segments_are_utterances_in_order() -> None:
    async def scenario() -> None:
        this = Run(request=SpeechRequest(seed=7, keep_codes=True))
        report = await this.speak("ab", "c.de", ".", "f")
        assert [len(utterance.ids) for utterance in this.engine.started] == [3, 2, 1]
        assert np.array_equal(this.sink.sound, np.concatenate([sine(3), sine(2), sine(1)]))
        assert (report.segments, report.frames, report.outcome) == (3, 6, End.END)
        assert report.samples == 6 * INFO.samples_per_frame
        assert report.compute_ms == 18.0
        assert all_codes(report, INFO.codebooks)[:, 0].tolist() == [ord(letter) for letter in "abcdef"]
        assert this.sink.ended == ["finish"]
        assert this.client.active == 0

    run(scenario())


def test_an_unfinished_sentence_is_spoken_while_it_is_written() -> None:
    async def scenario() -> None:
        this = Run()

        async def written() -> AsyncIterator[str]:
            yield "ab.c "
            await until(lambda: len(this.engine.started) == 2 and this.engine.started[1].ids)
            yield "d."

        await this.session.run(written())
        this.pool.shutdown()
        assert [utterance.request.layout for utterance in this.engine.started] == [Layout.AUTO, Layout.STREAMING]
        assert [len(utterance.ids) for utterance in this.engine.started] == [2, 2]

    run(scenario())


def test_the_next_utterance_begins_while_the_last_still_sounds() -> None:
    async def scenario() -> None:
        this = Run(sink=ListSink(full=asyncio.Event()))
        speaking = asyncio.ensure_future(this.speak("ab.cd.ef."))
        await until(lambda: len(this.engine.started) == 2)
        assert len(this.sink.blocks) == 1, "the sink has not taken more than its first block"
        assert this.sink.full is not None
        this.sink.full.set()
        await speaking
        starts = [event for event in this.engine.events if not event.startswith("feed")]
        seeds = [segment_seed(7, number) for number in range(3)]
        assert starts == [f"{what} {seed}" for seed in seeds for what in ("start", "end")]

    run(scenario())


def test_an_utterance_waits_for_the_one_before() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True), max_active=4)
        speaking = asyncio.ensure_future(this.speak("ab.cd."))
        await until(lambda: this.engine.started and this.engine.started[0].text_ended)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(this.engine.started) == 1
        this.engine.started[0].end()
        await until(lambda: len(this.engine.started) == 2 and this.engine.started[1].text_ended)
        this.engine.started[1].end()
        await speaking

    run(scenario())


def test_seeds_follow_from_the_users() -> None:
    assert segment_seed(7, 0) == 7
    drawn = [segment_seed(seed, number) for seed in range(20) for number in range(1, 20)]
    assert len(set(drawn)) == len(drawn)
    assert all(0 <= seed < 2**31 for seed in drawn)
    assert segment_seed(7, 1) == segment_seed(7, 1)


def test_no_text_is_silence() -> None:
    async def scenario() -> None:
        this = Run()
        report = await this.speak("", " ", ". .")
        assert this.engine.started == []
        assert (report.outcome, report.samples, report.first_audio_ms) == (End.END, 0, None)
        assert this.sink.ended == ["finish"]
        assert all_codes(report, 4).shape == (0, 4)

    run(scenario())


def test_the_worst_end_is_reported() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True))
        speaking = asyncio.ensure_future(this.speak("ab.cd."))
        await until(lambda: len(this.engine.started) == 1)
        this.engine.started[0].end(End.LIMIT)
        await until(lambda: len(this.engine.started) == 2)
        this.engine.started[1].end()
        assert (await speaking).outcome is End.LIMIT

    run(scenario())


def test_cancel_stops_at_once_and_keeps_what_was_spoken() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True))
        speaking = asyncio.ensure_future(this.speak("ab.cd."))
        await until(lambda: len(this.engine.started) == 1)
        this.engine.started[0].sound(1)
        await until(lambda: this.sink.blocks)
        this.session.cancel()
        this.session.cancel()
        report = await speaking
        assert report.outcome is End.CANCELLED
        assert this.engine.started[0].cancelled
        assert np.array_equal(this.sink.sound, sine(1))
        assert this.sink.ended == ["stop"]
        assert this.client.active == 0

    run(scenario())


def test_cancel_before_the_run() -> None:
    async def scenario() -> None:
        this = Run()
        this.session.cancel()
        assert (await this.speak("ab.")).outcome is End.CANCELLED
        assert this.engine.started == []
        assert this.sink.ended == ["stop"]

    run(scenario())


def test_a_lost_task_aborts_the_sink() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True))
        speaking = asyncio.ensure_future(this.speak("ab."))
        await until(lambda: len(this.engine.started) == 1)
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        assert this.sink.ended == ["abort"]
        assert this.client.active == 0

    run(scenario())


def test_engine_failure_aborts() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True))
        speaking = asyncio.ensure_future(this.speak("ab.cd."))
        await until(lambda: len(this.engine.started) == 1)
        this.engine.started[0].sound(1)
        this.engine.started[0].end(End.ERROR, "the model is mad")
        with pytest.raises(SpeechError, match="the model is mad"):
            await speaking
        assert this.sink.ended == ["abort"]

    run(scenario())


def test_a_sink_that_fails_cancels_the_utterance() -> None:
    async def scenario() -> None:
        this = Run(sink=ListSink(fail=SinkError("disk full")), engine=FakeEngine(hold=True))
        speaking = asyncio.ensure_future(this.speak("ab.cd."))
        await until(lambda: len(this.engine.started) == 1)
        this.engine.started[0].sound(1)
        with pytest.raises(SinkError, match="disk full"):
            await speaking
        assert this.engine.started[0].cancelled
        assert this.client.active == 0

    run(scenario())


def test_a_refused_request_is_raised() -> None:
    async def scenario() -> None:
        this = Run(engine=FakeEngine(refuse=RequestError("voices are: ada, bob")))
        with pytest.raises(RequestError, match="ada, bob"):
            await this.speak("ab.")
        assert this.sink.ended == ["abort"]

    run(scenario())


def test_a_failing_text_source_cancels_speech() -> None:
    async def broken() -> AsyncIterator[str]:
        yield "ab."
        raise SpeechError("not UTF-8")

    async def scenario() -> None:
        this = Run(engine=FakeEngine(hold=True))
        with pytest.raises(SpeechError, match="not UTF-8"):
            await this.session.run(broken())
        this.pool.shutdown()
        assert all(utterance.cancelled for utterance in this.engine.started)
        assert this.client.active == 0

    run(scenario())
