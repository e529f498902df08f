"""A device is opened once for several sounds, given back when told, and opened anew after anything odd."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from app.config import PlaybackConfig
from app.devices import OutputDevice, StreamFormat
from app.kept_audio import KeptAudio
from app.sink import SinkError, to_pcm16
from app.speaker import SpeakerSink
from tests.fake_engine import sine
from tests.fake_sound import FakeStream, FakeSystem


@dataclass
class Stream(FakeStream):
    """Can be started again, unless it is broken."""

    starts: int = 0
    broken: bool = False

    def start_stream(self) -> None:
        if self.broken:
            raise OSError(-9988, "Stream closed")
        self.starts += 1
        self.stopped = False


@dataclass
class System(FakeSystem):
    """Counts what it is asked."""

    opened: list[Stream] = field(default_factory=list)
    asked: list[StreamFormat] = field(default_factory=list)
    left: bool = False
    silent: bool = False

    def __exit__(self, *_: object) -> None:
        self.left = True

    def devices(self) -> list[OutputDevice]:
        return [] if self.silent else super().devices()

    def can_do(self, device: OutputDevice, wished: StreamFormat) -> bool:
        assert all(stream.closed for stream in self.opened), "a device that is open cannot be asked"
        self.asked.append(wished)
        return super().can_do(device, wished)

    def open(self, *_: object) -> FakeStream:
        self.opened.append(Stream())
        return self.opened[-1]


def sound(audio: KeptAudio, frames: int, rate_hz: int = 24000, *, cut: bool = False) -> None:
    async def scenario() -> None:
        sink = SpeakerSink(rate_hz, PlaybackConfig(), system=lambda: audio)
        await sink.write(sine(frames))
        await (sink.stop() if cut else sink.finish())

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_one_stream_for_several_sounds() -> None:
    def opener() -> System:
        systems.append(system)
        return system

    systems, system = list[System](), System()
    audio = KeptAudio(opener)
    for frames in (3, 5, 2):
        sound(audio, frames)
        assert system.opened[0].stopped, "or what it still holds is cut off"
    [stream] = system.opened
    assert (stream.starts, stream.closed, len(system.asked)) == (2, False, 1)
    played = stream.samples
    heard = played[played != 0]
    expected = np.concatenate([to_pcm16(sine(frames)) for frames in (3, 5, 2)])
    assert np.array_equal(heard, expected[expected != 0])
    audio.release()
    audio.release()
    assert stream.closed
    assert not system.left
    sound(audio, 1)
    assert len(system.opened) == 2
    assert len(system.asked) == 1, "what it can do is remembered"
    assert len(systems) == 1, "PortAudio is opened once"


def test_what_was_cut_is_not_kept() -> None:
    system = System()
    audio = KeptAudio(lambda: system)
    sound(audio, 30, cut=True)
    assert all(stream.closed for stream in system.opened)
    sound(audio, 1)
    assert system.opened[-1].starts == 0


def test_another_rate_opens_another_stream() -> None:
    system = System()
    audio = KeptAudio(lambda: system)
    sound(audio, 1)
    sound(audio, 1, 48000)
    first, second = system.opened
    assert first.closed
    assert not second.closed


def test_a_stream_that_does_not_start_again_is_forgotten() -> None:
    system = System()
    audio = KeptAudio(lambda: system)
    sound(audio, 1)
    system.opened[0].broken = True
    with pytest.raises(SinkError, match="does not start"):
        sound(audio, 1)
    assert system.opened[0].closed
    sound(audio, 1)
    assert len(system.opened) == 2


def test_devices_that_came_later_are_found() -> None:
    systems: list[System] = []

    def opener() -> Any:
        systems.append(System(silent=not systems))
        return systems[-1]

    audio = KeptAudio(opener)
    assert audio.absence() is None, "it looked twice"
    assert systems[0].left
    audio.forget()
    audio.forget()
    assert systems[1].left


def test_why_there_is_none() -> None:
    def fails() -> Any:
        raise SinkError("no PyAudio")

    assert KeptAudio(fails).absence() == "no PyAudio"
    assert KeptAudio(lambda: System(silent=True)).absence() == "no sound device was found"
