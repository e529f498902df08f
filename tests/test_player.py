"""The player between its pipe and a device made of values. A device that hangs is `test_speaker`'s."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app import speaker
from app.config import PlaybackConfig
from app.kept_audio import KeptAudio
from app.player import Player
from app.player_wire import Cut, End, Ended, FromPlayer, Look, Play, Present, pack, pack_sound
from app.sink import SinkError, to_pcm16
from tests.daemon_rig import play, turn_until
from tests.fake_engine import sine
from tests.fake_sound import WAIT_S, FakeStream, FakeSystem

SETTINGS = PlaybackConfig(lead_in_ms=0, tail_ms=0)


class LateRefusal(FakeSystem):
    """A device that lets itself be waited for, and then cannot be opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def open(self, *_: object) -> FakeStream:
        assert self.gate.wait(WAIT_S)
        raise SinkError("the sound device 'fake' is gone")


@pytest.fixture(autouse=True)
def _own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@contextlib.asynccontextmanager
async def playing(system: Callable[[], Any]) -> AsyncIterator[tuple[Player, asyncio.StreamReader, list[Ended]]]:
    ends = list[Ended]()

    def hear(said: FromPlayer) -> None:
        if isinstance(said, Ended):
            ends.append(said)

    player, reader = Player(SETTINGS, hear, KeptAudio(system)), asyncio.StreamReader()
    running = asyncio.ensure_future(player.run(reader))
    yield player, reader, ends
    reader.feed_eof()
    await running


def test_what_was_not_heard_yet_is_played_whole_on_a_device_that_opens_at_the_second_try() -> None:
    async def scenario() -> None:
        gone, there = LateRefusal(), FakeSystem()
        systems = iter([gone, there])
        async with playing(lambda: next(systems)) as (player, reader, ends):
            reader.feed_data(pack(Play(number=1, sample_rate_hz=24000, now=False)))
            reader.feed_data(pack_sound(sine(1)) + pack_sound(sine(1, 1)) + pack(End(number=1)))
            await turn_until(lambda: player._playing and player._playing._sink and player._playing._sink._buffer._ended)
            gone.gate.set()
            await turn_until(lambda: ends)
        assert [(end.how, end.error) for end in ends] == [("played", None)]
        assert np.array_equal(there.stream.samples[: 2 * 1920], to_pcm16(sine(2)))

    play(scenario())


def test_a_cut_that_was_meant_for_the_last_playback_does_not_end_the_next() -> None:
    async def scenario() -> None:
        async with playing(FakeSystem) as (_, reader, ends):
            reader.feed_data(pack(Play(number=2, sample_rate_hz=24000, now=False)) + pack(Cut(number=1)))
            reader.feed_data(pack_sound(sine(1)) + pack(End(number=2)))
            await turn_until(lambda: ends)
        assert [(end.number, end.how) for end in ends] == [(2, "played")]

    play(scenario())


def test_sound_that_comes_when_nothing_is_played_any_more_is_dropped() -> None:
    async def scenario() -> None:
        there = FakeSystem()
        async with playing(lambda: there) as (_, reader, ends):
            reader.feed_data(pack_sound(sine(1)) + pack(End(number=1)) + pack(Cut(number=1)))
            reader.feed_data(pack(Play(number=2, sample_rate_hz=24000, now=False)))
            reader.feed_data(pack_sound(sine(2)) + pack(End(number=2)))
            await turn_until(lambda: ends)
        assert [(end.number, end.how) for end in ends] == [(2, "played")]
        assert np.array_equal(there.stream.samples[: 2 * 1920], to_pcm16(sine(2)))

    play(scenario())


@pytest.mark.parametrize("ended", [True, False])
def test_a_device_that_never_opens_is_given_up(monkeypatch: pytest.MonkeyPatch, ended: bool) -> None:
    """Also where the text pauses: the context is not idle as long as its sound is still to be heard."""
    monkeypatch.setattr(speaker, "_OPENING_S", 0.1)
    settings = PlaybackConfig(stall_timeout_ms=100)

    async def scenario() -> None:
        late, said, left = LateRefusal(), list[FromPlayer](), asyncio.Event()
        player, reader = (
            Player(settings, said.append, KeptAudio(lambda: late), lambda _: left.set()),
            asyncio.StreamReader(),
        )
        reader.feed_data(pack(Play(number=1, sample_rate_hz=24000, now=False)) + pack_sound(sine(1)))
        running = asyncio.ensure_future(player.run(reader))
        if ended:
            reader.feed_data(pack(End(number=1)))
        while not left.is_set():
            if not ended:
                reader.feed_data(pack(Look()))
            await asyncio.sleep(0.01)
        assert isinstance(end := said[-1], Ended)
        assert (end.how, end.error) == ("failed", "the sound device could not be opened within 0.1 s")
        late.gate.set()
        reader.feed_eof()
        await running

    play(scenario())


def test_a_player_that_plays_answers_who_asks_whether_it_lives() -> None:
    async def scenario() -> None:
        late, said = LateRefusal(), list[FromPlayer]()
        player, reader = Player(SETTINGS, said.append, KeptAudio(lambda: late)), asyncio.StreamReader()
        reader.feed_data(pack(Play(number=1, sample_rate_hz=24000, now=False)) + pack(Look()))
        running = asyncio.ensure_future(player.run(reader))
        await turn_until(lambda: len(said) == 2)
        assert player._work is not None
        assert said == [Present(absence=None), Present(absence=None)]
        late.gate.set()
        reader.feed_eof()
        await running

    play(scenario())
