"""A context's sound on the daemon's own loudspeaker: its turn, its room, its account, its end."""

from __future__ import annotations

import asyncio

import pytest

from app.config import PlaybackConfig
from app.local_sink import LocalLoudspeaker, LocalSink
from app.messages import PlaybackState
from app.player_wire import Taken
from app.sink import SinkError
from tests.daemon_rig import play
from tests.fake_engine import sine
from tests.silent_player import SilentPlayer

RATE = 24000


class Place:
    """A loudspeaker, and contexts' sinks that note what they were told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.player = SilentPlayer(at_s=100.5)
        self.loudspeaker = LocalLoudspeaker(PlaybackConfig(), self.player)
        self.told: list[tuple[PlaybackState, float, str | None]] = []
        self.interrupted = 0

    def sink(self) -> LocalSink:
        return LocalSink(
            self.loudspeaker,
            RATE,
            now=False,
            interrupt=self._interrupt,
            tell=lambda state, at_s, device: self.told.append((state, at_s, device)),
            clock=lambda: self.now,
        )

    def _interrupt(self) -> None:
        self.interrupted += 1


def test_what_is_played_is_told_and_accounted_for() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        await sink.write(sine(1))
        await sink.write(sine(2))
        place.player.say(Taken(number=1, samples=5760, underruns=0))
        place.player.say(Taken(number=1, samples=0, underruns=1))
        place.player.say(Taken(number=1, samples=0, underruns=1))
        assert place.told == [("playing", 100.5, "hdmi"), ("underrun", 100.0, "hdmi")]
        place.player.end = lambda: place.player.over("played", underruns=1)  # type: ignore[method-assign]
        await sink.finish()
        heard = sink.listening
        assert (round(heard.audio_s, 6), heard.underruns, heard.gap_s, sink.first_sample_at) == (0.24, 1, 0.1, 100.5)
        assert place.loudspeaker.line.free
        assert place.interrupted == 0

    play(scenario())


def test_half_a_second_is_on_its_way_and_the_rest_waits_for_room() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        await sink.write(sine(7))  # more than half a second: the player had room when it came
        late = asyncio.ensure_future(sink.write(sine(1)))
        await asyncio.sleep(0)
        place.player.say(Taken(number=1, samples=1439, underruns=0))
        await asyncio.sleep(0)
        assert (place.player.given, late.done()) == ([13440], False)
        place.player.say(Taken(number=1, samples=1, underruns=0))
        await late
        assert place.player.given == [13440, 1920]
        await sink.stop()

    play(scenario())


@pytest.mark.parametrize("full", [False, True])
def test_a_device_that_fails_ends_the_sound_at_once(full: bool) -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        await sink.write(sine(7))
        if not full:
            place.player.say(Taken(number=1, samples=13440, underruns=0))
        writing = asyncio.ensure_future(asyncio.sleep(0))
        if full:
            writing = asyncio.ensure_future(sink.write(sine(1)))
            await asyncio.sleep(0)
        place.player.over("failed")
        with pytest.raises(SinkError, match="unplugged"):
            await (writing if full else sink.write(sine(1)))
        assert place.player.given == [13440]
        await sink.abort()
        assert place.loudspeaker.line.free

    play(scenario())


def test_a_device_that_fails_in_the_end_is_told_and_the_next_may_play() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        await sink.write(sine(1))
        place.player.end = lambda: place.player.over("failed")  # type: ignore[method-assign]
        with pytest.raises(SinkError, match="unplugged"):
            await sink.finish()
        assert place.loudspeaker.line.free

    play(scenario())


def test_the_next_one_waits_says_so_and_plays_after_a_stop() -> None:
    async def scenario() -> None:
        place = Place()
        first, second = place.sink(), place.sink()
        await first.begin()
        assert place.told == []
        coming = asyncio.ensure_future(second.begin())
        await asyncio.sleep(0)
        assert place.told == [("waiting", 100.0, None)]
        assert not coming.done()
        place.now = 107.0
        await first.stop()
        await first.stop()
        await coming
        assert second.active_at == 107.0, "who waited for the loudspeaker was not idle"
        await second.stop()
        assert place.loudspeaker.line.free

    play(scenario())


def test_a_context_is_active_until_its_sound_was_heard() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        assert sink.active_at == 100.0
        place.player.at_s = 130.0
        hold, place.player.sound = place.player.sound, lambda pcm: None  # type: ignore[method-assign]
        await sink.write(sine(50))
        place.now = 120.0
        assert sink.active_at == 120.0, "its first sample is still to come"
        hold(sine(1))
        assert sink.active_at == 134.0
        await sink.stop()

    play(scenario())


def test_an_interruption_ends_the_context() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.begin()
        await sink.write(sine(1))
        place.player.over("interrupted")
        assert place.interrupted == 1
        await sink.write(sine(1))  # until the context has seen it
        await sink.stop()
        assert place.loudspeaker.line.free

    play(scenario())


def test_without_a_turn_there_is_nothing_to_end_and_the_player_ends_with_the_daemon() -> None:
    async def scenario() -> None:
        place = Place()
        sink = place.sink()
        await sink.stop()
        await sink.finish()
        await place.loudspeaker.close()
        assert place.player.closed

    play(scenario())
