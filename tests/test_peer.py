"""When a client is taken for dead, and when it is the daemon that was not there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.daemon_rig import TOKEN, Client, ServedFakeEngine, guarded, play, serving, settings, turn_until

AWAY_S = 1000.0
"""Longer than every patience."""


def stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process sees that was stopped, or whose container was frozen, for so long."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + AWAY_S)


def test_a_client_is_not_cut_off_because_the_daemon_stood_still(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        config = settings(limits={"idle_s": 300, "ping_s": 0.1, "peer_timeout_s": 60})
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon, ping_interval=None) as client:
            await client.until("ready")
            [connection] = daemon.server._connections
            asked_at = connection._peer.pinged_at
            stand_still(monkeypatch)
            await turn_until(lambda: connection._peer.pinged_at > asked_at + AWAY_S or not daemon.services.gate.sockets)
            await client.say("describe")
            await client.until("ready")

    play(scenario(), 2 * AWAY_S)


def test_nor_one_that_was_about_to_show_its_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            serving(guarded(tmp_path), ServedFakeEngine()) as daemon,
            Client(daemon, ping_interval=None) as client,
        ):
            await turn_until(lambda: daemon.services.gate.sockets)
            [connection] = daemon.server._connections
            opened_at = connection._opened_at
            stand_still(monkeypatch)
            await turn_until(lambda: connection._opened_at > opened_at or not daemon.services.gate.sockets)
            await client.say("authorise", token=TOKEN)
            await client.until("ready")

    play(scenario(), 2 * AWAY_S)
