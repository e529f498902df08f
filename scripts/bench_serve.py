"""`scripts/bench serve`: what clients of a loaded daemon see, and what /health answers meanwhile.

Purpose: for each concurrency, a process full of clients speaks while this one polls /health; with the text and audio
work away from the loop, and with that switched off, in one run. Prints a table, then one JSON line. Knows: the
daemon as a black box. Does not know: its insides, but for the averages it shows in /metrics.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.promptness import be_prompt
from app.threads import in_thread
from scripts.bench_tools import DEFAULT_BUNDLE, ROOT, Value, close, machine, run, show

_POLL_S: Final = 0.01
_COLUMNS: Final = (
    "offload", "clients", "health p50", "p95", "p99", "max", "polls", "asleep p99", "TTFA p50", "p95", "RTF",
    "utt/s", "audio s/s", "refused", "underruns", "continuous",
)  # fmt: skip


@contextlib.asynccontextmanager
async def daemon_process(
    bundle: str, slots: int, *, offload: bool
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A daemon in a process of its own, and its port."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "speakd.toml"
        file.write_text(
            f'[voice]\nbundle = "{Path(bundle).resolve()}"\n[server]\nport = 0\nsocket = ""\nslots = {slots}\n'
            f'offload = {str(offload).lower()}\ngrace_s = 0.0\n[log]\nlevel = "info"\nformat = "json"\n'
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.daemon", "--config", str(file), cwd=ROOT, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        drain: asyncio.Task[bytes] | None = None
        port, said = 0, "the daemon did not start"
        try:
            async for line in process.stderr:
                if not line.startswith(b"{"):  # its last words, for people
                    said = line.decode().strip()
                    continue
                event = json.loads(line)
                port = event.get("port", port)
                if event["event"] == "ready":
                    break
            else:
                raise SystemExit(said)
            drain = asyncio.ensure_future(_discard(process.stderr))
            yield process, port
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            if drain is not None:
                await drain


async def _discard(stream: asyncio.StreamReader) -> bytes:
    while await stream.read(1 << 16):
        pass
    return b""


async def get(port: int, path: str) -> bytes:
    """The whole answer to a GET on a new connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


@dataclass
class Polls:
    """Milliseconds."""

    health: list[float] = field(default_factory=list)
    """Of every GET /health, from connect to the end of the answer."""
    asleep: list[float] = field(default_factory=list)
    """How late the poller woke from its pauses: what the machine adds, whoever answers."""


def poll(port: int, until: threading.Event) -> Polls:
    """GET /health again and again, on plain sockets and a prompt thread: what is measured is the daemon."""
    be_prompt()
    seen = Polls()
    while not until.is_set():
        began = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b"".join(iter(lambda: link.recv(4096), b""))
        paused = time.perf_counter()
        seen.health.append(1000 * (paused - began))
        assert answer.startswith(b"HTTP/1.1 200"), answer[:100]
        time.sleep(_POLL_S)
        seen.asleep.append(1000 * (time.perf_counter() - paused - _POLL_S))
    return seen


async def level(port: int, concurrency: int, wish: argparse.Namespace) -> dict[str, Value]:
    """One concurrency."""
    done = threading.Event()
    polling = asyncio.ensure_future(in_thread("poll", lambda: poll(port, done)))
    seen: dict[str, Any] | None = None
    try:
        if concurrency:
            seen = await _load(port, concurrency, wish)
        else:
            await asyncio.sleep(3.0)
    finally:
        done.set()
        polls = await polling
    return _figures(polls, seen)


async def _load(port: int, concurrency: int, wish: argparse.Namespace) -> dict[str, Any]:
    """What a process full of clients saw."""
    load = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "scripts.bench_serve_load", f"ws://127.0.0.1:{port}/v1/speak",
        "--concurrency", str(concurrency), "--utterances", str(wish.utterances),
        "--workload", wish.workload, "--max-frames", str(wish.max_frames),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        said, _ = await load.communicate()
    finally:
        if load.returncode is None:
            load.kill()
    if load.returncode:
        raise SystemExit("the load failed; see above")
    seen: dict[str, Any] = json.loads(said)
    return seen


def _figures(polls: Polls, seen: dict[str, Any] | None) -> dict[str, Value]:
    p50, p95, p99 = (float(value) for value in np.percentile(polls.health, (50, 95, 99)))
    figures: dict[str, Value] = {
        "health_p50_ms": p50,
        "health_p95_ms": p95,
        "health_p99_ms": p99,
        "health_max_ms": max(polls.health),
        "polls": len(polls.health),
        "asleep_p99_ms": float(np.percentile(polls.asleep, 99)),
    }
    if seen is None:
        return figures
    ttfa = seen["ttfa_ms"] or [float("nan")]
    spoken = max(seen["utterances"], 1)
    return figures | {
        "ttfa_p50_ms": float(np.percentile(ttfa, 50)),
        "ttfa_p95_ms": float(np.percentile(ttfa, 95)),
        "rtf": seen["engine_ms"] / max(seen["audio_ms"], 1e-9),
        "utterances_per_s": seen["utterances"] / seen["wall_s"],
        "audio_s_per_s": seen["audio_ms"] / 1000 / seen["wall_s"],
        "refusals": seen["refusals"],
        "underruns": seen["underruns"],
        "continuous": seen["continuous"] / spoken,
    }


async def measure(wish: argparse.Namespace) -> None:
    """All levels, with offloading and without."""
    measuring = asyncio.current_task()
    assert measuring is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, measuring.cancel)  # the daemon ends with it
    rows: list[list[Value]] = []
    results: dict[str, dict[str, dict[str, Value]]] = {}
    steps: dict[str, float] = {}
    for offload in (True, False) if wish.ablation else (True,):
        name = "on" if offload else "off"
        results[name] = {}
        async with daemon_process(wish.bundle, wish.slots, offload=offload) as (_, port):
            for concurrency in (0, *wish.concurrency):
                figures = await level(port, concurrency, wish)
                results[name][str(concurrency)] = figures
                rows.append([name, concurrency, *figures.values()])
                print(f"offload {name}, {concurrency} clients: done", file=sys.stderr)
            found = re.search(rb"speakd_engine_step_seconds\{[^}]*\} ([\d.e-]+)", await get(port, "/metrics"))
            steps[name] = 1000 * float(found[1]) if found else float("nan")
    show(f"serve, {wish.workload} text, {wish.slots} slots, {wish.utterances} utterances a row (ms)", _COLUMNS, rows)
    print("clients 0 is the floor: a GET while nobody speaks. asleep: how late the poller itself woke from its pauses.")
    record: dict[str, object] = {
        "bench": "serve",
        "workload": wish.workload,
        "max_frames": wish.max_frames,
        "slots": wish.slots,
        "utterances": wish.utterances * len(wish.concurrency),
        "machine": machine(),
        "step_ms": steps,
        "results": results,
    }
    if "off" in results:
        ratios = {}
        for clients, on in results["on"].items():
            fast, slow = on["health_p99_ms"], results["off"][clients]["health_p99_ms"]
            assert isinstance(fast, float)
            assert isinstance(slow, float)
            ratios[clients] = slow / fast
        record["health_p99_off_over_on"] = ratios
    close(record)


def main() -> None:
    """Run with the arguments of this process."""
    parser = argparse.ArgumentParser(prog="scripts/bench serve")
    parser.add_argument("--bundle", default=str(DEFAULT_BUNDLE))
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 8, 32, 50])
    parser.add_argument("--utterances", type=int, default=100, help="for each row (default: 100)")
    parser.add_argument("--workload", choices=("heavy", "interrupted", "plain"), default="heavy")
    parser.add_argument("--max-frames", type=int, default=4, help="of each segment; 0: as the model likes (default: 4)")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--no-ablation", dest="ablation", action="store_false", help="only with offloading")
    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(measure(parser.parse_args()))
        return
    sys.exit(130)


if __name__ == "__main__":
    run(main)
