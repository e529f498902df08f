"""A client's socket: contexts side by side, order, acknowledgements, interruption, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from engines.contract import End
from engines.errors import RequestError
from tests.daemon_rig import Client, ServedFakeEngine, fakes, frames, play, serving, settings, turn_until
from tests.fake_engine import INFO


def test_text_becomes_sound_and_one_last_word() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.until("ready")
            assert client.ready["protocol"] == "speakd.v1"
            assert client.ready["voices"] == ["ada", "bob"]
            assert client.ready["frame_ms"] == 80.0
            await client.speak("a", "abc. de.", voice="BOB", sampling={"seed": 7})
            await client.until("context.done")
            heard = client.heard["a"]
            assert heard.sound == frames(3, 2)
            assert heard.of("context.started") == [
                {"type": "context.started", "context": "a", "number": 0, "encoding": "pcm_s16le", "sample_rate": 24000}
            ]
            assert heard.done["outcome"] == "end"
            assert (heard.done["frames"], heard.done["audio_ms"], heard.done["engine_ms"]) == (5, 400.0, 15.0)
            assert heard.done["first_audio_ms"] > 0
            positions = [header.first_sample for header, _ in heard.blocks]
            lengths = [len(payload) // 2 for _, payload in heard.blocks]
            assert positions == np.concatenate([[0], np.cumsum(lengths)[:-1]]).tolist()
            assert [header.last for header, _ in heard.blocks] == [False] * (len(positions) - 1) + [True]

    play(scenario())


def test_contexts_do_not_mix() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        async with serving(settings(), engine) as daemon, Client(daemon) as client:
            names = [f"c{number}" for number in range(8)]
            for name in names:
                await client.say("context.start", name, pace="fast", sampling={"seed": int(name[1:])})
            for letter in "abcdefgh":
                for name in names:
                    await client.say("text", name, text=letter * (1 + int(name[1:])))
            for name in names:
                await client.say("end", name)
            await client.until("context.done", len(names))
            for number, name in enumerate(names):
                assert client.heard[name].sound == frames(8 * (number + 1))
            assert daemon.services.gate.contexts == 0

    play(scenario())


def test_acks_come_in_order_and_flush_answers_after_its_sound() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a", pace="fast")
            await client.say("text", "a", text="ab", sequence=1)
            await client.say("text", "a", text="c", sequence=2)
            await client.say("flush", "a")
            await client.until("flushed")
            assert client.heard["a"].sound == frames(3)
            assert [ack["sequence"] for ack in client.heard["a"].of("text.ack")] == [1, 2]
            await client.say("text", "a", text="de")
            await client.say("flush", "a")
            await client.until("flushed")
            assert client.heard["a"].sound == frames(3, 2)
            await client.say("end", "a")
            await client.until("context.done")
            assert client.heard["a"].sound == frames(3, 2)

    play(scenario())


def test_sound_begins_while_the_text_goes_on() -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a", pace="fast")
            await client.say("text", "a", text="One sentence. And the ")
            await client.until("audio")
            assert not client.heard["a"].of("context.done")
            await client.say("cancel", "a")
            await client.until("context.done")

    play(scenario())


def test_cancel_is_silence_and_frees_the_engine() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(), engine) as daemon, Client(daemon) as client:
            await client.speak("a", "abcdef.")
            await turn_until(lambda: engine.started and engine.started[0].text_ended)
            engine.started[0].sound(1)
            await client.until("audio")
            await client.say("cancel", "a")
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "cancelled"
            assert engine.started[0].cancelled
            assert client.heard["a"].sound == frames(1)
            await client.say("text", "a", text="x")
            await client.until("error")
            assert client.heard["a"].of("error")[0]["code"] == "unknown_context"
            assert daemon.services.gate.contexts == 0

    play(scenario())


def test_cancel_while_the_listener_is_ahead_stops_at_what_was_sent() -> None:
    """At real-time pace a long text is cut off after about `ahead_ms`, though the engine has made all of it."""

    async def scenario() -> None:
        config = settings(server={"ahead_ms": 300, "block_ms": 100})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.speak("a", 60 * "x", pace="realtime")
            await client.until("audio", 3)
            await client.say("cancel", "a")
            await client.until("context.done")
            assert len(client.heard["a"].sound) <= 8 * 2 * 2400, "no more than went out before the cancel was read"
            assert client.heard["a"].done["underruns"] == 0

    play(scenario())


def test_a_listener_who_leaves_frees_everything() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(), engine) as daemon:
            async with Client(daemon) as client:
                await client.speak("a", "abc.")
                await client.speak("b", "def.")
                await turn_until(lambda: len(engine.started) == 2)
                client.ws.transport.abort()
            await turn_until(lambda: daemon.services.gate.sockets == 0)
            assert all(utterance.cancelled for utterance in engine.started)
            assert (daemon.services.gate.contexts, daemon.services.gate.sockets) == (0, 0)
            assert all(model.users == 0 for model in daemon.services.voices.models) if daemon.services.voices else False

    play(scenario())


def test_a_listener_who_left_keeps_the_place_until_the_engine_has_let_go() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True, slow_to_cancel=True)
        async with serving(settings(), engine) as daemon:
            async with Client(daemon) as client:
                await client.speak("a", "abc.")
                await turn_until(lambda: engine.started)
                client.ws.transport.abort()
            await turn_until(lambda: engine.started[0].cancelled)
            async with Client(daemon) as other:
                await other.until("ready")
                assert daemon.services.gate.sockets == 2
            engine.started[0].end(End.CANCELLED)
            await turn_until(lambda: daemon.services.gate.sockets == 0)

    play(scenario())


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"voice": "eve"}, "unknown_voice", "ada, bob"),
        ({"language": "latin"}, "unknown_language", "auto, english"),
        ({"format": {"encoding": "mp3"}}, "bad_format", "pcm_s16le"),
        ({"format": {"sample_rate": 1000}}, "bad_format", "8000"),
        ({"instruct": "Sing."}, "bad_request", "instruct"),
        ({"initial_codec_chunk_frames": 4}, "bad_request", "1 to 3"),
        ({"pace": "slow"}, "bad_field", "pace"),
        ({"volume": 3}, "unknown_field", "voice"),
    ],
)
def test_wishes_that_cannot_be_met(fields: dict[str, object], code: str, says: str) -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            await client.say("context.start", "a", **fields)
            await client.until("error")
            [error] = client.heard["a"].of("error")
            assert error["code"] == code
            assert says in error["message"]
            assert daemon.services.gate.contexts == 0
            await client.speak("a", "abc.")  # the socket, and the name, are as good as before
            await client.until("context.done")
            assert client.heard["a"].sound == frames(3)

    play(scenario())


def test_a_full_daemon_refuses_a_context_with_a_hint() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        config = settings(server={"max_contexts": 2, "slots": 1})
        async with serving(config, engine) as daemon, Client(daemon) as first, Client(daemon) as second:
            await first.speak("a", "abc.")
            await first.speak("b", "abc.")
            await first.until("context.started", 2)
            await second.speak("c", "abc.")
            await second.until("error")
            [error] = second.heard["c"].of("error")[:1]
            assert error["code"] == "busy"
            assert "try again in" in error["message"]
            await first.say("cancel", "a")
            await first.until("context.done")
            await second.say("context.start", "d")
            await second.until("context.started")

    play(scenario())


def test_an_engine_that_fails_ends_its_context_only() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(hold=True)
        async with serving(settings(), engine) as daemon, Client(daemon) as client:
            await client.speak("a", "abc.")
            await turn_until(lambda: len(engine.started) == 1)
            await client.speak("b", "de.")
            await turn_until(lambda: len(engine.started) == 2 and engine.started[1].text_ended)
            engine.started[0].end(End.ERROR, "the device coughed")
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "error"
            assert client.heard["a"].of("error")[0]["message"] == "the device coughed"
            engine.started[1].sound(2)
            engine.started[1].end()
            await client.until("context.done")
            assert client.heard["b"].done["outcome"] == "end"
            assert client.heard["b"].sound == frames(2)

    play(scenario())


def test_what_the_engine_refuses_is_a_bad_request() -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine(refuse=RequestError("top_k is at most 50"))
        async with serving(settings(), engine) as daemon, Client(daemon) as client:
            await client.speak("a", "abc.")
            await client.until("context.done")
            assert client.heard["a"].of("error")[0]["code"] == "bad_request"
            assert client.heard["a"].done["outcome"] == "error"

    play(scenario())


@pytest.mark.parametrize("pace", ["realtime", "fast"])
@pytest.mark.parametrize("encoding", ["pcm_f32le", "mulaw", "wav", "flac", "opus"])
def test_every_format_comes_through(encoding: str, pace: str) -> None:
    async def scenario() -> None:
        async with serving(settings(), ServedFakeEngine()) as daemon, Client(daemon) as client:
            wanted = {"encoding": encoding, "sample_rate": 16000}
            await client.speak("a", "abcdef", format=wanted, pace=pace)
            await client.until("context.done")
            assert client.heard["a"].sound
            assert client.heard["a"].done["outcome"] == "end"
            assert abs(client.heard["a"].done["audio_ms"] - 480) < 5

    play(scenario())


def test_two_voices_of_two_models() -> None:
    async def scenario() -> None:
        first, second = ServedFakeEngine(), ServedFakeEngine()
        config = settings(server={"bundles": ["/voices/other"]})
        second.info = type(INFO)(**{name: getattr(INFO, name) for name in INFO.__slots__} | {"name": "other"})
        async with serving(config, opener=fakes(first, second)) as daemon, Client(daemon) as client:
            await client.until("ready")
            assert client.ready["voices"] == ["ada", "bob", "other/ada", "other/bob"]
            await client.speak("a", "abc", voice="other/bob")
            await client.until("context.done")
            assert (len(first.started), len(second.started)) == (0, 1)
            assert second.started[0].request.voice == "bob"

    play(scenario())


def test_a_real_model_speaks_the_same_for_the_same_seed(tiny_bundle: object) -> None:
    async def scenario() -> None:
        config = settings(voice={"bundle": str(tiny_bundle)}, engine={"positions": 128})
        async with serving(config) as daemon, Client(daemon) as client:
            wish = {"sampling": {"seed": 5}, "max_frames": 12}
            await client.speak("a", "Hello there. How are you?", **wish)
            await client.speak("b", "Hello there. How are you?", **wish)
            await client.speak("c", "Hello there. How are you?", sampling={"seed": 6}, max_frames=12)
            await client.until("context.done", 3)
            a, b, c = (np.frombuffer(client.heard[name].sound, "<i2").astype(int) for name in "abc")
            assert len(a) == len(b) > 0
            assert np.abs(a - b).max() <= 2, "the same up to rounding: blocks may be cut otherwise"
            assert len(a) != len(c) or np.abs(a - c).max() > 100

    play(scenario())
