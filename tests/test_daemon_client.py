"""`speak` through a daemon: found only if it is the same voice, and heard the same as without one."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from app.daemon_client import RemoteSession, find_daemon
from app.small_websocket import SmallWebSocket
from app.wishes import Wishes
from engines.contract import End, Layout, Pace, Sampling
from engines.errors import SpeechError
from tests.daemon_rig import ServedFakeEngine, play, serving, settings, turn_until
from tests.fake_engine import INFO, sine
from tests.session_rig import ListSink
from tests.test_daemon import process

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture
def socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "speakd.sock"
    monkeypatch.setenv("SPEAKD_SOCKET", str(path))
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "voice").mkdir()
    (tmp_path / "voice/manifest.json").write_text("{}")
    return tmp_path / "voice"


def wishes(bundle: Path) -> Wishes:
    return Wishes(
        words=["x"],
        output=None,
        file_format=None,
        device=None,
        bundle=bundle,
        voice=None,
        language="auto",
        instruct="",
        layout=Layout.AUTO,
        seed=3,
        sampling=Sampling(),
        max_frames=None,
        save_codes=None,
        normalize=True,
        stats=False,
    )


async def texts(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece


async def connected(wish: Wishes) -> SmallWebSocket:
    socket = await find_daemon(wish)
    assert socket is not None
    return socket


def test_it_speaks(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        async with serving(config, engine):
            sink, wish = ListSink(), replace(wishes(bundle), voice="bob", sampling=Sampling(greedy=True))
            session = RemoteSession(await connected(wish), sink, wish, 3, Pace.FAST)
            report = await session.run(texts("ab", "c. d", 9000 * " ", "e"))
            assert np.array_equal(sink.sound, np.concatenate([sine(3), sine(2)]))
            assert sink.ended == ["finish"]
            assert (report.outcome, report.frames, report.samples) == (End.END, 5, 5 * 1920)
            assert report.first_audio_ms is not None
            request = engine.started[0].request
            assert (request.voice, request.seed, request.sampling.greedy) == ("bob", 3, True)

    play(scenario())


def test_every_wish_reaches_the_engine(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        engine.info = replace(INFO, takes_instruct=True)
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        sampling = Sampling(temperature=0.5, top_k=3, top_p=0.25, repetition_penalty=1.5)
        wish = replace(wishes(bundle), language="english", instruct="Sing.", sampling=sampling, max_frames=9)
        async with serving(config, engine):
            await RemoteSession(await connected(wish), ListSink(), wish, 4, Pace.FAST).run(texts("ab"))
        request = engine.started[0].request
        assert (request.language, request.instruct_ids, request.max_frames) == ("english", (1,), 9)
        assert (replace(request.sampling, greedy=None), request.seed, request.pace) == (sampling, 4, Pace.FAST)

    play(scenario())


def test_it_is_interrupted(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        async with serving(config, engine):
            for count, stats in enumerate((False, True), 1):
                sink, wish = ListSink(), replace(wishes(bundle), stats=stats)
                session = RemoteSession(await connected(wish), sink, wish, 3, Pace.REALTIME)
                running = asyncio.ensure_future(session.run(texts("abc")))
                await turn_until(partial(lambda count: len(engine.started) == count, count))
                await turn_until(lambda: engine.started[-1].text_ended)
                engine.started[-1].sound(2)
                await turn_until(partial(lambda sink: sink.blocks, sink))
                session.cancel()
                session.cancel()
                report = await running
                assert (report.outcome, report.frames) == (End.CANCELLED, 3 if stats else 0)
                assert sink.ended == ["stop"]
                await turn_until(lambda: engine.started[-1].cancelled)

    play(scenario())


def test_what_fails_is_said(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        async with serving(config, engine) as daemon:
            wish = replace(wishes(bundle), voice="eve")
            with pytest.raises(SpeechError, match="ada, bob"):
                await RemoteSession(await connected(wish), ListSink(), wish, 3, Pace.REALTIME).run(texts("abc"))
            sink, wish = ListSink(), wishes(bundle)
            session = RemoteSession(await connected(wish), sink, wish, 3, Pace.REALTIME)
            running = asyncio.ensure_future(session.run(texts("abc")))
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            engine.started[0].end(End.ERROR, "the device coughed")
            with pytest.raises(SpeechError, match="coughed"):
                await running
            assert sink.ended == ["abort"]

            async def broken() -> AsyncIterator[str]:
                yield "ab"
                raise SpeechError("not UTF-8")

            with pytest.raises(SpeechError, match="not UTF-8"):
                await RemoteSession(await connected(wish), ListSink(), wish, 3, Pace.REALTIME).run(broken())
            await turn_until(lambda: daemon.services.gate.contexts == 0)

    play(scenario())


def test_a_daemon_that_dies_is_reported(socket: Path, bundle: Path) -> None:
    """What it had spoken by then is not taken for the whole."""

    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket), "grace_s": 0.0})
        sink, wish = ListSink(), wishes(bundle)
        async with serving(config, engine):
            session = RemoteSession(await connected(wish), sink, wish, 3, Pace.REALTIME)
            running = asyncio.ensure_future(session.run(texts("abc")))
            await turn_until(lambda: engine.started)
            engine.started[0].sound(2)
            await turn_until(lambda: sink.blocks)
        with pytest.raises(SpeechError, match="the daemon was stopped before all was spoken"):
            await running
        assert sink.ended == ["abort"]

    play(scenario())


@pytest.mark.parametrize("pieces", [("ab.", "cde."), ()])
def test_a_writer_may_think_for_longer_than_a_context_waits(
    socket: Path, bundle: Path, pieces: tuple[str, ...]
) -> None:
    async def scenario() -> None:
        doors = {"socket": str(socket)}
        config = settings(voice={"bundle": str(bundle)}, server=doors, limits={"context_idle_s": 0.05})
        async with serving(config, ServedFakeEngine()):
            sink, wish = ListSink(), wishes(bundle)
            session = RemoteSession(await connected(wish), sink, wish, 3, Pace.FAST)

            async def thinks() -> AsyncIterator[str]:
                for piece in pieces:
                    await turn_until(lambda: not session._relay.open)
                    yield piece
                await turn_until(lambda: not session._relay.open)

            report = await session.run(thinks())
            frames = len("".join(pieces).replace(".", ""))
            assert (report.outcome, report.frames, report.samples) == (End.END, frames, frames * 1920)
            assert sink.ended == ["finish"]

    play(scenario())


def test_a_text_longer_than_a_context_takes_is_spoken_whole(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        doors = {"socket": str(socket)}
        config = settings(voice={"bundle": str(bundle)}, server=doors, limits={"text_characters": 300})
        async with serving(config, engine):
            sink, wish = ListSink(), wishes(bundle)
            session = RemoteSession(await connected(wish), sink, wish, 3, Pace.FAST)
            sentence = 8 * "aa " + "aaa. "
            report = await session.run(texts(5 * sentence, *7 * (*8 * ("aa ",), "aaa. "), "b"))
            assert [len(utterance.ids) for utterance in engine.started] == [*12 * [19], 1]
            assert (report.outcome, report.frames, report.samples) == (End.END, 229, 229 * 1920)

    play(scenario())


def test_a_daemon_that_takes_short_messages_only_hears_a_long_text_too(socket: Path, bundle: Path) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        doors = {"socket": str(socket)}
        config = settings(voice={"bundle": str(bundle)}, server=doors, limits={"message_bytes": 1024})
        async with serving(config, engine):
            wish = wishes(bundle)
            session = RemoteSession(await connected(wish), ListSink(), wish, 3, Pace.FAST)
            report = await session.run(texts(200 * "\x01" + 3000 * " " + 200 * "\U0001d4b6"))
            assert (report.outcome, report.frames) == (End.END, 400)

    play(scenario())


@pytest.mark.parametrize(
    "other",
    [
        {"layout": Layout.WHOLE},
        {"normalize": False},
        {"save_codes": Path("x")},
        {"seed": 1 << 40},
        {"max_frames": 1 << 40},
        {"sampling": Sampling(temperature=math.nan)},
        {"sampling": Sampling(temperature=0.0)},
    ],
)
def test_what_only_this_process_can_do(socket: Path, bundle: Path, other: dict[str, object]) -> None:
    async def scenario() -> None:
        config = settings(voice={"bundle": str(bundle)}, server={"socket": str(socket)})
        async with serving(config, ServedFakeEngine()):
            assert await find_daemon(replace(wishes(bundle), **other)) is None  # type: ignore[arg-type]

    play(scenario())


def test_the_command_sounds_the_same_with_a_daemon_and_without(tmp_path: Path, tiny_bundle: Path) -> None:
    file = tmp_path / "speakd.toml"
    path = tmp_path / "speakd.sock"
    file.write_text(f'[voice]\nbundle = "{tiny_bundle}"\n[server]\nport = 0\nsocket = "{path}"\ngrace_s = 0.0\n')

    async def speak(name: str, *options: str) -> None:
        done = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.cli", "--config", str(file), "--seed", "4", "--max-frames", "20",
            "-o", str(tmp_path / name), *options, "Two words. And a second sentence to say.",
            cwd=REPOSITORY, env={**os.environ, "SPEAKD_SOCKET": str(path)}, stderr=subprocess.PIPE,
        )  # fmt: skip
        _, said = await done.communicate()
        assert done.returncode == 0, said

    async def scenario() -> None:
        async with process(file) as (daemon, _):
            await speak("with.wav")
            assert (await daemon.line("utterance"))["outcome"] in {"end", "limit"}
            await speak("without.wav", "--no-daemon")
            await speak("told.wav", "--instruct", "Whisper.")  # which this voice leaves out
            daemon.process.terminate()
            await daemon.rest()
            assert [line["event"] for line in daemon.log].count("utterance") == 2
        ours, rate = sf.read(tmp_path / "with.wav", dtype="int16")
        theirs, _ = sf.read(tmp_path / "without.wav", dtype="int16")
        assert rate == 24000
        assert len(ours) == len(theirs) > 0
        assert np.abs(ours.astype(int) - theirs).max() <= 2
        assert (tmp_path / "told.wav").read_bytes() == (tmp_path / "with.wav").read_bytes()

    play(scenario())
