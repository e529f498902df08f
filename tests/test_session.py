"""A run of speech: order, overlap without a gap, seeds, failures, and stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

from app.session import all_codes, segment_seed
from app.sink import SinkError
from engines.contract import End, Layout, SpeechRequest
from engines.errors import RequestError, SpeechError
from tests.fake_engine import INFO, FakeEngine, sine
from tests.session_rig import ListSink, Run, run, until


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


def test_a_layout_that_was_wished_for_stays() -> None:
    async def scenario() -> None:
        this = Run(request=SpeechRequest(layout=Layout.WHOLE))

        async def written() -> AsyncIterator[str]:
            yield "c "
            await until(lambda: this.engine.started and this.engine.started[0].ids)
            yield "d."

        await this.session.run(written())
        this.pool.shutdown()
        assert [utterance.request.layout for utterance in this.engine.started] == [Layout.WHOLE]

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
