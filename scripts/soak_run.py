"""`scripts/soak`: ten thousand visits, and a daemon that must look as it did before.

Purpose: run `soak_cycles` against a daemon in rounds, print its vital signs after each, and fail where one has grown.
Knows: what may grow (memory, within noise). Does not know: how a visit goes.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict, fields
from typing import Final

from scripts.bench_serve import daemon_process
from scripts.bench_tools import DEFAULT_BUNDLE, Value, close, machine, run, show
from scripts.soak_cycles import Vitals, cycles, killed, vitals

_MEMORY_NOISE: Final = 1.05


async def soak(wish: argparse.Namespace) -> int:
    """All rounds; the exit code."""
    seen: list[Vitals] = []
    async with daemon_process(wish.bundle, wish.slots, offload=True) as (process, port):
        for number in range(wish.rounds + 1):  # the first round fills caches and allocators
            await cycles(port, wish.cycles // wish.rounds, seed=number)
            for _ in range(wish.killed):
                await killed(port)
            seen.append(await vitals(process.pid, port))
            print(f"round {number}: {seen[-1]}", file=sys.stderr)
    first, last = seen[0], seen[-1]
    names = [field.name for field in fields(Vitals)]
    rows: list[list[Value]] = [[number, *asdict(one).values()] for number, one in enumerate(seen)]
    show(f"soak, {wish.cycles} visits in {wish.rounds} rounds after a first one", ["round", *names], rows)
    grown = [name for name in names if name != "memory_mb" and getattr(last, name) > getattr(first, name)]
    if last.memory_mb > _MEMORY_NOISE * first.memory_mb:
        grown.append("memory_mb")
    close(
        {
            "bench": "soak",
            "cycles": wish.cycles,
            "machine": machine(),
            "grown": grown,
            "rounds": [asdict(v) for v in seen],
        }
    )
    return 1 if grown else 0


def main() -> None:
    """Run with the arguments of this process."""
    parser = argparse.ArgumentParser(prog="scripts/soak")
    parser.add_argument("--bundle", default=str(DEFAULT_BUNDLE))
    parser.add_argument("--cycles", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--killed", type=int, default=2, help="clients killed with -9 in each round")
    parser.add_argument("--slots", type=int, default=4)
    sys.exit(asyncio.run(soak(parser.parse_args())))


if __name__ == "__main__":
    run(main)
