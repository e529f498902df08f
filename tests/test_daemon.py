"""The process: its command line, its signals, its exit codes, its log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import daemon as daemon_module
from tests.daemon_rig import Client, ServedFakeEngine, play, serving, settings

REPOSITORY = Path(__file__).parent.parent
COMMAND = (sys.executable, "-m", "app.daemon")


class Process:
    """A daemon in a process of its own, and what it writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []

    async def line(self, event: str) -> dict[str, Any]:
        """Read the log until an event."""
        assert self.process.stderr is not None
        while True:
            line = await self.process.stderr.readline()
            assert line, f"the daemon ended before '{event}': {self.log}"
            self.log.append(json.loads(line))
            if self.log[-1]["event"] == event:
                return self.log[-1]

    async def rest(self) -> tuple[int, float]:
        """Read to the end; the exit code, and how long it took."""
        began = time.monotonic()
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.append(json.loads(line))
        return await self.process.wait(), time.monotonic() - began


@contextlib.asynccontextmanager
async def process(config: Path) -> AsyncIterator[tuple[Process, Any]]:
    """A daemon that is ready, and something a client can connect to."""
    started = await asyncio.create_subprocess_exec(
        *COMMAND, "--config", str(config), cwd=REPOSITORY, stderr=asyncio.subprocess.PIPE
    )
    running = Process(started)
    try:
        port = (await running.line("listening"))["port"]
        await running.line("ready")
        yield running, SimpleNamespace(server=SimpleNamespace(port=port))
    finally:
        if started.returncode is None:
            started.kill()
            await started.communicate()  # to the end of its log, so that the pipe is closed


@pytest.fixture
def config(tmp_path: Path, tiny_bundle: Path) -> Path:
    file = tmp_path / "speakd.toml"
    file.write_text(
        f'[voice]\nbundle = "{tiny_bundle}"\n[engine]\npositions = 128\n'
        '[server]\nport = 0\nsocket = ""\ngrace_s = 0.5\nslots = 2\n'
    )
    return file


def test_sigterm_under_load_tells_everyone_and_leaves_in_time(config: Path) -> None:
    async def scenario() -> None:
        async with process(config) as (daemon, door), contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(door)) for _ in range(6)]
            for client in clients:
                for name in "ab":
                    await client.say("context.start", name)
                    await client.say("text", name, text="Some text to speak, and more of it. " * 20)
            await clients[0].until("audio", 3)
            daemon.process.send_signal(signal.SIGTERM)
            code, took = await daemon.rest()
            assert code == 0
            assert took < 0.5 + 1.0
            for client in clients:
                assert await client.until_closed() == 1012
                for name in "ab":
                    assert client.heard[name].done["outcome"] in {"cancelled", "end", "limit"}
            assert daemon.log[-1]["event"] == "stopped"

    play(scenario())


def test_reload_and_statistics(config: Path) -> None:
    async def scenario() -> None:
        async with process(config) as (daemon, door):
            text = config.read_text()
            config.write_text(text + "[limits]\ncontexts = 0\n")
            daemon.process.send_signal(signal.SIGHUP)
            refused = await daemon.line("the configuration was refused; the old one stands")
            assert "limits.contexts" in refused["error"]
            config.write_text(text + "[limits]\ncontexts = 2\n")
            daemon.process.send_signal(signal.SIGHUP)
            assert (await daemon.line("reloaded"))["need_a_restart"] == []
            async with Client(door) as client:
                await client.until("ready")
                assert client.ready["limits"]["contexts"] == 2
                daemon.process.send_signal(signal.SIGUSR1)
                figures = await daemon.line("statistics")
                assert figures["sockets"] == 1
                assert next(iter(figures["engines"].values()))["slots"] == 2
            daemon.process.send_signal(signal.SIGINT)
            assert (await daemon.rest())[0] == 0

    play(scenario())


@pytest.mark.parametrize("wanted", [False, True])
def test_one_line_for_each_utterance_and_its_text_only_if_wanted(config: Path, wanted: bool) -> None:
    async def scenario() -> None:
        config.write_text(config.read_text() + f"[log]\ntext = {str(wanted).lower()}\n")
        async with process(config) as (daemon, door), Client(door) as client:
            await client.speak("a", "Secret words.", max_frames=5)
            await client.until("context.done")
            line = await daemon.line("utterance")
            assert line["outcome"] in {"end", "limit"}
            assert {"session", "frames", "first_audio_ms", "engine_ms", "underruns"} <= set(line)
            assert ("Secret" in json.dumps(daemon.log)) is wanted

    play(scenario())


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_check(config: Path) -> None:
    good = run("--config", str(config), "--check")
    assert (good.returncode, good.stdout) == (0, "speakd: the configuration is good\n")


@pytest.mark.parametrize("key", ["bundle", "speaker", "language"])
def test_a_check_looks_for_the_voice(config: Path, key: str) -> None:
    setting = f'[voice]\n{key} = "nowhere"\n'
    config.write_text(config.read_text().replace("[voice]\n", setting) if key != "bundle" else setting)
    bad = run("--config", str(config), "--check")
    assert (bad.returncode, bad.stdout, len(bad.stderr.splitlines())) == (1, "", 1)
    assert "nowhere" in bad.stderr


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_reason_to_fail(config: Path, closed: str) -> None:
    command = (*COMMAND, "--config", str(config), "--check")
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *command], cwd=REPOSITORY, check=False, timeout=60)
    assert done.returncode == 0


def test_a_closed_stdout_does_not_change_what_it_came_to(tmp_path: Path) -> None:
    command = (*COMMAND, "--config", str(tmp_path / "none.toml"))
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command],
        cwd=REPOSITORY, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("[server]\nport = 99999\n", 2, "server.port"),
        ('[server]\nhost = "0.0.0.0"\nport = 0\n', 2, "token_file"),
        (
            '[server]\nhost = "192.0.2.1"\nport = 0\nsocket = ""\n[security]\ntoken_file = "t"\n',
            1,
            "cannot listen",
        ),  # yet
        (f'[server]\nport = 0\nsocket = "/tmp/{"s" * 120}"\n', 2, "s': AF_UNIX path too long"),
        ('[server]\nport = 0\nsocket = "/proc/speakd.sock"\n', 2, "'/proc/speakd.sock'"),
        ('[voice]\nbundle = "nowhere"\n[server]\nport = 0\nsocket = ""\n', 1, "nowhere"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(tmp_path: Path, text: str, code: int, says: str) -> None:
    (tmp_path / "t").write_text("0123456789abcdef")
    file = tmp_path / "bad.toml"
    file.write_text(text)
    done = run("--config", str(file))
    assert done.returncode == code, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("speakd: ")
    assert says in last
    assert "Traceback" not in done.stderr


def test_an_engine_that_takes_long_to_end_is_named_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_module, "_CLOSE_LEAST_S", 0.0)
    monkeypatch.setattr(daemon_module, "_CLOSE_MOST_S", 0.01)
    found: list[list[str]] = []
    log = SimpleNamespace(info=lambda *_, **__: None, warning=lambda _event, late: found.append(late))
    monkeypatch.setattr(daemon_module, "_log", log)
    may_end = threading.Event()

    class Slow(ServedFakeEngine):
        def close(self) -> None:
            super().close()
            assert may_end.wait(60.0)

    async def scenario() -> None:
        async with serving(settings(voice={"bundle": "/the/slow/one"}), Slow()):
            pass
        may_end.set()

    play(scenario())
    [late] = found
    assert "/the/slow/one" in late
