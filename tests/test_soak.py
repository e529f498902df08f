"""Rude clients: what they leave behind, and what the others hear meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from scripts.soak_cycles import KINDS, cycle, cycles, killed, vitals
from tests.daemon_rig import Client, ServedFakeEngine, play, serving, settings, turn_until
from tests.test_daemon import config, process

__all__ = ["config"]


def test_nothing_is_left_behind(config: Path) -> None:
    """The long form is scripts/soak."""

    async def scenario() -> None:
        async with process(config) as (daemon, door):
            assert daemon.process.stderr is not None
            drain = asyncio.ensure_future(daemon.process.stderr.read())
            port = door.server.port
            for kind in KINDS:  # caches fill, threads begin
                await cycle(port, kind, random.Random(1))
            await killed(port)
            before = await vitals(daemon.process.pid, port)
            await cycles(port, 120, seed=2)
            await killed(port)
            after = await vitals(daemon.process.pid, port)
            assert after.descriptors <= before.descriptors
            assert after.threads <= before.threads
            assert after.tasks <= before.tasks
            assert (after.sockets, after.contexts, after.speaking) == (0, 0, 0)
            assert after.memory_mb < 1.2 * before.memory_mb
            daemon.process.terminate()
            await daemon.process.wait()
            await drain

    play(scenario(), 120)


@pytest.mark.parametrize("rude", ["stops reading", "a byte a second", "all contexts"])
def test_the_others_hear_no_gap(rude: str) -> None:
    async def scenario() -> None:
        limits = {"contexts": 4, "write_buffer_bytes": 4096}
        async with serving(settings(limits=limits), ServedFakeEngine()) as daemon, contextlib.AsyncExitStack() as stack:
            other = await stack.enter_async_context(Client(daemon, ping_interval=None, close_timeout=0.1))
            if rude == "stops reading":
                other.ws.transport.pause_reading()
                for name in "abcd":
                    await other.speak(name, 400 * "x")
                await turn_until(lambda: daemon.services.gate.contexts == 4)
            elif rude == "all contexts":
                for name in "abcd":
                    await other.say("context.start", name)
                    await other.say("text", name, text=300 * "x")
                await turn_until(lambda: daemon.services.gate.contexts == 4)
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
                stack.callback(writer.close)
                for byte in b"GET":
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(0)
                assert reader is not None
            client = await stack.enter_async_context(Client(daemon))
            await client.speak("a", "abcdefgh. ijklmnop.", pace="realtime")
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "end"
            assert client.heard["a"].done["underruns"] == 0
            assert len(client.heard["a"].sound) == 16 * 2 * 1920
            other.ws.transport.abort()
            await turn_until(lambda: daemon.services.gate.contexts == 0)

    play(scenario())


def test_a_client_that_stops_reading_stops_its_own_engine_only() -> None:
    """What is held for it is bounded: buffers, one ring, and nothing of the text that follows."""

    async def scenario() -> None:
        engine = ServedFakeEngine()
        config = settings(limits={"write_buffer_bytes": 4096})
        async with serving(config, engine) as daemon, Client(daemon, ping_interval=None, close_timeout=0.1) as client:
            client.ws.transport.pause_reading()
            await client.say("context.start", "a", pace="fast")
            for _ in range(60):
                await client.say("text", "a", text=900 * "x" + ".")
            reached = 0
            for _ in range(50):
                await asyncio.sleep(0.01)
                reached = len(engine.started)
            assert reached < 30, "backpressure reaches the engine"
            client.ws.transport.abort()
            await turn_until(lambda: daemon.services.gate.sockets == 0)

    play(scenario())


def test_a_live_socket_takes_any_messages() -> None:
    """Thousands of random and nearly right messages: every answer is one of ours, and the daemon serves on."""

    async def scenario() -> None:
        dice = random.Random(7)
        kinds = ["context.start", "text", "flush", "end", "cancel", "describe", "authorise", "", "x"]
        errors: set[str] = set()
        async with serving(settings(), ServedFakeEngine()) as daemon:
            for _ in range(10):
                async with Client(daemon, close_timeout=0.5) as client:
                    reading = asyncio.ensure_future(_read_all(client, errors))
                    with contextlib.suppress(ConnectionClosed):
                        for _ in range(500):
                            await client.ws.send(_anything(dice, kinds))
                    await client.say("text", "the last", text="word")
                    await reading
                    client.ws.transport.abort()
            await turn_until(lambda: daemon.services.gate.contexts == 0)
            assert {"bad_json", "unknown_type", "unknown_context", "bad_field", "unknown_field"} <= errors
            assert "internal" not in errors
            async with Client(daemon) as client:
                await client.speak("a", "abc.")
                await client.until("context.done")
                assert client.heard["a"].done["outcome"] == "end"

    play(scenario())


def _anything(dice: random.Random, kinds: list[str]) -> str | bytes:
    if dice.random() < 0.1:
        return dice.randbytes(dice.randrange(80))
    raw: dict[str, Any] = {"type": dice.choice(kinds), "context": dice.choice("abcdef")}
    if dice.random() < 0.6:
        raw["text"] = dice.choice(["word", "A sentence.", "", 5])
    if dice.random() < 0.1:
        raw[dice.choice("xyz")] = 1
    text = json.dumps({"pace": "fast", **raw} if raw["type"] == "context.start" else raw)
    return text[: dice.randrange(len(text))] if dice.random() < 0.1 else text


async def _read_all(client: Client, errors: set[str]) -> None:
    """Until the answer to the last message."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            message = await client.ws.recv()
            if isinstance(message, bytes):
                continue
            event = json.loads(message)
            if event["type"] == "error":
                errors.add(event["code"])
                if event["context"] == "the last":
                    return
