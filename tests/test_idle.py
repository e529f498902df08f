"""Contexts whose writer says nothing for long: what they hold is spoken, then they are ended."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from app.loudspeaker import Loudspeaker
from app.socket_sink import SocketSink
from tests.daemon_rig import Client, ServedFakeEngine, frames, play, serving, settings, turn_until
from tests.playback_place import Place, is_sine, stretches


def test_a_context_left_alone_is_ended() -> None:
    async def scenario() -> None:
        config = settings(limits={"context_idle_s": 0.1})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a")
            await client.until("context.done")
            assert client.heard["a"].of("error")[0]["code"] == "idle"

    play(scenario())


def test_text_that_comes_while_an_idle_context_ends_is_not_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        ending, may_end = asyncio.Event(), asyncio.Event()

        async def abort(_sink: SocketSink) -> None:
            ending.set()
            await may_end.wait()

        monkeypatch.setattr(SocketSink, "abort", abort)
        config = settings(limits={"context_idle_s": 0.05})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a")
            await client.say("text", "a", text="a.", sequence=1)
            await ending.wait()
            await client.say("text", "a", text="bc.", sequence=2)
            await client.say("describe")
            await client.until("ready", 2)
            heard = client.heard["a"]
            assert [message["code"] for message in heard.of("error")] == ["idle", "context_ended"], "told at once"
            may_end.set()
            await client.until("context.done")
            assert [message["sequence"] for message in heard.of("text.ack")] == [1]
            assert len(heard.of("error")) == 2
            assert (heard.done["outcome"], heard.sound) == ("error", frames(1))

    play(scenario())


def test_what_an_idle_context_holds_is_spoken() -> None:
    async def scenario() -> None:
        config = settings(limits={"context_idle_s": 0.1}, server={"slots": 1})
        engine = ServedFakeEngine(hold=True)
        async with serving(config, engine) as daemon, Client(daemon) as client:
            began = time.monotonic()
            await client.speak("a", "abc.")
            await turn_until(lambda: engine.started)
            engine.hold = False
            for name, text in (("b", "ab. cde"), ("c", "d.")):
                await client.say("context.start", name, pace="fast")
                await client.say("text", name, text=text)
            await turn_until(lambda: time.monotonic() > began + 0.3)
            engine.started[0].sound(3)
            engine.started[0].end()
            await client.until("context.done", 3)
            assert [client.heard[name].sound for name in "abc"] == [frames(3), frames(2, 3), frames(1)]
            assert [client.heard[name].of("error")[0]["code"] for name in "bc"] == ["idle", "idle"]

    play(scenario())


def test_who_waits_for_the_loudspeaker_is_not_idle(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        idle_s = 0.1
        async with (
            place.daemon(engine, limits={"context_idle_s": idle_s}) as daemon,
            Client(daemon, unix=str(place.socket)) as client,
        ):
            async with Loudspeaker(None, now=False):
                for name, text in (("a", "ab"), ("b", "cde.")):
                    await client.say("context.start", name, play="local")
                    await client.say("text", name, text=text)
                waited_from = time.monotonic()
                await turn_until(lambda: time.monotonic() > waited_from + 4 * idle_s)
            await client.until("context.done", 2)
            for name, count in (("a", 2), ("b", 3)):
                heard = client.heard[name]
                assert heard.of("error")[0]["code"] == "idle", "it was not told that the text is complete"
                assert "playing" in {message["state"] for message in heard.of("playback")}
                assert heard.done["audio_ms"] == 80 * count
        assert is_sine(stretches(place.played())[-1], 3)  # the device was opened anew for it

    play(scenario())


def test_a_pipe_that_pauses_goes_on(place: Place) -> None:
    async def scenario() -> None:
        async with (
            place.daemon(engine := ServedFakeEngine(), limits={"context_idle_s": 0.05}) as daemon,
            place.speak(stdin=asyncio.subprocess.PIPE) as speak,
        ):
            assert speak.stdin is not None
            for count, letters in enumerate((2, 5), 1):
                await turn_until(lambda: daemon.services.gate.contexts == 0)
                speak.stdin.write(b"a" * letters + b".")
                await turn_until(partial(lambda count: len(engine.started) == count, count))
                await turn_until(lambda: daemon.services.gate.contexts == 0)
            speak.stdin.close()
            assert await speak.wait() == 0
        assert [len(utterance.ids) for utterance in engine.started] == [2, 5]
        assert is_sine(stretches(place.played())[-1], 5)

    play(scenario())
