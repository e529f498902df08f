"""The daemon's player ends under those who wait for it: only what it was playing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import pytest

from app import player_process
from tests.daemon_rig import Client, ServedFakeEngine, play, turn_until
from tests.playback_place import Place, is_sine, stretches


@contextlib.asynccontextmanager
async def struck(place: Place, blow: signal.Signals, **texts: str) -> AsyncIterator[Client]:
    """Who waits for the player of all these texts, when it was struck while the first had nothing to play yet."""
    engine = ServedFakeEngine(hold=True)
    async with place.daemon(engine) as daemon, Client(daemon, unix=str(place.socket)) as client:
        for name, text in texts.items():
            await client.speak(name, text, play="local")
        await turn_until(lambda: engine.started and engine.started[0].text_ended)
        player = daemon.services.loudspeaker.player
        assert player._process is not None
        engine.hold = False
        os.kill(player._process.pid, blow)
        engine.started[0].sound(3)
        engine.started[0].end()
        await client.until("context.done", times=len(texts))
        yield client


def test_those_who_wait_outlive_a_player_that_dies(place: Place) -> None:
    async def scenario() -> None:
        async with struck(place, signal.SIGSEGV, a="abc", b="ab", c="a") as client:
            outcomes = {name: client.heard[name].done["outcome"] for name in "abc"}
        assert outcomes == {"a": "error", "b": "end", "c": "end"}
        assert [is_sine(piece, frames) for piece, frames in zip(stretches(place.played()), (2, 1), strict=True)]

    play(scenario())


def test_those_who_wait_outlive_a_player_that_was_stopped(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_process, "_ASK_S", 0.3)

    async def scenario() -> None:
        async with struck(place, signal.SIGSTOP, a="abc", b="ab") as client:
            assert [message["code"] for message in client.heard["a"].of("error")] == ["no_loudspeaker"]
            assert client.heard["b"].done["outcome"] == "end"
        assert is_sine(stretches(place.played())[-1], 2)

    play(scenario())


def test_one_who_leaves_while_the_player_is_begun_again_lets_the_next_play(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with place.daemon(engine) as daemon, Client(daemon, unix=str(place.socket)) as client:
            player = daemon.services.loudspeaker.player
            begun_again = asyncio.Event()

            async def slow() -> None:
                begun_again.set()
                await asyncio.Event().wait()

            player.running = slow  # type: ignore[method-assign]
            await client.speak("a", "abc", play="local")
            await begun_again.wait()
            del player.running
            await client.speak("b", "ab", play="local")
            await client.say("cancel", "a")
            await client.until("context.done", times=2)
            assert [client.heard[name].done["outcome"] for name in "ab"] == ["cancelled", "end"]

    play(scenario())
