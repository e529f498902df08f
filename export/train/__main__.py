"""`python -m export.train`: make a voice from nothing. Called by scripts/train_voice, which measures it too.

Knows: the command line. Does not know: how anything is done.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import torch

from export.exporter import export_checkpoint
from export.train import pipeline
from export.train.job import Job


def seconds(text: str) -> float:
    """A time such as `90s`, `25m`, `1.5h` in seconds."""
    found = re.fullmatch(r"([0-9.]+)\s*([smh]?)", text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 25m or 1.5h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600, "": 1}[found[2]]


def main() -> Job:
    """Parse and run; gives what was done."""
    parser = argparse.ArgumentParser(prog="train_voice", description=pipeline.__doc__)
    parser.add_argument("--budget", type=seconds, default=3600.0, help="time to make it in: 10m, 2h (default 1h)")
    parser.add_argument("--out", type=Path, default=Path(".cache/train_voice"), help="working folder, resumed if there")
    parser.add_argument("--speakers", default="anna,robert", help="comma-separated, of anna and robert")
    parser.add_argument("--hours", type=float, default=20.0, help="most speech to synthesise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: all)")
    chosen = parser.parse_args()
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    speakers = tuple(chosen.speakers.split(","))
    job = Job(chosen.out, chosen.budget, speakers, chosen.seed, longest_hours=chosen.hours)
    try:
        directory = pipeline.run(job)
        export_checkpoint(directory, chosen.out / "bundle")
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    print(f"bundle: {chosen.out / 'bundle'}")
    return job


if __name__ == "__main__":
    main()
