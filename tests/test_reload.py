"""SIGHUP: a good configuration takes effect under way, a bad one changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import app.reload
from app.config import Config
from app.daemon import Daemon
from app.executor import BoundedExecutor
from app.reload import reload_services, renew_model
from app.voices import OpenModel, VoiceModel
from engines.errors import SpeechError
from tests.daemon_rig import Client, LetterReader, ServedFakeEngine, fakes, play, serving, settings, turn_until
from tests.fake_engine import INFO


def named(name: str, *speakers: str) -> ServedFakeEngine:
    engine = ServedFakeEngine()
    known = {field: getattr(INFO, field) for field in INFO.__slots__}
    engine.info = type(INFO)(**{**known, "name": name, "speakers": speakers})
    return engine


async def reload(daemon: Daemon, file: Path, text: str) -> list[str]:
    file.write_text(text)
    return await reload_services(daemon.services, file)


def test_voices_come_and_go_while_others_speak(tmp_path: Path) -> None:
    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        first, second = named("first", "ada"), named("second", "bob")
        first.hold = True
        start = settings(voice={"bundle": str(tmp_path / "first")})
        async with serving(start, opener=fakes(first, second)) as daemon, Client(daemon) as client:
            await client.speak("a", "abc.")
            await turn_until(lambda: first.started and first.started[0].text_ended)
            assert (
                await reload(
                    daemon,
                    file,
                    f'[voice]\nbundle = "first"\n[server]\nport = 0\nsocket = ""\nbundles = ["{tmp_path}/second"]\n',
                )
                == []
            )
            await client.say("describe")
            await client.until("ready", 2)
            assert client.ready["voices"] == ["ada", "second/bob"]
            await client.speak("b", "de", voice="second/bob")
            await client.until("context.done")
            assert await reload(daemon, file, '[voice]\nbundle = "second"\n[server]\nport = 0\nsocket = ""\n') == []
            await client.speak("c", "de", voice="bob")
            await client.until("context.done")
            assert not first.closed, "somebody still speaks with it"
            first.started[0].sound(3)
            first.started[0].end()
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "end"
            await turn_until(lambda: first.closed)
            assert not second.closed

    play(scenario())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server", "not valid TOML"),
        ("[server]\nprot = 1\n", "did you mean 'port'"),
        ("[server]\nmax_contexts = 500\n", "text.max_waiting"),
        ('[server]\nhost = "0.0.0.0"\n', "token_file"),
        ('[security]\ntoken_file = "nowhere"\n', "cannot read"),
        ('[security]\ntls_certificate = "nowhere"\n', "tls_certificate"),
        ('[voice]\nspeaker = "eve"\n', "ada, bob"),
    ],
)
def test_a_bad_configuration_is_refused_and_the_old_one_stands(tmp_path: Path, text: str, says: str) -> None:
    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        engine, other = ServedFakeEngine(), ServedFakeEngine()
        async with serving(settings(), opener=fakes(engine, other)) as daemon, Client(daemon) as client:
            before = daemon.services.config, daemon.services.guard, daemon.services.voices
            with pytest.raises(Exception, match=says):
                await reload(daemon, file, text)
            assert (daemon.services.config, daemon.services.guard, daemon.services.voices) == before
            await client.speak("a", "abc.")
            await client.until("context.done")
            assert client.heard["a"].done["outcome"] == "end"

    play(scenario())


def remembering(open_model: OpenModel, models: list[VoiceModel]) -> OpenModel:
    """Opens, and remembers what was opened."""

    async def opener(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
        models.append(await open_model(bundle, config, text))
        return models[-1]

    return opener


def is_closed(model: VoiceModel) -> bool:
    assert isinstance(model.engine, ServedFakeEngine)
    assert isinstance(model.reader, LetterReader)
    return model.engine.closed and model.reader.closed


def test_what_a_refused_configuration_opened_is_closed_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        opened: list[VoiceModel] = []
        opener = remembering(fakes(named("first", "ada"), named("second", "bob")), opened)
        async with serving(settings(voice={"bundle": str(tmp_path / "first")}), opener=opener) as daemon:
            with pytest.raises(SpeechError, match="there is no speaker 'eve'"):
                await reload(daemon, tmp_path / "speakd.toml", '[voice]\nbundle = "second"\nspeaker = "eve"\n')
            assert [is_closed(model) for model in opened] == [False, True]

    play(scenario())


def test_a_bundle_that_has_become_another_changes_nothing_when_it_is_opened_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        opened: list[VoiceModel] = []
        opener = remembering(fakes(named("first", "ada"), named("first", "eve")), opened)
        config = settings(voice={"bundle": str(tmp_path / "first"), "speaker": "ada"})
        async with serving(config, opener=opener) as daemon:
            before = daemon.services.voices
            with pytest.raises(SpeechError, match="there is no speaker 'ada'"):
                await renew_model(daemon.services, str(tmp_path / "first"))
            assert daemon.services.voices is before
            assert [is_closed(model) for model in opened] == [False, True]

    play(scenario())


def test_a_renewed_voice_that_nobody_wants_any_more_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        opened: list[VoiceModel] = []
        opener = remembering(fakes(named("first", "ada"), named("second", "bob")), opened)
        async with serving(settings(), opener=opener) as daemon:
            await renew_model(daemon.services, str(tmp_path / "gone"))
            assert [is_closed(model) for model in opened] == [False, True]

    play(scenario())


def test_a_renewed_voice_takes_the_place_of_the_old_one_which_is_closed() -> None:
    async def scenario() -> None:
        async with serving(settings(), opener=fakes(named("first", "ada"), named("second", "bob"))) as daemon:
            assert daemon.services.voices is not None
            [old] = daemon.services.voices.models
            await renew_model(daemon.services, old.path)
            assert daemon.services.voices.names == ["bob"]
            await turn_until(lambda: is_closed(old) and not app.reload._retiring)

    play(scenario())


@pytest.mark.parametrize("opening", [True, False])
def test_a_change_while_voices_are_opened_is_not_missed(tmp_path: Path, opening: bool) -> None:
    async def scenario() -> None:
        file, held, gate = tmp_path / "speakd.toml", asyncio.Event(), asyncio.Event()
        opener = fakes(ServedFakeEngine(), ServedFakeEngine())

        async def hold(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            if opening or bundle.endswith("second"):
                held.set()
                await gate.wait()
            return await opener(bundle, config, text)

        def write(voice: str, grace_s: int) -> None:
            file.write_text(f'[voice]\nbundle = "{voice}"\n[server]\nport = 0\nsocket = ""\ngrace_s = {grace_s}\n')

        async def change(daemon: Daemon) -> None:
            await held.wait()
            write("second", 3)
            daemon.reload()
            gate.set()

        start = settings(voice={"bundle": str(tmp_path / "second")} if opening else {})
        async with serving(start, opener=hold, file=file, meanwhile=change if opening else None) as daemon:
            if not opening:
                write("second", 2)
                daemon.reload()
                await change(daemon)
            await turn_until(lambda: daemon.services.config.server.grace_s == 3)

    play(scenario(), 10.0)


def test_what_an_open_socket_may_do_and_what_is_written_of_it_changes_too(tmp_path: Path) -> None:
    text = '[server]\nport = 0\nsocket = ""\n[limits]\ncontext_idle_s = 7.0\n'

    async def scenario() -> None:
        start = settings(log={"text": True}, security={"loudspeaker_over_tcp": True})
        opener = fakes(ServedFakeEngine(), ServedFakeEngine())
        async with serving(start, opener=opener) as daemon, Client(daemon) as client:
            await client.speak("a", "abc")
            await client.until("context.done")
            assert await reload(daemon, tmp_path / "speakd.toml", text) == []
            await client.speak("b", "private")
            await client.until("context.done")
            await client.speak("c", "abc", play="local")
            await client.until("error")
            assert client.heard["c"].of("error")[0]["code"] == "not_allowed"
            await client.say("describe")
            await client.until("ready")
            assert client.heard[None].of("ready")[-1]["limits"]["context_idle_s"] == 60.0  # as it was told

    with capture_logs() as log:
        play(scenario())
    spoken = {entry["context"]: entry.get("text") for entry in log if entry["event"] == "utterance"}
    assert spoken == {"a": "abc", "b": None}


def test_the_patience_with_the_text_worker_changes_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        file, opener = tmp_path / "speakd.toml", fakes(ServedFakeEngine(), ServedFakeEngine())
        async with serving(settings(), opener=opener, file=file) as daemon:
            assert daemon._text is not None
            assert daemon._text.patience_s == 10.0
            file.write_text('[server]\nport = 0\nsocket = ""\nstall_s = 90.0\n')
            daemon.reload()
            await turn_until(lambda: daemon._text is not None and daemon._text.patience_s == 45.0)

    play(scenario(), 10.0)


def test_whatever_goes_wrong_the_service_manager_hears_a_last_word(tmp_path: Path) -> None:
    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        opener = fakes(ServedFakeEngine())

        async def broken(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            if bundle.endswith("second"):
                raise RuntimeError("nobody foresaw this")
            return await opener(bundle, config, text)

        async with serving(settings(), opener=broken, file=file) as daemon:
            file.write_text('[voice]\nbundle = "second"\n[server]\nport = 0\nsocket = ""\n')
            daemon.reload()
            await turn_until(lambda: daemon.pulse.refused == "nobody foresaw this")

    play(scenario(), 10.0)
