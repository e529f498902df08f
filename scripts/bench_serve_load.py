"""The load of `scripts/bench serve`: many clients in a process of their own; one JSON line with what they saw.

Purpose: keep `--concurrency` contexts open until `--utterances` have been spoken, each client on a socket of its own.
Knows: the protocol. Does not know: who measures what else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect

HEAVY: Final = (
    "On 3 May 2026 at 14:35 the meter at 1,250.5 m read 98.6 °F, $12,345.67 and 3/4 of 17 km; call +1 555-0199 or see "
    "v2.10.3, chapter XIV, pp. 120-145, for the 1,024 values between -40 and 85 °C that cost €7.50 each, 12% off, from "
    "1999 to 2024. "
) * 4
PLAIN: Final = "The kettle is on, the kitchen is warm, and the rain has stopped at last."
TEXTS: Final = {"heavy": HEAVY, "plain": PLAIN, "interrupted": HEAVY * 8}
"""An interrupted client hears the first block of a long text, and cancels: the text work weighs most."""
PACES: Final = {"heavy": "fast", "plain": "realtime", "interrupted": "realtime"}


@dataclass
class Seen:
    """What the clients saw; times in milliseconds."""

    ttfa_ms: list[float] = field(default_factory=list)
    audio_ms: float = 0.0
    engine_ms: float = 0.0
    wall_s: float = 0.0
    utterances: int = 0
    underruns: int = 0
    continuous: int = 0
    refusals: int = 0


async def speak(socket: ClientConnection, workload: str, wishes: dict[str, Any], seed: int, seen: Seen) -> None:
    """One utterance."""
    text = TEXTS[workload]
    context = f"u{seed}"
    start = {"type": "context.start", "context": context, "pace": PACES[workload], "sampling": {"seed": seed}, **wishes}
    await socket.send(json.dumps(start))
    began = time.perf_counter()
    await socket.send(json.dumps({"type": "text", "context": context, "text": text}))
    await socket.send(json.dumps({"type": "end", "context": context}))
    first: float | None = None
    while True:
        message = await socket.recv()
        if isinstance(message, bytes):
            if first is None:
                first = 1000 * (time.perf_counter() - began)
                if workload == "interrupted":
                    await socket.send(json.dumps({"type": "cancel", "context": context}))
            continue
        event = json.loads(message)
        if event["type"] == "error" and event["code"] in {"busy", "unknown_context"}:
            seen.refusals += event["code"] == "busy"
            if event["code"] == "busy":
                return
        if event["type"] == "context.done":
            break
    seen.utterances += 1
    seen.ttfa_ms += [] if first is None else [first]
    seen.audio_ms += event["audio_ms"]
    seen.engine_ms += event["engine_ms"]
    seen.underruns += event["underruns"]
    seen.continuous += not event["underruns"]


async def drive(url: str, concurrency: int, utterances: int, workload: str, max_frames: int) -> Seen:
    """All clients, until enough has been spoken."""
    seen = Seen()
    seeds = iter(range(utterances))
    wishes: dict[str, Any] = {"max_frames": max_frames} if max_frames else {}

    async def client() -> None:
        async with connect(url, compression=None, max_size=None, ping_interval=None) as socket:
            for seed in seeds:
                await speak(socket, workload, wishes, seed, seen)

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(concurrency)))
    seen.wall_s = time.perf_counter() - began
    return seen


def main() -> None:
    """Run with the arguments of this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--utterances", type=int, required=True)
    parser.add_argument("--workload", choices=sorted(TEXTS), required=True)
    parser.add_argument("--max-frames", type=int, default=0)
    wish = parser.parse_args()
    seen = asyncio.run(drive(wish.url, wish.concurrency, wish.utterances, wish.workload, wish.max_frames))
    print(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
