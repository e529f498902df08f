"""The doors: who gets in, who is sent away and why, what GET answers, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from typing import Any, get_args

import pytest

from app import protocol_errors
from app.daemon import Daemon
from app.metrics import Metrics
from tests.daemon_rig import Client, ServedFakeEngine, get, play, serving, settings, turn_until


def test_get() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with serving(settings(), engine) as daemon:
            assert (await get(daemon, "/health"))[::2] == (200, '{"ok":true,"status":"serving"}')
            assert (await get(daemon, "/ready"))[0] == 200
            voices = json.loads((await get(daemon, "/v1/voices"))[2])
            assert voices["default"] == "ada"
            assert [voice["name"] for voice in voices["voices"]] == ["ada", "bob"]
            status, head, page = await get(daemon, "/")
            assert status == 200
            assert "Content-Security-Policy" in head
            assert "speakd.v1" in page
            assert (await get(daemon, "/nothing"))[0] == 404
            assert (await get(daemon, "/v1/speak?framing=other", Upgrade="websocket"))[0] in {400, 426}
            async with Client(daemon) as client:
                await client.speak("a", "abc.")
                await client.until("context.done")
            figures = (await get(daemon, "/metrics"))[2]
            assert 'speakd_contexts_total{outcome="end"} 1.0' in figures
            assert "speakd_ttfa_seconds_count 1.0" in figures
            assert 'speakd_continuous_contexts_total{within_ms="50"} 1.0' in figures
            assert 'speakd_engine_slots{model="fake"} 4.0' in figures
            assert 'speakd_engine_step_seconds{model="fake"} 0.01\n' in figures
            assert 'speakd_engine_info{model="fake",runs_on=""} 1.0' in figures
            assert "speakd_device_speed_ratio" in figures
            assert 'speakd_executor_completed{pool="text"}' in figures

    play(scenario())


def test_counters_are_there_before_anything_is_counted() -> None:
    """An alert on `increase(...)` sees no first failure where the counter appears with it."""
    figures = Metrics().text().decode()
    for code in (*get_args(protocol_errors.Code), "origin", "full", "idle_socket", "dead_peer"):
        assert f'speakd_refusals_total{{reason="{code}"}} 0.0' in figures
    for outcome in ("end", "limit", "cancelled", "error"):
        assert f'speakd_contexts_total{{outcome="{outcome}"}} 0.0' in figures
    assert 'speakd_reloads_total{result="refused"} 0.0' in figures
    assert 'speakd_continuous_contexts_total{within_ms="0"} 0.0' in figures


def test_a_stuck_or_failed_engine_is_not_healthy() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with serving(settings(), engine) as daemon:
            engine.busy_s = 21.0
            status, _, body = await get(daemon, "/health")
            assert status == 503
            assert "stuck for 21 s" in body
            assert (await get(daemon, "/ready"))[0] == 503
            engine.busy_s = 0.0
            assert (await get(daemon, "/health"))[0] == 200

    play(scenario())


def test_a_stuck_pool_is_not_healthy() -> None:
    async def scenario() -> None:
        config = settings(server={"stall_s": 0.3})
        async with serving(config, ServedFakeEngine()) as daemon:
            let_go = threading.Event()
            stuck = daemon.services.pools.text.submit(let_go.wait)
            while (answer := await get(daemon, "/health"))[0] == 200:
                await asyncio.sleep(0.01)
            assert "the text pool has been stuck" in answer[2]
            let_go.set()
            assert stuck.result()
            while (await get(daemon, "/health"))[0] != 200:
                await asyncio.sleep(0.01)

    play(scenario())


def test_sound_that_waits_is_shown() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(), engine) as daemon, Client(daemon) as client:
            await client.speak("a", 60 * "x", pace="realtime")
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            engine.started[0].sound(60)
            engine.started[0].end()
            await client.until("audio", 3)
            figures = (await get(daemon, "/metrics"))[2]
            [waiting] = re.findall(r'^speakd_ring_seconds\{which="largest"\} ([\d.]+)$', figures, re.MULTILINE)
            assert 1.0 < float(waiting) <= 4.8
            await client.say("cancel", "a")
            await client.until("context.done")

    play(scenario())


def test_before_the_voices_are_open() -> None:
    async def scenario() -> None:
        hold = asyncio.Event()

        async def never(*_: object) -> Any:
            await hold.wait()

        daemon = Daemon(settings(), None, opener=never)
        running = asyncio.ensure_future(daemon.run())
        await turn_until(lambda: daemon.server.port)
        assert (await get(daemon, "/health"))[0] == 200
        assert (await get(daemon, "/ready"))[0] == 503
        assert (await get(daemon, "/v1/voices"))[0] == 503
        async with Client(daemon) as client:
            assert await client.until_closed() == 1013
        daemon.stop()
        assert await running == 0

    play(scenario())


def test_a_full_house() -> None:
    async def scenario() -> None:
        config = settings(limits={"sockets": 3, "sockets_per_address": 2})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as first, Client(daemon):
            await first.until("ready")
            async with Client(daemon) as third:
                assert await third.until_closed() == 4429
                assert "from your address" in (third.ws.close_reason or "")
            assert (await get(daemon, "/health"))[0] == 200

    play(scenario())


def test_a_message_too_big() -> None:
    async def scenario() -> None:
        config = settings(limits={"message_bytes": 1024})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            with contextlib.suppress(Exception):
                await client.say("text", "a", text=2000 * "x")
            assert await client.until_closed() == 1009

    play(scenario())


def test_more_askers_than_the_pool_holds_are_told_to_come_again(capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        gate = threading.Event()
        async with serving(settings(), ServedFakeEngine()) as daemon:
            held = [daemon._figures.submit(gate.wait) for _ in range(9)]
            for path in ("/metrics", "/"):
                status, head, body = await get(daemon, path)
                assert (status, "try again in a moment" in body) == (503, True)
                assert "Retry-After: 1" in head
            gate.set()
            await turn_until(lambda: all(one.done() for one in held))
            assert (await get(daemon, "/metrics"))[0] == 200
        assert "Traceback" not in capfd.readouterr().err

    play(scenario())


def test_an_idle_socket_and_a_dead_peer() -> None:
    async def scenario() -> None:
        config = settings(limits={"idle_s": 0.3, "ping_s": 600, "peer_timeout_s": 600})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            assert await client.until_closed() == 1000
        config = settings(limits={"idle_s": 1.5, "ping_s": 0.1})  # who answers pings is alive, and idle
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            assert await client.until_closed() == 1000
        config = settings(limits={"ping_s": 0.1, "peer_timeout_s": 1.0})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon, ping_interval=None) as client:
            await client.until("ready")
            client.ws.transport.pause_reading()  # the machine is there, the program is not
            await turn_until(lambda: daemon.services.gate.sockets == 0)
            client.ws.transport.abort()

    play(scenario())


def test_a_pinged_client_stays() -> None:
    async def scenario() -> None:
        config = settings(limits={"ping_s": 0.1, "peer_timeout_s": 1.5, "idle_s": 600})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.until("ready")
            until = time.monotonic() + 2.5
            await turn_until(lambda: time.monotonic() > until)
            await client.speak("a", "abc.")
            await client.until("context.done")

    play(scenario())


def test_a_handshake_that_drags_on() -> None:
    async def scenario() -> None:
        config = settings(limits={"handshake_s": 0.2})
        async with serving(config, ServedFakeEngine()) as daemon:
            reader, writer = await asyncio.open_connection("127.0.0.1", daemon.server.port)
            writer.write(b"GET /v1/speak HTTP/1.1\r\n")
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()
            await turn_until(lambda: daemon.services.gate.connections == 0)

    play(scenario())


def test_the_end_waits_for_what_is_being_spoken() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(), engine) as daemon, Client(daemon) as speaking, Client(daemon) as idle:
            await speaking.speak("a", "abc.")
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            await idle.until("ready")
            daemon.stop()
            assert await idle.until_closed() == 1012
            await speaking.say("context.start", "b")
            await speaking.until("error")
            assert speaking.heard["b"].of("error")[0]["code"] == "shutting_down"
            engine.started[0].sound(3)
            engine.started[0].end()
            await speaking.until("context.done")
            assert speaking.heard["a"].done["outcome"] == "end"
            assert await speaking.until_closed() == 1012

    play(scenario())


def test_the_end_does_not_wait_for_ever() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(server={"grace_s": 0.2}), engine) as daemon, Client(daemon) as client:
            await client.speak("a", "abc.")
            await turn_until(lambda: engine.started)
            began = time.monotonic()
            daemon.stop()
            assert await client.until_closed() == 1012
            assert time.monotonic() - began < 1.2
            assert client.heard["a"].done["outcome"] == "cancelled"
            assert engine.started[0].cancelled

    play(scenario())


def test_a_failed_engine_ends_the_process_with_an_error() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        daemon = Daemon(settings(), None, opener=_only(engine))
        running = asyncio.ensure_future(daemon.run())
        await daemon.ready.wait()
        engine.failure = "the device fell off the bus"
        assert await running == 1
        assert engine.closed

    play(scenario())


def _only(engine: ServedFakeEngine) -> Any:
    from tests.daemon_rig import fakes

    return fakes(engine)
