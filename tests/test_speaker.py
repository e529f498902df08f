"""Live playback: the sink's own thread against a device made of values, then real PyAudio into devices that keep what
they play, compared sample by sample, and into one that plays at the pace of real time."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config import PlaybackConfig
from app.devices import OutputDevice, StreamFormat, choose_format, describe_failure, find_device
from app.playback_buffer import PlaybackBuffer, Playhead
from app.sink import SinkError, to_pcm16
from app.speaker import SpeakerSink
from tests.audio_world import file_devices, find_in, missing_for_pacing, no_devices, paced_device, recording, run_python
from tests.fake_engine import sine

RATE = 24000
_WAIT_S = 30.0


@dataclass
class FakeStream:
    """A device that keeps what it plays; it can be made to hang or fail."""

    channels: int = 1
    written: list[bytes] = field(default_factory=list)
    fail_after: int | None = None
    gate: threading.Event | None = None
    stopped: bool = False
    closed: bool = False

    def get_write_available(self) -> int:
        return 960

    def write(self, data: bytes, frames: int) -> None:
        assert len(data) == 2 * self.channels * frames
        if self.gate is not None:
            assert self.gate.wait(_WAIT_S)
        if self.fail_after is not None and len(self.written) >= self.fail_after:
            raise OSError(-9999, "Unanticipated host error")
        self.written.append(data)

    def stop_stream(self) -> None:
        self.stopped = True

    def close(self) -> None:
        self.closed = True

    @property
    def samples(self) -> Any:
        return np.frombuffer(b"".join(self.written), np.int16)


@dataclass
class FakeSystem:
    """One device called "fake"."""

    stream: FakeStream = field(default_factory=FakeStream)
    rates: tuple[int, ...] = (24000, 48000)
    error: Exception | None = None

    def __enter__(self) -> FakeSystem:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def devices(self) -> list[OutputDevice]:
        return [OutputDevice(index=0, name="fake", channels=2, default_rate_hz=48000, is_default=True)]

    def can_do(self, _: OutputDevice, wished: StreamFormat) -> bool:
        return wished.sample_rate_hz in self.rates and wished.channels == self.stream.channels

    def open(self, *_: object) -> FakeStream:
        if self.error is not None:
            raise self.error
        return self.stream


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


def device(index: int, name: str, *, default: bool = False, channels: int = 2) -> OutputDevice:
    return OutputDevice(index=index, name=name, channels=channels, default_rate_hz=44100, is_default=default)


def test_devices_are_found_by_number_name_and_part() -> None:
    devices = [device(0, "HDMI 0"), device(3, "HDMI 1"), device(4, "USB Speaker", default=True)]
    assert find_device(devices, None).index == 4
    assert find_device(devices, "3").name == "HDMI 1"
    assert find_device(devices, "HDMI 0").index == 0
    assert find_device(devices, "speaker").index == 4
    with pytest.raises(SinkError, match=r"more than one sound device is called 'hdmi'.*0: HDMI 0; 3: HDMI 1"):
        find_device(devices, "hdmi")
    with pytest.raises(SinkError, match="no sound device 'jack'; there are: 0: HDMI 0"):
        find_device(devices, "jack")
    with pytest.raises(SinkError, match="no sound device was found"):
        find_device([], None)


def test_the_voices_own_rate_is_preferred() -> None:
    def only(*rates: int) -> Any:
        return lambda wished: wished.sample_rate_hz in rates and wished.channels == 2

    here = device(0, "card")
    assert choose_format(only(24000, 48000), RATE, here) == StreamFormat(sample_rate_hz=24000, channels=2)
    assert choose_format(only(48000, 44100), RATE, here).sample_rate_hz == 44100, "the device's own rate comes next"
    assert choose_format(only(24000, 48000), RATE, here, 48000).sample_rate_hz == 48000
    with pytest.raises(SinkError, match="'card' takes none of these sample rates: 24000, 44100"):
        choose_format(only(), RATE, here)


pyaudio = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("pyaudio") is None,
    reason="PyAudio is not installed: LIVE PLAYBACK IS NOT TESTED (apt install portaudio19-dev, pip install pyaudio)",
)

_PLAY = """
import asyncio, json, sys
from dataclasses import asdict
from app.config import PlaybackConfig
from app.speaker import SpeakerSink
from tests.fake_engine import sine

async def main(name, settings, frames):
    sink = SpeakerSink(24000, PlaybackConfig(**settings), device=name or None)
    for number in range(frames):
        await sink.write(sine(1, number))
    await sink.finish()
    print(json.dumps(asdict(sink.statistics())))

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])))
"""


@pyaudio
@pytest.mark.parametrize("name", ["file24", ""])
def test_real_playback_is_exact(tmp_path: Path, name: str) -> None:
    said = json.loads(run_python(_PLAY, file_devices(tmp_path), name, '{"lead_in_ms": 20}', "25"))
    played = np.frombuffer((tmp_path / "tofile24.raw").read_bytes(), np.int16)
    assert find_in(played, to_pcm16(sine(25))) == 480
    assert said["sample_rate_hz"] == RATE
    assert said["written_samples"] == 25 * 1920


@pyaudio
def test_real_playback_at_another_rate_and_in_stereo(tmp_path: Path) -> None:
    soxr = pytest.importorskip("soxr")
    said = json.loads(
        run_python(_PLAY, file_devices(tmp_path), "file48", '{"sample_rate_hz": 48000, "lead_in_ms": 0}', "10")
    )
    assert said["sample_rate_hz"] == 48000
    expected = to_pcm16(soxr.resample(sine(10), RATE, 48000)).astype(np.int32)
    played = np.frombuffer((tmp_path / "tofile48.raw").read_bytes(), np.int16).reshape(-1, 2)[: len(expected)]
    assert np.abs(played - expected[:, None]).max() <= 1


@pyaudio
def test_playback_at_the_pace_of_real_time(tmp_path: Path) -> None:
    """Two seconds arrive whole and without a gap."""
    reason = missing_for_pacing()
    if reason:
        pytest.skip(f"PACED PLAYBACK IS NOT TESTED: {reason}")
    file = tmp_path / "heard.raw"
    with paced_device(tmp_path) as world, recording(world, file):
        said = json.loads(run_python(_PLAY, world, "", "{}", "25"))
    heard = np.frombuffer(file.read_bytes()[: file.stat().st_size // 2 * 2], np.int16)
    assert find_in(heard, to_pcm16(sine(25))) is not None
    assert (said["underruns"], said["gap_ms"], said["device_underruns"]) == (0, 0.0, 0)


@pyaudio
@pytest.mark.skipif(Path("/proc/asound/cards").exists(), reason="this machine has sound hardware: it cannot look deaf")
def test_a_machine_without_sound_says_so(tmp_path: Path) -> None:
    code = f"""
import asyncio
from app.sink import SinkError
try:
    exec({_PLAY!r})
except SinkError as error:
    print(error)
"""
    assert "no sound device was found" in run_python(code, no_devices(tmp_path), "", "{}", "1")
