"""Clients that come and go, politely or not, and the vital signs of the daemon they leave behind.

Purpose: `cycle` is one visit of one kind; `vitals` is what must be flat after any number of them. Used by
`scripts/soak` and, in short, by the tests. Knows: the protocol, /proc, /metrics. Does not know: the daemon's insides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import signal
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

KINDS: Final = ("polite", "cancel", "cancel at once", "leave", "reset", "reset unread", "half handshake", "many")
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends a TCP reset."""
_TEXT: Final = "It was the 3rd of May, and the kettle had been on since 7:15."
_KILLED: Final = """
import asyncio, json, sys
from websockets.asyncio.client import connect
async def main():
    async with connect(sys.argv[1]) as socket:
        await socket.send(json.dumps({"type": "context.start", "context": "a", "pace": "fast"}))
        await socket.send(json.dumps({"type": "text", "context": "a", "text": "Some words, and more of them. " * 50}))
        await socket.recv()
        print("speaking", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@dataclass(frozen=True)
class Vitals:
    """What a leak would move; descriptors, threads and memory are those of the daemon and its helpers together."""

    descriptors: int
    threads: int
    tasks: int
    memory_mb: float
    sockets: int
    contexts: int
    connections: int
    speaking: int
    """Utterances in the engine, or waiting for it."""


async def cycle(port: int, kind: str, dice: random.Random) -> None:
    """One visit."""
    if kind == "half handshake":
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /v1/speak HTTP/1.1\r\nHost: local")
        await writer.drain()
        _reset(writer.transport)
        return
    with contextlib.suppress(ConnectionClosed):
        async with connect(
            f"ws://127.0.0.1:{port}/v1/speak", compression=None, ping_interval=None, close_timeout=0.2
        ) as client:
            await _visit(client, kind, dice)


async def _visit(client: ClientConnection, kind: str, dice: random.Random) -> None:
    names = [f"c{number}" for number in range(4 if kind == "many" else 1)]
    for name in names:
        await _say(client, "context.start", name, pace="fast", max_frames=6, sampling={"seed": dice.randrange(1000)})
        await _say(client, "text", name, text=_TEXT * dice.randrange(1, 8))
        await _say(client, "flush", name)
    if kind == "reset unread":
        _reset(client.transport)
        return
    if kind == "cancel at once":
        await _say(client, "cancel", names[0])
    if kind in {"polite", "many"}:
        for name in names:
            await _say(client, "end", name)
    done = 0
    async for message in client:
        said = "audio" if isinstance(message, bytes) else json.loads(message)["type"]
        if said in {"audio", "flushed"}:  # a small model may have nothing to say
            if kind == "cancel":
                await _say(client, "cancel", names[0])
                kind = "cancelled"
            elif kind == "leave":
                return
            elif kind == "reset":
                _reset(client.transport)
                return
        done += said in {"context.done", "error"}
        if done >= len(names):
            return


async def killed(port: int) -> None:
    """A client in a process of its own, killed while it is spoken to."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED, f"ws://127.0.0.1:{port}/v1/speak", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def cycles(port: int, count: int, seed: int, clients: int = 8) -> None:
    """`count` visits by so many clients at a time."""
    dice = random.Random(seed)
    left = iter(range(count))

    async def client() -> None:
        for _ in left:
            await cycle(port, dice.choice(KINDS), dice)

    await asyncio.gather(*(client() for _ in range(clients)))


async def vitals(pid: int, port: int) -> Vitals:
    """How the daemon is once it has nothing to do; waits for that."""
    while True:
        figures = await _figures(port)
        if not (figures["speakd_contexts_open"] or figures["speakd_sockets"] or figures["engine"]):
            break
        await asyncio.sleep(0.05)
    processes = [Path(f"/proc/{one}") for one in (pid, *_children(pid))]
    return Vitals(
        descriptors=sum(len(list((process / "fd").iterdir())) for process in processes),
        threads=sum(len(list((process / "task").iterdir())) for process in processes),
        tasks=int(figures["speakd_tasks"]),
        memory_mb=sum(map(_memory_mb, processes)),
        sockets=int(figures["speakd_sockets"]),
        contexts=int(figures["speakd_contexts_open"]),
        connections=int(figures["speakd_connections"]),
        speaking=int(figures["engine"]),
    )


def _children(pid: int) -> list[int]:
    """The processes a daemon works with."""
    lists = (thread / "children" for thread in Path(f"/proc/{pid}/task").iterdir())
    return [int(child) for found in lists for child in found.read_text(encoding="ascii").split()]


def _memory_mb(process: Path) -> float:
    memory = re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text(encoding="ascii"))
    return int(memory[1]) / 1000 if memory else 0.0


async def _figures(port: int) -> dict[str, float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    found = {name: float(value) for name, value in re.findall(r"^(speakd_\w+) ([\d.e+-]+)$", answer, re.MULTILINE)}
    busy = re.findall(r"^speakd_engine_(?:speaking|waiting)\{.*\} ([\d.]+)$", answer, re.MULTILINE)
    return found | {"engine": sum(map(float, busy))}


async def _say(client: ClientConnection, kind: str, context: str, **fields: Any) -> None:
    await client.send(json.dumps({"type": kind, "context": context, **fields}))


def _reset(transport: asyncio.BaseTransport) -> None:
    sock = transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    assert isinstance(transport, asyncio.WriteTransport)
    transport.abort()
