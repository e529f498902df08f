"""Who is let in: tokens, origins, TLS, at live doors."""

from __future__ import annotations

import json
import ssl
import subprocess
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.daemon_rig import TOKEN, Client, ServedFakeEngine, get, guarded, play, serving, settings


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


def test_nothing_is_told_before_the_token_and_then_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(guarded(tmp_path), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("authorise", token=TOKEN)
            await client.say("authorise", token=TOKEN)
            await client.speak("a", "abc.")
            await client.until("context.done")
            assert client.order.count("ready") == 1

    play(scenario())


def test_a_token_that_does_not_come_in_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = guarded(tmp_path, limits={"handshake_s": 0.2})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            assert await client.until_closed() == 4401

    play(scenario())


def test_who_has_shown_the_token_may_stay_longer_than_it_may_take_to_come(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(guarded(tmp_path), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("authorise", token=TOKEN)
            await client.until("ready")
            [connection] = daemon.server._connections
            connection._opened_at -= 2 * daemon.services.config.limits.handshake_s
            assert connection.check() is None

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
