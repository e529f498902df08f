"""The service manager's view, at a real datagram socket: ready only when warm, alive only while the engine moves."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.config import Config
from app.executor import BoundedExecutor
from app.systemd_notify import SystemdNotify
from app.voices import VoiceModel
from tests.daemon_rig import ServedFakeEngine, fakes, play, serving, settings, turn_until
from tests.service_manager import Manager, environment


def test_the_words(manager: Manager) -> None:
    notify = SystemdNotify(environment(manager))
    notify.ready("two\nlines")
    notify.status("s")
    notify.watchdog()
    notify.extend_timeout(1.5)
    notify.stopping("bye")
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify.reloading()
    notify.close()
    *words, last, end = manager.listen()
    assert words == [
        "READY=1", "STATUS=two lines", "STATUS=s", "WATCHDOG=1", "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1", "STATUS=bye", "RELOADING=1",
    ]  # fmt: skip
    assert end == "STATUS="
    assert before <= int(last.removeprefix("MONOTONIC_USEC=")) < before + 60_000_000


def test_a_status_with_a_name_that_is_no_text_is_said_as_far_as_it_goes(manager: Manager) -> None:
    notify = SystemdNotify(environment(manager))
    notify.status("cannot read '/etc/\udcff.toml'")
    assert manager.listen() == ["STATUS=cannot read '/etc/?.toml'"]
    notify.close()


def test_a_manager_that_does_not_listen_keeps_nobody_waiting(manager: Manager) -> None:
    notify = SystemdNotify(environment(manager))

    def talk() -> None:
        for _ in range(5000):
            notify.watchdog()

    talking = threading.Thread(target=talk, daemon=True)
    talking.start()
    talking.join(30.0)
    assert not talking.is_alive()
    assert 0 < len(manager.listen()) < 5000
    notify.close()


def test_an_abstract_socket() -> None:
    name = f"speakd-test-{os.getpid()}"
    manager = Manager("\0" + name)
    notify = SystemdNotify({"NOTIFY_SOCKET": "@" + name})
    notify.watchdog()
    notify.close()
    assert manager.listen() == ["WATCHDOG=1", "STATUS="]
    manager.socket.close()


def test_without_a_manager_nothing_happens(tmp_path: Path) -> None:
    SystemdNotify({}).ready("x")
    notify = SystemdNotify({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    notify.ready("x")
    notify.close()
    notify.ready("x")


@pytest.mark.parametrize(
    ("words", "patience"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "2000000"}, 2.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}, 2.0),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
    ],
)
def test_the_watchdogs_patience(words: dict[str, str], patience: float | None) -> None:
    assert SystemdNotify(words).watchdog_s == patience


def test_ready_comes_after_the_warm_up_and_stopping_before_the_end(manager: Manager) -> None:
    async def scenario() -> None:
        warm = asyncio.Event()
        opener = fakes(ServedFakeEngine())

        async def slowly(bundle: str, config: Config, text: BoundedExecutor) -> VoiceModel:
            await turn_until(lambda: "STATUS=opening the voices" in manager.listen())
            assert "READY=1" not in manager.heard
            assert any(word.startswith("EXTEND_TIMEOUT_USEC=") for word in manager.heard)
            warm.set()
            return await opener(bundle, config, text)

        async with serving(settings(), opener=slowly, notify=SystemdNotify(environment(manager))):
            assert warm.is_set()
            assert "READY=1" in manager.listen()
            assert "STOPPING=1" not in manager.heard
        assert "STOPPING=1" in manager.listen()

    play(scenario())


def test_the_watchdog_is_fed_only_while_the_engine_moves(manager: Manager) -> None:
    async def scenario() -> None:
        engine = ServedFakeEngine()
        notify = SystemdNotify(environment(manager, WATCHDOG_USEC="400000"))
        async with serving(settings(), engine, notify=notify) as daemon:

            def fed() -> int:
                return manager.listen().count("WATCHDOG=1")

            await turn_until(lambda: fed() >= 2)
            engine.busy_s = daemon.services.config.server.stall_s + 1.0
            beats = daemon.services.metrics.registry.get_sample_value
            name = "speakd_loop_lag_seconds_count"
            await turn_beats(beats, name, 2)
            stuck = fed()
            await turn_beats(beats, name, 5)
            assert fed() == stuck, "no word while the engine's thread is stuck"
            engine.busy_s = 0.0
            await turn_until(lambda: fed() > stuck)

    play(scenario())


async def turn_beats(read: Any, name: str, beats: int) -> None:
    """Wait until the daemon's heart has beaten so often."""
    until = (read(name) or 0.0) + beats
    await turn_until(lambda: (read(name) or 0.0) >= until)


def test_a_reload_is_told(manager: Manager, tmp_path: Path) -> None:
    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        file.write_text("[server]\nahead_ms = 500\n")
        one = ServedFakeEngine()
        notify = SystemdNotify(environment(manager))
        async with serving(settings(), notify=notify, file=file, opener=fakes(one, ServedFakeEngine())) as daemon:
            manager.listen()
            manager.heard.clear()
            daemon.reload()
            await turn_until(lambda: "READY=1" in manager.listen())
            assert manager.heard[0] == "RELOADING=1"
            assert manager.heard.index("READY=1") > 1
            assert daemon.services.config.server.ahead_ms == 500
            for text, told in (("[server", "reload refused: "), ("", "")):
                file.write_text(text)
                manager.heard.clear()
                daemon.reload()
                await turn_until(lambda: "READY=1" in manager.listen())
                (status,) = (word for word in manager.heard if word.startswith("STATUS="))
                assert told in status
                assert ("reload refused" in status) == bool(told)

    play(scenario())
