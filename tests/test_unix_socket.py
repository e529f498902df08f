"""The daemon's door for this machine: its file, whoever removes it, and who comes through."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import server, socket_file
from app.config import ConfigError
from app.daemon import Daemon
from tests.daemon_rig import Client, ServedFakeEngine, guarded, play, serving, settings, turn_until


def test_only_a_socket_of_the_network_is_closed_for_being_idle(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = str(tmp_path / "speakd.sock")
        async with serving(settings(server={"socket": path}), ServedFakeEngine()) as daemon:
            for unix, why in ((path, None), ("", "idle_socket")):
                async with Client(daemon, unix=unix) as client:
                    await client.until("ready")
                    await turn_until(lambda: daemon.services.gate.sockets == 1)
                    [connection] = daemon.server._connections
                    connection._peer.busy_at -= 2 * daemon.services.config.limits.idle_s
                    assert connection.check() == why

    play(scenario())


def test_the_unix_socket(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "run" / "speakd.sock"
        config = guarded(tmp_path, server={"socket": str(path)})
        async with serving(config, ServedFakeEngine()) as daemon:
            assert path.stat().st_mode & 0o777 == 0o660
            async with Client(daemon, unix=str(path)) as client:
                await client.speak("a", "abc.")  # the file's permissions stand for the token
                await client.until("context.done")
            with pytest.raises(ConfigError, match="another daemon listens"):
                await Daemon(config, None).run()
        assert not path.exists()
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(path))
        dead.close()
        async with serving(config, ServedFakeEngine()) as daemon, Client(daemon, unix=str(path)) as client:
            await client.until("ready")

    play(scenario())


def test_a_later_daemons_socket_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        path = tmp_path / "speakd.sock"
        config = settings(server={"socket": str(path)})
        monkeypatch.setattr(server, "_CHECK_S", 3600.0)  # the first makes none again
        async with contextlib.AsyncExitStack() as later:
            async with serving(config, ServedFakeEngine()):
                path.unlink()  # a logout, or somebody who cleans up
                daemon = await later.enter_async_context(serving(config, ServedFakeEngine()))
            async with Client(daemon, unix=str(path)) as client:
                await client.until("ready")
        assert not path.exists()

    play(scenario())


def test_a_removed_socket_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_CHECK_S", 0.01)

    async def scenario() -> None:
        path = tmp_path / "run" / "speakd.sock"
        config = guarded(tmp_path, server={"socket": str(path)})
        async with (
            serving(config, ServedFakeEngine()) as daemon,
            Client(daemon, unix=str(path)) as inside,
        ):
            await inside.until("ready")
            path.unlink()
            await turn_until(path.exists)
            path.unlink()
            path.parent.rmdir()  # a logout takes the directory too
            await turn_until(lambda: path.exists() and path.stat().st_mode & 0o777 == 0o660)
            async with Client(daemon, unix=str(path)) as newcomer:
                for client in (inside, newcomer):
                    await client.speak("a", "abc.")
                    await client.until("context.done")
        assert not path.exists()

    play(scenario())


def test_a_socket_that_cannot_be_made_again_is_complained_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def say(event: str, **_: str) -> None:
        said.append(event)

    monkeypatch.setattr(server, "_CHECK_S", 0.01)
    monkeypatch.setattr(server, "_log", SimpleNamespace(error=say, warning=say))

    async def scenario() -> None:
        path = tmp_path / "run" / "speakd.sock"
        tries = 0

        def clear(_path: Path) -> None:
            nonlocal tries
            tries += 1
            raise OSError("nobody may write here")

        async with serving(settings(server={"socket": str(path)}), ServedFakeEngine()) as daemon:
            with monkeypatch.context() as forbidden:
                forbidden.setattr(socket_file, "clear", clear)
                path.unlink()
                await turn_until(lambda: tries > 2)
                async with Client(daemon) as client:
                    await client.until("ready")
            await turn_until(lambda: len(said) == 2)
            assert path.exists()
        assert said == [
            "the Unix socket's file was removed, and cannot be made again",
            "the Unix socket's file was removed; it was made again",
        ]

    play(scenario())


def test_what_is_no_socket_is_left_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("dear diary")
    with pytest.raises(OSError, match="is in the way: it is not a socket"):
        socket_file.clear(path)
    assert path.read_text() == "dear diary"


def test_a_link_to_nowhere_is_told(tmp_path: Path) -> None:
    """No socket could be made there: "address in use", again and again."""
    path = tmp_path / "speakd.sock"
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="is in the way: it is a link to nowhere"):
        socket_file.clear(path)


def test_a_daemon_that_stands_still_is_alive(tmp_path: Path) -> None:
    path = tmp_path / "speakd.sock"
    with contextlib.ExitStack() as open_ones, socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(path))
        stopped.listen(0)
        full = 0
        while not full:
            waiting = open_ones.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            full = waiting.connect_ex(str(path))
        with pytest.raises(OSError, match="another daemon listens"):
            socket_file.clear(path)
        assert path.exists()


def test_a_socket_of_another_kind_is_left_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        with pytest.raises(OSError, match="wrong type"):
            socket_file.clear(path)
        assert path.exists()


def test_a_directory_of_somebody_else_is_refused_and_one_of_the_systems_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns it could put another socket there."""
    socket_file.clear(Path("/speakd-test.sock"))
    before = os.umask(0o022)
    socket_file.clear(tmp_path / "run" / "speakd" / "speakd.sock")
    os.umask(before)
    assert (tmp_path / "run" / "speakd").stat().st_mode & 0o777 == 0o755, "everybody comes through"
    if os.getuid() == 0:
        os.chown(tmp_path, 12345, -1)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    with pytest.raises(OSError, match="belongs to somebody else"):
        socket_file.clear(tmp_path / "speakd.sock")


def test_only_a_file_that_is_surely_gone_is_gone(tmp_path: Path) -> None:
    """Or a socket that cannot be looked at would be made anew again and again."""
    assert socket_file.is_gone(tmp_path / "speakd.sock")
    assert not socket_file.is_gone(tmp_path)
    assert not socket_file.is_gone(tmp_path / ("x" * 300))
