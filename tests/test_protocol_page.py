"""docs/protocol.md: it names everything there is, and its examples run as they stand."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import soundfile as sf

from app import audio_format, messages, protocol_errors
from app.config import Config
from app.connection import FULL, NOT_AUTHORISED, RESTARTING, TRY_LATER
from app.http_pages import PATHS
from app.services import limits_of
from app.sink import to_pcm16
from tests.chromium import BROWSER, browsing
from tests.daemon_rig import Client, ServedFakeEngine, play, serving, settings
from tests.fake_engine import sine

PAGE = (Path(__file__).parent.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
WEBSOCAT = shutil.which("websocat")


def example(language: str, port: int | None) -> str:
    [code] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert "127.0.0.1:8765" in code
    return str(code).replace("127.0.0.1:8765", f"127.0.0.1:{port}")


@pytest.mark.parametrize("kind", [*get_args(messages.AnyClientMessage), *get_args(messages.AnyServerMessage)])
def test_every_message_and_field_is_there(kind: type[msgspec.Struct]) -> None:
    tag = kind.__struct_config__.tag
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{tag}` |")]
    for field in msgspec.structs.fields(kind):
        assert f"`{field.encode_name}`" in row, f"{tag} has {field.encode_name}"


def test_ready_stands_there_as_it_is_sent() -> None:
    [example_] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    ready = messages.parse_server(example_)
    assert isinstance(ready, messages.Ready)
    assert ready.limits == limits_of(Config())
    assert ready.formats == audio_format.offers()[:1]
    assert set(msgspec.json.decode(example_)) == {"type", *messages.Ready.__struct_fields__}


def test_everything_else_is_named_too() -> None:
    named = {*get_args(protocol_errors.Code), *audio_format.MEDIA_TYPES, *PATHS}
    codes = {str(code) for code in (NOT_AUTHORISED, FULL, RESTARTING, TRY_LATER, 1000, 1008, 1009, 1011)}
    for name in named:
        assert f"`{name}`" in PAGE, name
    for code in codes:
        assert f"\n| {code} |" in PAGE, code


def test_the_python_client(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with serving(settings(), engine) as daemon:
            (tmp_path / "client.py").write_text(example("python", daemon.server.port))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "client.py", cwd=tmp_path, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await process.communicate()
            assert process.returncode == 0
            assert said.startswith(b"end ")
        sound, rate = sf.read(tmp_path / "answer.wav", dtype="int16")
        frames = sum(len(utterance.ids) for utterance in engine.started)
        assert rate == 24000
        assert len(sound) == frames * 1920 > 0

    play(scenario())


@pytest.mark.skipif(WEBSOCAT is None, reason="needs websocat")
def test_the_shell_line() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon:
            line, players = re.subn(r"aplay .*", "cat", example("sh", daemon.server.port))
            assert players == 1
            shell = await asyncio.create_subprocess_shell(line, stdout=asyncio.subprocess.PIPE)
            sound, _ = await shell.communicate()
            assert shell.returncode == 0
            assert sound == to_pcm16(sine(len("Hellofromashell"))).tobytes()

    play(scenario())


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_the_browser_example(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            serving(settings(), ServedFakeEngine()) as daemon,
            browsing(f"http://127.0.0.1:{daemon.server.port}/", tmp_path) as page,
        ):
            await page.run("{" + example("js", daemon.server.port).replace("let rate", "var rate") + "}; 0")
            await page.until("rate === 24000 && playsUntil > 0.08")

    play(scenario(), 90)


def test_the_promises_of_the_page() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.until("ready")
            assert set(client.ready) == {"type", *messages.Ready.__struct_fields__}
            await client.speak("a", "abc.")
            await client.until("context.done")
            await client.speak("a", "de.")  # the name may be used again
            await client.until("context.done")
            assert len(client.heard["a"].sound) == 2 * 2 * 1920

    play(scenario())
