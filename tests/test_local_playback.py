"""The daemon's own loudspeaker, as a person uses it: `scripts/speak`, a daemon, real PortAudio into devices that keep
what they play. The engine is a fake, so that every sample is known."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from app.loudspeaker import Loudspeaker
from app.sink import to_pcm16
from tests.audio_world import find_in, needs_pacing, no_devices, paced_device, recording
from tests.daemon_rig import Client, ServedFakeEngine, play, turn_until
from tests.fake_engine import sine
from tests.playback_place import Place, is_sine, stretches, use


def test_a_text_is_played_exactly(place: Place) -> None:
    async def scenario() -> None:
        async with place.daemon(engine := ServedFakeEngine()):
            async with place.speak("--voice", "bob", "--seed", "3", "abc d") as speak:
                assert await speak.wait() == 0
            assert find_in(place.played(), to_pcm16(sine(4))) == 960, "behind 40 ms of silence"
            assert (engine.started[0].request.voice, engine.started[0].request.seed) == ("bob", 3)
            async with place.speak(stdin=asyncio.subprocess.PIPE) as speak:
                _, said = await speak.communicate("gra\u0308y".encode())
                assert (speak.returncode, said) == (0, b"")
            assert [is_sine(piece, frames) for piece, frames in zip(stretches(place.played()), (4, 5), strict=True)]
        assert place.whole is None

    play(scenario())


def test_several_at_once_do_not_talk_over_each_other(place: Place) -> None:
    async def scenario() -> None:
        async with place.daemon(ServedFakeEngine()):
            async with place.speak("aaa") as one, place.speak("a" * 7) as two, place.speak("a" * 5) as three:
                assert [await one.wait(), await two.wait(), await three.wait()] == [0, 0, 0]
            pieces = stretches(place.played())
            assert sorted(round(len(piece) / 1920) for piece in pieces) == [3, 5, 7]
            assert all(is_sine(piece, round(len(piece) / 1920)) for piece in pieces), "each whole, none mixed"

    play(scenario())


def test_now_interrupts_and_the_others_wait(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with place.daemon(engine) as daemon, place.speak("abc") as first:
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            engine.started[0].sound(9)
            await turn_until(lambda: (place.root / "tofile24.raw").exists() and place.played().any())
            engine.hold = False
            async with place.speak("ab") as patient:
                await turn_until(lambda: daemon.services.loudspeaker.line.waiting == 1)
                async with place.speak("--now", "a" * 6) as urgent:
                    assert await urgent.wait() == 0
                assert await first.wait() == 128 + signal.SIGTERM
                assert await patient.wait() == 0
            assert [len(utterance.ids) for utterance in engine.started] == [3, 6, 2]
            assert engine.started[0].cancelled
            pieces = stretches(place.played())  # the device was opened anew: what it held of the first is gone
            assert [is_sine(piece, frames) for piece, frames in zip(pieces, (6, 2), strict=True)] == [True, True]

    play(scenario())


def test_a_daemon_that_ends_before_all_is_said_is_no_interruption(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with (
            place.daemon(engine, server={"grace_s": 0.0}) as daemon,
            place.speak(stdin=asyncio.subprocess.PIPE) as speak,
        ):
            assert speak.stdin is not None
            speak.stdin.write(b"abc. ")
            await turn_until(lambda: engine.started)
            daemon.stop()
            _, error = await speak.communicate()
            assert (speak.returncode, error) == (1, b"speak: the daemon has gone\n")
        assert place.whole is None

    play(scenario())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_goes_is_silent_and_lets_the_next_play(place: Place, number: signal.Signals) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with place.daemon(engine) as daemon, place.speak("abc") as first:
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            async with place.speak("ab") as second:
                await turn_until(lambda: daemon.services.loudspeaker.line.waiting == 1)
                engine.hold = False
                first.send_signal(number)
                assert await first.wait() == -number
                assert await second.wait() == 0
            assert engine.started[0].cancelled
            await turn_until(lambda: daemon.services.gate.contexts == 0)
            assert daemon.services.loudspeaker.line.free

    play(scenario())


@needs_pacing
def test_the_sound_stops_when_the_client_goes(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with place.daemon(ServedFakeEngine()) as daemon:
            async with place.speak("a" * 375) as speak:  # half a minute
                await turn_until(lambda: np.fromfile(tmp_path / "heard.raw", "<i2").any())
                speak.kill()
            await turn_until(lambda: daemon.services.loudspeaker.line.free)
            async with place.speak("ab") as speak:
                assert await speak.wait() == 0

    with paced_device(tmp_path) as world, recording(world, tmp_path / "heard.raw"):
        use({**world, "SPEAKD_SOCKET": str(place.socket)}, monkeypatch)
        play(scenario())
    first, *_ = pieces = stretches(np.fromfile(tmp_path / "heard.raw", "<i2"), 480)  # less than the lead-in
    assert len(first) < 24000 * 15, "it did not go on to its end"
    assert len(pieces) >= 2, "and the next one was heard"


def test_a_daemon_without_a_device_leaves_it_to_the_client(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with place.daemon(ServedFakeEngine()) as daemon:
            async with place.speak("--now", "a b") as speak:
                assert await speak.wait() == 5
            assert place.whole == ["--now", "a b"]
            async with Client(daemon, unix=str(place.socket)) as client:
                await client.speak("a", "abc", play="local")
                await client.until("error")
                [error, *_] = client.heard["a"].of("error")
                assert error["code"] == "no_loudspeaker"
                assert "no sound device" in error["message"]
                await client.speak("b", "abc")
                await client.until("context.done")

    use({**no_devices(place.root), "SPEAKD_SOCKET": str(place.socket)}, monkeypatch)
    play(scenario())


def test_no_daemon_another_voice_another_option(place: Place) -> None:
    async def scenario() -> None:
        for arguments in (["Hello"], ["--stats", "x"], ["-o", "x.wav", "a  b"]):
            async with place.speak(*arguments) as speak:
                assert await speak.wait() == 5
            assert place.whole == arguments
        async with place.daemon(engine := ServedFakeEngine()):
            (place.root / "voice/manifest.json").write_text("{ }")
            async with place.speak("Hello") as speak:
                assert await speak.wait() == 5, "it is another model"
        assert engine.started == []

    play(scenario())


def test_what_is_wrong_is_for_the_whole_command_to_say(place: Place) -> None:
    async def scenario() -> None:
        async with place.daemon(engine := ServedFakeEngine()):
            for arguments in (["--voice", "eve", "Hello"], ["."]):  # nothing of a dot can be said
                async with place.speak(*arguments) as speak:
                    assert await speak.wait() == 5
                assert place.whole == arguments
            async with place.speak(stdin=asyncio.subprocess.PIPE) as speak:
                _, said = await speak.communicate(b"ab \xff")
                assert speak.returncode == 1
                assert b"speak: the text is not valid UTF-8: byte 0xff at offset 3" in said
        assert all(utterance.cancelled or not utterance.ids for utterance in engine.started)

    play(scenario())


def test_a_pipe_longer_than_a_context_takes_is_spoken_whole(place: Place) -> None:
    async def scenario() -> None:
        async with (
            place.daemon(engine := ServedFakeEngine(), limits={"text_characters": 100}),
            place.speak(stdin=asyncio.subprocess.PIPE) as speak,
        ):
            _, said = await speak.communicate(7 * (b"a. " * 9 + b"aa. ") + b"b")
            assert (speak.returncode, said) == (0, b"")
        assert "".join(chr(letter) for utterance in engine.started for letter in utterance.ids) == 77 * "a" + "b"
        assert [len(utterance.ids) for utterance in engine.started] == [*7 * [*9 * [1], 2], 1]

    play(scenario())


def test_a_pipe_goes_into_messages_that_the_daemon_takes(place: Place) -> None:
    async def scenario() -> None:
        async with (
            place.daemon(engine := ServedFakeEngine(), limits={"message_bytes": 1024}),
            place.speak(stdin=asyncio.subprocess.PIPE) as speak,
        ):
            _, said = await speak.communicate((100 * "\U0001d4b6").encode())
            assert (speak.returncode, said) == (0, b"")
        assert sum(len(utterance.ids) for utterance in engine.started) == 100

    play(scenario())


def test_programs_that_play_by_themselves_are_respected(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with place.daemon(engine) as daemon, Client(daemon, unix=str(place.socket)) as client:
            async with Loudspeaker(None, now=False):
                await client.speak("a", "abc", play="local")
                await turn_until(lambda: engine.started and engine.started[0].outcome.done())
                free_at = time.monotonic()
            await client.until("context.done")
            assert client.heard["a"].of("playback")[0]["at_ms"] > 1000 * free_at
            engine.hold = True
            await client.speak("b", "abc", play="local")
            await turn_until(lambda: len(engine.started) == 2 and engine.started[1].text_ended)
            engine.started[1].sound(3)
            await client.until("playback")
            player = daemon.services.loudspeaker.player
            assert player._process is not None
            os.kill(player._process.pid, signal.SIGTERM)  # what another program's --now does
            await client.until("context.done")
            assert client.heard["b"].done["outcome"] == "cancelled"
            assert player.absence() is None

    play(scenario())


def test_only_clients_of_the_unix_socket_play_here(place: Place) -> None:
    async def scenario() -> None:
        async with place.daemon(ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.speak("a", "abc", play="local")
            await client.until("error")
            assert client.heard["a"].of("error")[0]["code"] == "not_allowed"
        async with (
            place.daemon(ServedFakeEngine(), security={"loudspeaker_over_tcp": True}) as daemon,
            Client(daemon) as client,
        ):
            await client.speak("a", "abc", play="local")
            await client.until("context.done")
            heard = client.heard["a"]
            assert heard.blocks == []
            assert [message["state"] for message in heard.of("playback")] == ["playing"]
            assert heard.done["outcome"] == "end"
            assert heard.done["first_audio_ms"] > 0
            await client.speak("b", "abc", play="local", format={"encoding": "wav"})
            await client.until("error")
            await client.speak("c", "abc", now=True)
            await client.until("error", 5)  # its text and its end are refused too
            assert {client.heard[name].of("error")[0]["code"] for name in "bc"} == {"bad_request"}

    play(scenario())


def test_a_player_that_dies_takes_nobody_with_it(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with place.daemon(engine) as daemon, Client(daemon, unix=str(place.socket)) as client:
            await client.speak("a", "abc", play="local")
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            player = daemon.services.loudspeaker.player
            assert player._process is not None
            os.kill(player._process.pid, signal.SIGSEGV)
            engine.started[0].sound(3)
            engine.started[0].end()
            await client.until("context.done")
            assert client.heard["a"].of("error")[0]["code"] == "no_loudspeaker"
            engine.hold = False
            assert player.absence() is not None
            await turn_until(lambda: player.absence() is None)
            await client.speak("b", "ab", play="local")
            await client.until("context.done")
            assert client.heard["b"].done["outcome"] == "end"

    play(scenario())


def test_a_player_that_hangs_is_ended(place: Place) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with place.daemon(engine) as daemon, Client(daemon, unix=str(place.socket)) as client:
            player = daemon.services.loudspeaker.player
            assert player._process is not None
            player._process.send_signal(signal.SIGSTOP)
            await client.speak("a", "abc", play="local")
            await turn_until(lambda: engine.started and engine.started[0].outcome.done())
            await client.say("cancel", "a")
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "cancelled"
            await turn_until(lambda: player.absence() is None)
            await client.speak("b", "ab", play="local")
            await client.until("context.done")
            assert client.heard["b"].done["outcome"] == "end"

    play(scenario())
