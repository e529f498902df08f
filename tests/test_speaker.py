"""Live playback: the sink's own thread against a device made of values."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config import PlaybackConfig
from app.devices import describe_failure
from app.kept_audio import KeptAudio
from app.playback_buffer import PlaybackBuffer, Playhead
from app.player import Player
from app.player_wire import Cut, End, Ended, FromPlayer, Play, pack, pack_sound
from app.sink import SinkError, to_pcm16
from app.speaker import SpeakerSink
from tests.audio_world import find_in
from tests.daemon_rig import turn_until
from tests.fake_engine import sine
from tests.fake_sound import FakeStream, FakeSystem

RATE = 24000
_WAIT_S = 30.0


def speaker(system: FakeSystem, **settings: Any) -> SpeakerSink:
    return SpeakerSink(RATE, PlaybackConfig(**settings), system=lambda: system)


async def write_frames(sink: SpeakerSink, frames: int) -> None:
    for number in range(frames):
        await sink.write(sine(1, number))


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def test_every_sample_is_written_and_pushed_out() -> None:
    async def scenario() -> None:
        system = FakeSystem()
        sink = speaker(system, lead_in_ms=10, tail_ms=100)
        await write_frames(sink, 40)
        await sink.finish()
        played = system.stream.samples
        assert np.array_equal(played[240 : 240 + 40 * 1920], to_pcm16(sine(40)))
        assert not played[:240].any()
        assert not played[240 + 40 * 1920 :].any()
        assert len(played) == 240 + 40 * 1920 + 984 + 2400, "silence pushes the last sample out of the device"
        assert system.stream.stopped
        assert system.stream.closed
        assert sink.statistics().written_samples == 40 * 1920
        assert sink.statistics().device == "fake"
        await sink.stop()

    run(scenario())


@pytest.mark.parametrize("channels", [1, 2])
def test_resamples_to_what_the_device_can_do(channels: int) -> None:
    soxr = pytest.importorskip("soxr")

    async def scenario() -> None:
        system = FakeSystem(FakeStream(channels=channels), rates=(48000,))
        sink = speaker(system, lead_in_ms=0, tail_ms=0)
        await write_frames(sink, 10)
        await sink.finish()
        expected = to_pcm16(soxr.resample(sine(10), RATE, 48000))
        played = system.stream.samples.reshape(-1, channels)[: len(expected)]
        assert np.abs(played - expected[:, None].astype(np.int32)).max() <= 1
        assert sink.statistics().written_samples == len(expected) == 2 * 10 * 1920

    run(scenario())


def test_starts_when_enough_is_there_or_nothing_more_comes() -> None:
    async def scenario() -> None:
        system = FakeSystem()
        sink = speaker(system, start_ms=2000, buffer_ms=4000, lead_in_ms=0)
        await sink.write(sine(1))
        await asyncio.to_thread(lambda: None)
        assert system.stream.written == []
        await sink.finish()
        assert find_in(system.stream.samples, to_pcm16(sine(1))) == 0

    run(scenario())


def test_a_slow_device_makes_the_writer_wait() -> None:
    async def scenario() -> None:
        gate = threading.Event()
        system = FakeSystem(FakeStream(gate=gate))
        sink = speaker(system, buffer_ms=100)
        taken = 0

        async def fill() -> None:
            nonlocal taken
            for number in range(6):
                await sink.write(sine(1, number))
                taken += 1

        filling = asyncio.ensure_future(fill())
        await asyncio.wait((filling,), timeout=0.05)
        assert taken <= 3, "100 ms and a block beyond fit, and the device may hold 20 ms"
        gate.set()
        await filling
        await sink.finish()
        assert sink.statistics().written_samples == 6 * 1920

    run(scenario())


def test_stop_drops_what_is_left() -> None:
    async def scenario() -> None:
        gate = threading.Event()
        system = FakeSystem(FakeStream(gate=gate))
        sink = speaker(system)
        await sink.write(sine(20))
        stopping = asyncio.ensure_future(sink.stop())
        await asyncio.sleep(0)
        gate.set()
        await stopping
        assert len(system.stream.written) <= 1, "one block of 20 ms may have been on its way"
        assert system.stream.closed
        assert not system.stream.stopped, "stopping would play on what the device holds"

    run(scenario())


def test_a_device_that_breaks_is_named() -> None:
    async def scenario() -> None:
        system = FakeSystem(FakeStream(fail_after=3))
        sink = speaker(system, buffer_ms=100)
        with pytest.raises(SinkError, match=r"the sound device 'fake' failed \(Unanticipated host error\).*unplugged"):
            await write_frames(sink, 100)
        assert system.stream.closed
        await sink.abort()

    run(scenario())


def test_a_device_that_hangs_is_named() -> None:
    async def scenario() -> None:
        gate = threading.Event()
        sink = speaker(FakeSystem(FakeStream(gate=gate)), stall_timeout_ms=100)
        await sink.write(sine(1))
        with pytest.raises(SinkError, match=r"'fake' has taken no sound for 0\.1 s"):
            await sink.finish()
        gate.set()

    run(scenario())


def test_a_device_that_hangs_does_not_hold_up_a_stop() -> None:
    async def scenario() -> None:
        gate = threading.Event()
        sink = speaker(FakeSystem(FakeStream(gate=gate)), stall_timeout_ms=600_000)
        await sink.write(sine(1))
        await asyncio.wait_for(sink.stop(), _WAIT_S)
        assert sink.hangs
        gate.set()
        await asyncio.wait_for(sink.stop(), _WAIT_S)
        assert not sink.hangs

    run(scenario())


def test_a_player_that_is_cut_before_it_began_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    async def scenario() -> None:
        said = list[FromPlayer]()
        player = Player(PlaybackConfig(), said.append, KeptAudio(FakeSystem))
        reader = asyncio.StreamReader()
        reader.feed_data(pack(Play(number=1, sample_rate_hz=RATE, now=False)) + pack(Cut(number=1)))
        reader.feed_eof()
        await player.run(reader)
        assert [(one.number, one.how) for one in said if isinstance(one, Ended)] == [(1, "cut")]

    run(scenario())


@pytest.mark.parametrize("cut", [True, False])
def test_a_player_whose_device_hangs_says_so_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: bool
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    async def scenario() -> None:
        gate, said, left = threading.Event(), list[FromPlayer](), asyncio.Event()
        audio = KeptAudio(lambda: FakeSystem(FakeStream(gate=gate)))
        player = Player(PlaybackConfig(stall_timeout_ms=100), said.append, audio, lambda _: left.set())
        reader = asyncio.StreamReader()
        reader.feed_data(pack(Play(number=1, sample_rate_hz=RATE, now=False)) + pack_sound(sine(1)))
        running = asyncio.ensure_future(player.run(reader))
        await turn_until(lambda: player._playing and player._playing._sink and player._playing._sink._device)
        reader.feed_data(pack(Cut(number=1)) if cut else pack(End(number=1)))
        await left.wait()
        ended = said[-1]
        assert isinstance(ended, Ended)
        assert ended.how == ("cut" if cut else "failed")
        assert cut or "'fake' has taken no sound" in str(ended.error)
        gate.set()
        reader.feed_eof()
        await running

    run(scenario())


def test_a_busy_device_is_named() -> None:
    async def scenario() -> None:
        sink = speaker(FakeSystem(error=SinkError(describe_failure("fake", OSError(-9985, "Device unavailable")))))
        with pytest.raises(SinkError, match="'fake' is busy: another program holds it"):
            await sink.finish()

    run(scenario())


def test_gaps_are_counted_by_the_clock() -> None:
    now = [0.0]
    playhead = Playhead(RATE, lambda: now[0])
    playhead.starved()
    playhead.writing(2400)  # sound until 0.1
    now[0] = 0.05
    playhead.starved()
    playhead.writing(2400)  # until 0.2
    assert (playhead.underruns, playhead.gap_ms) == (0, 0.0)
    now[0] = 0.5
    playhead.starved()
    playhead.writing(2400)
    assert playhead.underruns == 1
    assert playhead.gap_ms == pytest.approx(300.0)


def test_nothing_is_a_gap_before_the_first_sound() -> None:
    async def scenario() -> None:
        clock, system = itertools.count().__next__, FakeSystem()
        sink = SpeakerSink(RATE, PlaybackConfig(lead_in_ms=0), system=lambda: system, clock=clock)
        await sink.write(sine(1))
        await sink.finish()
        assert sink.statistics().underruns == 0

    run(scenario())


@pytest.mark.parametrize("more", [0, 1])
def test_an_end_that_comes_late_is_no_gap(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    async def scenario() -> None:
        dry = threading.Event()
        wait_for = PlaybackBuffer.wait_for

        def note(buffer: PlaybackBuffer, samples: int) -> None:
            if system.stream.samples.any():
                dry.set()
            wait_for(buffer, samples)

        monkeypatch.setattr(PlaybackBuffer, "wait_for", note)
        now, system = [0.0], FakeSystem()
        sink = SpeakerSink(RATE, PlaybackConfig(), system=lambda: system, clock=lambda: now[0], eager=True)
        await sink.write(sine(2))
        await turn_until(dry.is_set)
        now[0] = 5.0
        await write_frames(sink, more)
        await sink.finish()
        assert sink.statistics().underruns == more

    run(scenario())


def test_a_reader_waits_until_as_much_is_there_as_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = PlaybackBuffer(100)
    monkeypatch.setattr(buffer._changed, "wait", lambda *_: buffer.put(sine(1)[:5]))
    buffer.wait_for(12)
    assert buffer._level == 15


def test_the_buffer_is_bounded_and_in_order() -> None:
    buffer = PlaybackBuffer(100)
    assert buffer.put(np.arange(99, dtype=np.float32))
    assert buffer.put(np.arange(99, 150, dtype=np.float32)), "there was room, so the whole block goes in"
    assert not buffer.put(np.zeros(1, np.float32))
    taken = buffer.take_nowait(60)
    assert taken is not None
    assert taken.tolist() == list(range(60))
    assert buffer.put(np.arange(150, 151, dtype=np.float32))
    buffer.end()
    rest = [buffer.take_nowait(40) for _ in range(4)]
    assert [block.tolist() for block in rest if block is not None] == [
        list(range(60, 100)),
        list(range(100, 140)),
        list(range(140, 151)),
        [],
    ]
