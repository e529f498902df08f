"""The doors: who gets in, who is sent away and why, what GET answers, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from app.config import ConfigError
from app.daemon import Daemon
from tests.daemon_rig import TOKEN, Client, ServedFakeEngine, play, serving, settings, turn_until


async def get(daemon: Daemon, path: str, *, port: int | None = None, **headers: str) -> tuple[int, str, str]:
    """Status, head and body of a GET."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port or daemon.server.port)
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), head, body


def guarded(tmp_path: Path, **sections: dict[str, Any]) -> Any:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    return settings(security={"token_file": str(file)}, **sections)


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
            assert 'speakd_executor_completed{pool="text"}' in figures

    play(scenario())


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


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(guarded(tmp_path), ServedFakeEngine()) as daemon:
            async with Client(daemon, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as client:
                await client.until("ready")
            async with Client(daemon) as client:
                await client.say("authorise", token=TOKEN)
                await client.until("ready")
                await client.speak("a", "abc.")
                await client.until("context.done")
            async with Client(daemon, additional_headers={"Authorization": "Bearer wrong"}) as client:
                assert await client.until_closed() == 4401
            async with Client(daemon) as client:
                await client.say("authorise", token="wrong")
                assert await client.until_closed() == 4401
            async with Client(daemon) as client:
                await client.say("describe")
                assert await client.until_closed() == 4401
            assert (await get(daemon, "/health"))[0] == 200
            assert (await get(daemon, "/metrics"))[0] == 401
            assert (await get(daemon, "/v1/voices", Authorization=f"Bearer {TOKEN}"))[0] == 200

    play(scenario())


def test_a_token_that_does_not_come_in_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = guarded(tmp_path, limits={"handshake_s": 0.2})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            assert await client.until_closed() == 4401

    play(scenario())


def test_the_token_is_never_written_down(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with serving(guarded(tmp_path), ServedFakeEngine()) as daemon:
            async with Client(daemon) as client:
                await client.say("authorise", token=TOKEN)
                await client.speak("a", "abc.")
                await client.until("context.done")
            daemon.write_statistics()
            assert TOKEN not in (await get(daemon, "/metrics", Authorization=f"Bearer {TOKEN}"))[2]

    play(scenario())
    written = capfd.readouterr()
    assert TOKEN not in written.out + written.err


def test_a_foreign_page_is_kept_out() -> None:
    async def scenario() -> None:
        config = settings(security={"origins": ["https://kiosk.example"]})
        async with serving(config, ServedFakeEngine()) as daemon:
            own = f"http://127.0.0.1:{daemon.server.port}"
            for origin in (own, "https://kiosk.example"):
                async with Client(daemon, origin=origin) as client:
                    await client.until("ready")
            for origin in ("https://evil.example", f"http://evil.example:{daemon.server.port}", "null"):
                with pytest.raises(InvalidStatus, match="403"):
                    await Client(daemon, origin=origin, name="evil.example").__aenter__()
            with pytest.raises(InvalidStatus, match="400"):
                await Client(daemon, additional_headers={"Host": "localhost"}).__aenter__()

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


def test_an_idle_socket_and_a_dead_peer() -> None:
    async def scenario() -> None:
        config = settings(limits={"idle_s": 0.3, "ping_s": 600, "peer_timeout_s": 600})
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


def test_the_unix_socket(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "run" / "speakd.sock"
        config = guarded(tmp_path, server={"socket": str(path)})
        async with serving(config, ServedFakeEngine()) as daemon:
            assert path.stat().st_mode & 0o777 == 0o660
            async with Client(daemon, unix=str(path)) as client:
                await client.speak("a", "abc.")  # the file's permissions stand for the token
                await client.until("context.done")
            with pytest.raises(ConfigError, match="another daemon listens"):
                await Daemon(config, None).run()
        assert not path.exists()
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(path))
        dead.close()
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon, unix=str(path)) as client:
            await client.until("ready")

    play(scenario())


def test_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip

    async def scenario() -> None:
        config = settings(security={"tls_certificate": str(certificate), "tls_key": str(key)})
        async with serving(config, ServedFakeEngine()) as daemon:
            uri = f"wss://localhost:{daemon.server.port}/v1/speak"
            trusting = ssl.create_default_context(cafile=str(certificate))
            async with connect(uri, ssl=trusting, host="127.0.0.1", compression=None) as socket:
                assert json.loads(await socket.recv())["type"] == "ready"

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
