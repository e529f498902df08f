"""The voices of a daemon, as clients name them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.executor import BoundedExecutor
from app.voices import VoiceError, VoiceTable, open_model
from engines.errors import BundleError
from tests.daemon_rig import Client, LetterReader, ServedFakeEngine, fakes, play, serving, settings
from tests.fake_engine import INFO


def test_the_configured_language_is_meant_where_a_client_names_none() -> None:
    async def scenario() -> None:
        config = settings(voice={"language": "English", "bundle": "/first"}, server={"bundles": ["/second"]})
        first, second = ServedFakeEngine(), ServedFakeEngine()
        second.info = replace(INFO, name="second", languages=("chinese",))
        async with serving(config, opener=fakes(first, second)) as daemon, Client(daemon) as client:
            await client.speak("a", "abc.")
            await client.speak("b", "abc.", language="auto")
            await client.speak("c", "abc.", voice="second/ada")
            await client.until("context.done", 3)
        assert [one.request.language for one in (*first.started, *second.started)] == ["english", "auto", "auto"]
        with pytest.raises(VoiceError, match="'ada' speaks auto, english, not 'latin'"):
            async with serving(settings(voice={"language": "latin"}), ServedFakeEngine()):
                pass

    play(scenario())


def test_two_voices_of_one_name_are_refused() -> None:
    async def scenario() -> None:
        models = [await fakes(ServedFakeEngine())(f"/{place}", settings(), None) for place in range(3)]
        assert VoiceTable(models[:2]).names == ["ada", "bob", "fake/ada", "fake/bob"]
        assert VoiceTable(models[:2], "Bob").names == ["bob", "ada", "fake/ada", "fake/bob"]
        with pytest.raises(VoiceError, match="two voices are called 'fake/ada'; rename the directory"):
            VoiceTable(models)

    play(scenario())


def test_two_models_of_one_name_are_two_in_the_figures_and_in_the_log() -> None:
    async def scenario() -> None:
        config = settings(voice={"bundle": "/one/bundle"}, server={"bundles": ["/two/bundle"]})
        async with serving(config, opener=fakes(ServedFakeEngine(), ServedFakeEngine(busy_s=2.0))) as daemon:
            lines = daemon.services.metrics.text().decode().splitlines()
            daemon.write_statistics()
        assert 'speakd_engine_busy_seconds{model="/one/bundle"} 0.0' in lines
        assert 'speakd_engine_busy_seconds{model="/two/bundle"} 2.0' in lines
        samples = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
        assert len(samples) == len(set(samples))

    with capture_logs() as log:
        play(scenario())
    [engines] = [entry["engines"] for entry in log if entry["event"] == "statistics"]
    assert list(engines) == ["/one/bundle", "/two/bundle"]


def test_a_bundle_whose_engine_does_not_open_leaves_no_reader_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        pool, reader = BoundedExecutor("text", workers=1, max_waiting=1), LetterReader()
        with pytest.raises(BundleError, match="manifest"):
            await open_model(str(tmp_path), settings(), pool, lambda _: reader)
        pool.shutdown()
        assert reader.closed

    play(scenario())
