"""Sound on its way out: blocks, pace, and the account of gaps, on a clock the test turns."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from app.audio_format import choose
from app.executor import BoundedExecutor
from app.listening import Listening
from app.sink import to_pcm16
from app.socket_sink import SocketSink
from tests.daemon_rig import play
from tests.fake_engine import sine

RATE = 24000


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_gaps_are_counted_but_not_those_of_the_text() -> None:
    clock = Clock()
    heard = Listening(clock)
    heard.text_came()
    heard.sent(0.5)
    clock.now += 0.4
    assert abs(heard.lead_s() - 0.1) < 1e-9
    heard.sent(0.5)
    assert heard.underruns == 0
    clock.now += 0.8
    heard.sent(0.1)
    assert heard.underruns == 1
    assert abs(heard.gap_s - 0.2) < 1e-9
    clock.now += 5.0
    heard.text_came()
    clock.now += 0.1
    heard.sent(0.1)
    assert (heard.underruns, round(heard.worst_gap_s, 3), round(heard.audio_s, 3)) == (1, 0.2, 1.2)


def test_text_that_comes_while_the_listener_has_sound_excuses_no_gap() -> None:
    clock = Clock()
    heard = Listening(clock)
    heard.sent(0.5)
    clock.now += 0.25
    heard.text_came()
    assert heard.lead_s() == 0.25
    clock.now += 0.5
    heard.sent(0.5)
    assert (heard.underruns, heard.gap_s) == (1, 0.25)


def test_a_block_that_comes_as_the_last_one_ends_is_in_time() -> None:
    clock = Clock()
    heard = Listening(clock)
    for _ in range(3):
        heard.sent(0.5)
        clock.now += 0.5
    assert (heard.underruns, heard.last_block_at) == (0, 101.0)


def test_times_between_blocks_are_kept_of_the_first_thousand() -> None:
    clock = Clock()
    heard = Listening(clock)
    for _ in range(1010):
        heard.sent(0.5)
        clock.now += 0.25
    assert heard.block_gaps_s == [0.25] * 1000


def sink_into(
    sent: list[tuple[bytes, int, bool]],
    block_ms: int,
    encoding: str = "pcm_s16le",
    rate: int = RATE,
    clock: Clock | None = None,
    ahead_ms: int | None = None,
) -> SocketSink:
    async def send(data: bytes, samples: int, last: bool) -> None:
        sent.append((data, samples, last))

    pool = BoundedExecutor("audio", workers=1, max_waiting=8)
    now = clock or asyncio.get_running_loop().time
    return SocketSink(choose(encoding, rate, RATE), pool, send, now, block_ms=block_ms, ahead_ms=ahead_ms)


def test_blocks_are_short_and_whole() -> None:
    async def scenario() -> None:
        sent: list[tuple[bytes, int, bool]] = []
        sink = sink_into(sent, 100)
        await sink.write(sine(3))
        await sink.write(sine(0))
        await sink.finish()
        assert b"".join(data for data, _, _ in sent) == to_pcm16(sine(3)).tobytes()
        assert [samples for _, samples, _ in sent] == [2400, 2400, 960, 0]
        assert [last for _, _, last in sent] == [False, False, False, True]

    play(scenario())


@pytest.mark.parametrize("encoding", ["pcm_s16le", "wav", "flac", "opus"])
def test_a_context_without_sound_has_its_last_block_too(encoding: str) -> None:
    async def scenario() -> None:
        sent: list[tuple[bytes, int, bool]] = []
        sink = sink_into(sent, 100, encoding)
        assert sink.active_at == 0.0
        await sink.finish()
        [(data, samples, last)] = sent
        assert (samples, last) == (0, True)
        assert data[:4] == {"pcm_s16le": b"", "wav": b"RIFF", "flac": b"fLaC", "opus": b"OggS"}[encoding]

    play(scenario())


def test_only_the_last_block_may_be_empty() -> None:
    async def scenario() -> None:
        for encoding, rate in (("flac", RATE), ("pcm_s16le", 8000)):
            sent: list[tuple[bytes, int, bool]] = []
            sink = sink_into(sent, 10, encoding, rate)
            await sink.write(sine(3))
            assert all(data for data, _, _ in sent), encoding

    play(scenario())


def test_samples_add_up_at_another_rate() -> None:
    async def scenario() -> None:
        for encoding in ("pcm_s16le", "opus", "flac"):
            sent: list[tuple[bytes, int, bool]] = []
            sink = sink_into(sent, 70, encoding, 16000)
            await sink.write(sine(7))
            await sink.finish()
            assert sum(samples for _, samples, _ in sent) == 7 * 1280
            assert sent[-1][2]

    play(scenario())


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 48000])
@pytest.mark.parametrize(("encoding", "width", "header"), [("pcm_s16le", 2, 0), ("mulaw", 1, 0), ("wav", 2, 44)])
def test_a_block_counts_the_samples_it_holds(encoding: str, width: int, header: int, rate: int) -> None:
    """At another rate the filter holds some back, and gives more of it with one block than with the next."""

    async def scenario() -> None:
        sent: list[tuple[bytes, int, bool]] = []
        sink = sink_into(sent, 80, encoding, rate)
        await sink.write(sine(11))
        await sink.finish()
        held = [len(data) // width for data, _, _ in sent]
        held[0] -= header // width
        assert [samples for _, samples, _ in sent] == held
        assert np.isclose(sink.listening.audio_s, sum(held) / rate)
        assert abs(sum(held) - 0.88 * rate) < 1

    play(scenario())


def test_what_the_filter_holds_is_no_gap_where_the_end_of_the_text_was_late() -> None:
    async def scenario() -> None:
        sent: list[tuple[bytes, int, bool]] = []
        clock = Clock()
        sink = sink_into(sent, 80, rate=8000, clock=clock)
        await sink.write(sine(1))
        clock.now += 5.0
        await sink.finish()
        assert sent[-1][1] > 0
        assert sink.listening.underruns == 0

    play(scenario())


def test_a_real_time_listener_is_never_far_behind_or_ahead() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        sent: list[tuple[bytes, int, bool]] = []
        sink = sink_into(sent, 40, ahead_ms=100)
        began = loop.time()
        await sink.write(sine(5))
        took = loop.time() - began
        assert took >= 0.4 - 0.1 - 0.04 - 0.01
        assert sink.listening.underruns == 0

    play(scenario())


def test_after_stop_nothing_is_left() -> None:
    async def scenario() -> None:
        sent: list[tuple[bytes, int, bool]] = []
        sink = sink_into(sent, 40, "flac")
        await sink.write(sine(1))
        count = len(sent)
        await sink.stop()
        await sink.abort()
        assert len(sent) == count
        assert np.isclose(sink.listening.audio_s, 0.08) or sink.listening.audio_s == 0.0

    play(scenario())
