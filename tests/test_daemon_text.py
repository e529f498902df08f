"""A daemon whose text is read in another process: what clients hear when that process dies, and what is left of it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from app.config import Config
from app.daemon import Daemon
from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.inline_executor import InlineExecutor
from app.remote_reader import RemoteReader
from app.voices import VoiceModel
from tests.daemon_rig import Client, LetterReader, ServedFakeEngine, get, play, serving, settings, turn_until
from tests.test_text_process import is_gone

HELLO = "Hello there. "


def on(bundle: Path, **sections: dict[str, object]) -> Config:
    return settings(voice={"bundle": str(bundle)}, engine={"positions": 128}, **sections)


def worker(daemon: Daemon) -> int:
    assert daemon._text is not None
    assert daemon._text.pid is not None
    return daemon._text.pid


def test_a_worker_that_dies_costs_only_text_that_was_not_read(tiny_bundle: Path) -> None:
    """With a worker for the text and an engine that the test leads."""

    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)

        async def opener(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            assert daemon._text is not None
            reader = await text.run(RemoteReader, daemon._text, tiny_bundle)
            return VoiceModel(bundle, engine, reader, EngineClient(engine, max_active=4, max_waiting=64))

        daemon = Daemon(settings(), None, opener=opener)
        running = asyncio.ensure_future(daemon.run())
        await daemon.ready.wait()
        async with Client(daemon) as client:
            await client.speak("whole", HELLO)
            await client.say("context.start", "open")
            await client.say("text", "open", text=HELLO)
            await client.say("flush", "open")
            await turn_until(lambda: len(engine.started) == 2 and all(one.text_ended for one in engine.started))
            first = worker(daemon)
            os.kill(first, signal.SIGKILL)
            await client.say("text", "open", text="More of it. And more.")
            await client.until("context.done")
            [error] = client.heard["open"].of("error")
            assert error["code"] == "engine_failed"
            assert "start the context again" in error["message"]
            assert client.heard["open"].done["outcome"] == "error"
            whole = next(one for one in engine.started if not one.outcome.done())
            whole.sound(3)
            whole.end()
            await client.until("context.done")
            assert client.heard["whole"].done["outcome"] == "end"
            assert client.heard["whole"].done["audio_ms"] == pytest.approx(240)
            engine.hold = False
            await client.speak("next", HELLO)
            await client.until("context.done")
            assert client.heard["next"].done["outcome"] == "end"
            assert worker(daemon) != first
            assert "speakd_text_worker_deaths 1.0" in (await get(daemon, "/metrics"))[2]
        last = worker(daemon)
        daemon.stop()
        assert await running == 0
        assert is_gone(last)

    play(scenario())


def test_a_worker_that_died_while_nobody_spoke_is_replaced_at_once(tiny_bundle: Path) -> None:
    async def scenario() -> None:
        async with serving(on(tiny_bundle)) as daemon, Client(daemon) as client:
            assert {type(daemon.services.pools.text), type(daemon.services.pools.audio)} == {BoundedExecutor}
            first = worker(daemon)
            os.kill(first, signal.SIGKILL)
            text = daemon._text
            assert text is not None
            await turn_until(lambda: text.deaths == 1 and text.pid is not None)
            assert (await get(daemon, "/health"))[0] == 200
            await client.speak("a", HELLO, max_frames=4)
            await client.until("context.done")
            assert not client.heard["a"].of("error")

    play(scenario())


def test_a_worker_that_does_not_come_back_is_not_healthy(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with serving(on(tiny_bundle)) as daemon:
            monkeypatch.setattr("sys.executable", "/bin/false")
            os.kill(worker(daemon), signal.SIGKILL)
            while (answer := await get(daemon, "/health"))[0] == 200:
                await asyncio.sleep(0.01)
            assert "the process that reads text" in answer[2]

    play(scenario())


def test_without_offloading_there_is_no_other_process(tiny_bundle: Path) -> None:
    async def scenario() -> None:
        config = on(tiny_bundle, server={"offload": False})
        async with serving(config) as daemon, Client(daemon) as client:
            assert daemon._text is None
            assert {type(daemon.services.pools.text), type(daemon.services.pools.audio)} == {InlineExecutor}
            await client.speak("a", HELLO, max_frames=4)
            await client.until("context.done")
            assert client.heard["a"].sound

    play(scenario())


@pytest.mark.parametrize("how", ["end", "cancel", "leave"])
def test_every_stream_is_released(how: str) -> None:
    async def scenario() -> None:
        engine, reader = ServedFakeEngine(), LetterReader()

        async def opener(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            return VoiceModel(bundle, engine, reader, EngineClient(engine, max_active=4, max_waiting=64))

        async with serving(settings(), opener=opener) as daemon:
            async with Client(daemon) as client:
                for name in "abc":
                    await client.say("context.start", name)
                    await client.say("text", name, text="abc")
                    if how != "leave":
                        await client.say(how, name)
                if how != "leave":
                    await client.until("context.done", 3)
                else:
                    await client.until("context.started", 3)
            text = daemon.services.pools.text
            await turn_until(lambda: not daemon.services.gate.contexts and not text.statistics().active)
            assert how == "cancel" or text.statistics().completed
            assert not reader.streams

    play(scenario())
