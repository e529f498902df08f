"""SIGHUP: who may come in after it, and what they are shown."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest

from app.config import Config, ConfigError
from app.daemon import Daemon
from app.executor import BoundedExecutor
from app.voices import VoiceModel
from engines.errors import SpeechError
from tests.daemon_rig import TOKEN, Client, ServedFakeEngine, fakes, guarded, play, serving, settings, turn_until
from tests.test_reload import is_closed, reload, remembering


def test_a_token_can_be_added_and_what_needs_a_restart_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        file, token = tmp_path / "speakd.toml", tmp_path / "token"
        token.write_text(TOKEN)
        async with serving(settings(), opener=fakes(ServedFakeEngine(), ServedFakeEngine())) as daemon:
            skipped = await reload(
                daemon, file, '[server]\nport = 1234\nsocket = ""\ngrace_s = 3\n[security]\ntoken_file = "token"\n'
            )
            assert skipped == ["server.port"]
            assert daemon.services.config.server.port == 0
            assert daemon.services.config.server.grace_s == 3
            async with Client(daemon) as client:
                await client.say("describe")
                assert await client.until_closed() == 4401

    play(scenario())


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """A new one, and its key."""
    certificate, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return certificate, key


async def shown(daemon: Daemon) -> str:
    """The certificate a client sees."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", daemon.server.port or 0))


def test_a_renewed_certificate_is_taken_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        certificate, key = make_certificate(tmp_path)
        files = {"tls_certificate": str(certificate), "tls_key": str(key)}
        async with serving(settings(security=files), opener=fakes(ServedFakeEngine(), ServedFakeEngine())) as daemon:
            assert await shown(daemon) == certificate.read_text()
            make_certificate(tmp_path)
            same = (
                f'[server]\nport = 0\nsocket = ""\n[security]\ntls_certificate = "{certificate}"\ntls_key = "{key}"\n'
            )
            assert await reload(daemon, tmp_path / "speakd.toml", same) == []
            assert await shown(daemon) == certificate.read_text()

    play(scenario())


@pytest.mark.parametrize("trouble", ["voice", "key"])
def test_a_refused_configuration_leaves_the_certificate_as_it_is(tmp_path: Path, trouble: str) -> None:
    """The key is half written while a voice is being opened: OpenSSL has then taken the certificate already."""

    async def scenario() -> None:
        certificate, key = make_certificate(tmp_path)
        old, other = certificate.read_text(), key.read_text()
        opened: list[VoiceModel] = []
        opener = remembering(fakes(ServedFakeEngine(), ServedFakeEngine()), opened)

        async def breaking(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            if opened and trouble == "key":
                key.write_text(other)
            return await opener(bundle, config, text)

        files = {"tls_certificate": str(certificate), "tls_key": str(key)}
        start = settings(voice={"bundle": str(tmp_path / "first")}, security=files)
        async with serving(start, opener=breaking) as daemon:
            make_certificate(tmp_path)
            speaker = "eve" if trouble == "voice" else ""
            text = (
                f'[voice]\nbundle = "second"\nspeaker = "{speaker}"\n[server]\nport = 0\nsocket = ""\n'
                f'bundles = ["first"]\n[security]\n'
                f'tls_certificate = "{certificate}"\ntls_key = "{key}"\n'
            )
            with pytest.raises(SpeechError, match="eve" if trouble == "voice" else "cannot use security.tls_cert"):
                await reload(daemon, tmp_path / "speakd.toml", text)
            assert [is_closed(model) for model in opened] == [False, True], "who was there before speaks on"
            assert await shown(daemon) == old

    play(scenario())


def test_an_address_that_others_reach_keeps_its_token_until_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        start = guarded(tmp_path, server={"host": "0.0.0.0"})
        async with serving(start, opener=fakes(ServedFakeEngine(), ServedFakeEngine())) as daemon:
            with pytest.raises(ConfigError, match=r"'0\.0\.0\.0'.*no token.*until it is restarted"):
                await reload(daemon, file, '[server]\nport = 0\nsocket = ""\n')
            assert daemon.services.guard.wants_token
            text = '[server]\nport = 0\nsocket = ""\n[security]\ntoken_file = "token"\n'
            assert await reload(daemon, file, text) == ["server.host"]
            assert daemon.services.guard.wants_token

    play(scenario())


def test_the_unix_socket_is_as_open_as_the_loopback_after_a_reload_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        file, token, unix = tmp_path / "speakd.toml", tmp_path / "token", tmp_path / "speakd.sock"
        token.write_text(TOKEN)
        start = settings(server={"socket": str(unix)})
        opener = fakes(*(ServedFakeEngine() for _ in range(3)))
        async with serving(start, opener=opener, file=file) as daemon:
            for security, mode in (('token_file = "token"', 0o660), ("", 0o666)):
                file.write_text(f'[server]\nport = 0\nsocket = "{unix}"\n[security]\n{security}\n')
                daemon.reload()
                await turn_until(lambda mode=mode: unix.stat().st_mode & 0o777 == mode)  # type: ignore[misc]

    play(scenario(), 10.0)
