"""`scripts/bench speak`: from Enter to the first sample in the sound device, with a daemon that runs.

Purpose: start a daemon whose sound device is ALSA's file plugin, run `speak` again and again, and compare the moment
before each start with the moment the daemon's player says its first sample was in the device; both by the machine's
monotonic clock. Prints a table, then one JSON line. Knows: the daemon's log, ALSA's configuration. Does not know: how
long hardware takes to be opened and to make the sound audible; nothing here has any.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from app.config import load_config
from scripts.bench_tools import ROOT, Value, close, machine, run, show

_TEXT: Final = "Hello there, this is a test."
_DEVICE: Final = """
</usr/share/alsa/alsa.conf>
pcm.kept {{ type file slave.pcm "null" file "{folder}/sound.raw" format "raw" }}
pcm.!default {{ type plug slave {{ pcm "kept" rate 24000 channels 1 format S16_LE }} }}
"""
_WAYS: Final[dict[str, tuple[float, str]]] = {
    "scripts/speak": (60.0, "scripts/speak"),
    "scripts/speak, device just given back": (0.0, "scripts/speak"),
    "speak, as installed": (60.0, ".venv/bin/speak"),
}
"""Seconds until the daemon gives the device back, and the command."""


class Bench:
    """One daemon, and its log."""

    def __init__(self, log: asyncio.StreamReader, environment: dict[str, str]) -> None:
        self._log = log
        self._environment = environment

    async def event(self, *names: str) -> dict[str, Any]:
        """Read the log until one of these comes."""
        async for line in self._log:
            event: dict[str, Any] = json.loads(line)
            if event["event"] in names:
                return event
        raise SystemExit("the daemon ended")

    async def first_sample_ms(self, command: str) -> float:
        """One run."""
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            ROOT / command, _TEXT, env=self._environment, stdin=asyncio.subprocess.DEVNULL
        )
        event = await self.event("playing", "stopped")
        await self.event("utterance")
        if await process.wait():
            raise SystemExit(f"{command} failed")
        return float(event["at_ms"]) - 1000.0 * began


@contextlib.asynccontextmanager
async def serving(release_s: float) -> AsyncIterator[Bench]:
    """A daemon with the voice that `scripts/speak` means."""
    with tempfile.TemporaryDirectory() as folder:
        config, alsa, socket = Path(folder, "speakd.toml"), Path(folder, "asound.conf"), f"{folder}/speakd.sock"
        alsa.write_text(_DEVICE.format(folder=folder))
        voice = load_config().voice
        config.write_text(
            f'[voice]\nbundle = "{voice.bundle}"\nspeaker = "{voice.speaker}"\n[playback]\nrelease_s = {release_s}\n'
            f'[server]\nport = 0\nsocket = "{socket}"\ngrace_s = 0.0\n[log]\nlevel = "debug"\nformat = "json"\n'
        )
        environment = {**os.environ, "ALSA_CONFIG_PATH": str(alsa), "SPEAKD_SOCKET": socket, "XDG_RUNTIME_DIR": folder}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.daemon", "--config", str(config),
            cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            bench = Bench(process.stderr, environment)
            found = await bench.event("loudspeaker")
            if found["absence"]:
                raise SystemExit(found["absence"])
            yield bench
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.communicate()


async def measure(repeat: int) -> list[list[Value]]:
    """A row for each way; the first run of each warms up and does not count."""
    rows: list[list[Value]] = []
    for way, (release_s, command) in _WAYS.items():
        async with serving(release_s) as bench:
            rows.append(_row(way, [await bench.first_sample_ms(command) for _ in range(repeat + 1)][1:]))
    rows.append(_row("python -I -S -c pass, from start to end", [await _bare_ms() for _ in range(repeat)]))
    return rows


async def _bare_ms() -> float:
    """What the machine takes for a process that does nothing: the least any of this can take, and how busy it is."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "pass")
    await process.wait()
    return 1000.0 * (time.monotonic() - began)


def _row(name: str, times_ms: list[float]) -> list[Value]:
    times = sorted(times_ms)
    return [name, times[len(times) // 2], times[max(0, -(-95 * len(times) // 100) - 1)], times[0], times[-1]]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench speak", description="From Enter to the first sample.")
    parser.add_argument("--repeat", type=int, default=20, help="runs of each way")
    arguments = parser.parse_args()
    rows = asyncio.run(measure(arguments.repeat))
    show("Enter to first sample in the device, ms", ("", "median", "p95", "least", "most"), rows)
    close({"bench": "speak", **machine(), "first_sample_ms": {str(row[0]): row[1:3] for row in rows}})


if __name__ == "__main__":
    run(main)
