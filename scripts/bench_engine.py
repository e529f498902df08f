"""`scripts/bench engine`: many voices at once, and what each idea of the scheduler brings.

Some utterances start at the same moment, each with a listener who plays from its first sample on. For each number of
them, and with each idea turned off in turn: time to first audio (TTFA, mean and 95th percentile), the longest gap
between blocks, real-time factor of a stream (time until its last sample over its sound), speed of all together (seconds
of sound a second), seconds that listeners had nothing to play, the share whose sound never stopped when they wait 0, 50
or 100 ms before they play, the pause between two steps of the talker, and how many were refused. Texts, seeds and order
are fixed, so that every column says the same; figures are for comparing within one run.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.front_end import TextFrontEnd
from app.promptness import spare_collections
from engines.contract import SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import EngineBusyError
from engines.timing import step_gaps_ms
from engines.utterance import LiveUtterance
from scripts.bench_tools import DEFAULT_BUNDLE, Value, close, machine, run, show

TEXTS: Final = (
    "The little boat left the harbour in the morning, and nobody on the quay thought that it would rain before noon.",
    "When the last train had gone, the station master locked the door, put out the lamps and walked slowly home.",
    "Every winter the river freezes from the banks inward, and the children are told to wait for the middle to hold.",
    "She opened the letter, read it twice, folded it again, and said that there would be guests for dinner after all.",
)
COLUMNS: Final[dict[str, dict[str, Any]]] = {
    "everything on": {},
    "admission off": {"admission": False},
    "async chunks off": {"admission": False, "async_chunks": False},
    "async scheduling off": {"admission": False, "async_scheduling": False},
    "async scheduling on": {"admission": False, "async_scheduling": True},
    "codec batching off": {"admission": False, "codec_batching": False},
    "fixed chunk 25": {"admission": False, "adaptive_chunks": False},
    "fixed first chunk 1": {"admission": False, "first": 1},
}
FIGURES: Final = {
    "ttfa_ms": "TTFA ms",
    "ttfa_p95_ms": "p95",
    "gap_ms": "longest gap",
    "rtf": "RTF",
    "speed": "x real time",
    "underrun_s": "underrun s",
    "ok_0": "unbroken 0",
    "ok_50": "50",
    "ok_100": "100 ms",
    "step_gap_ms": "step gap ms",
    "step_ms": "step ms",
    "refused": "refused",
}


@dataclass
class Listener:
    """Hears one utterance, and notes when what came."""

    utterance: LiveUtterance
    rate_hz: int
    started: float = field(default_factory=time.perf_counter)
    blocks: list[tuple[float, float]] = field(default_factory=list)
    """(when, seconds of sound so far)."""

    def note(self) -> None:
        """Runs on the engine's thread."""
        seconds = self.utterance.pcm.statistics().written / self.rate_hz
        if seconds and (not self.blocks or seconds > self.blocks[-1][1]):
            self.blocks.append((time.perf_counter(), seconds))

    def underrun_s(self, wait_s: float = 0.0) -> float:
        """Seconds of silence a player hears that starts `wait_s` after the first sample."""
        late, start = 0.0, self.blocks[0][0] + wait_s
        for (when, _), (_, before) in zip(self.blocks[1:], self.blocks, strict=False):
            late = max(late, when - start - before)
        return late


def main() -> None:
    """Measure, print the tables, and the JSON line last."""
    parser = argparse.ArgumentParser(prog="scripts/bench engine", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--bundle", type=Path, default=DEFAULT_BUNDLE)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[1, 4, 8, 16, 32])
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--max-frames", type=int, default=None, help="of one utterance (for voices that do not end)")
    options = parser.parse_args()
    ids = _ids(options.bundle)
    rows: list[dict[str, Value]] = []
    for column in options.columns:
        switches = dict(COLUMNS[column])
        first = switches.pop("first", None)
        config = EngineConfig(slots=max(options.concurrency), max_waiting=0, positions=512, **switches)
        with SpeechEngine.open(options.bundle, config) as engine:
            engine.warm_up()
            spare_collections()  # as the daemon does
            _together(engine, ids, 1, first, options.max_frames)  # the very first is not as the others are
            for many in options.concurrency:
                found = _together(engine, ids, many, first, options.max_frames)
                rows.append({"column": column, "streams": many, **found})
                print(f"  {column}, {many}: {found['ttfa_ms']:.0f} ms to first audio", file=sys.stderr)
    for many in options.concurrency:
        here = [row for row in rows if row["streams"] == many]
        table = [[row["column"], *(row.get(key) for key in FIGURES)] for row in here]
        show(f"{many} at once", ["", *FIGURES.values()], table)
    ratios = {
        f"{row['column']}, {row['streams']}": float(row["ttfa_ms"] or 0) / float(base["ttfa_ms"] or 1)
        for row in rows
        for base in rows
        if base["column"] == options.columns[0] and base["streams"] == row["streams"]
    }
    close({"bench": "engine", "bundle": options.bundle.name, **machine(), "rows": rows, "ttfa_ratio": ratios})


def _ids(bundle: Path) -> list[tuple[int, ...]]:
    """Ids of the fixed texts, as this voice reads them."""
    ids = []
    for text in TEXTS:
        front_end = TextFrontEnd.open(bundle)
        ids.append(tuple(id_ for piece in front_end.feed(text) + front_end.finish() for id_ in piece.ids))
    return ids


def _together(
    engine: SpeechEngine, ids: list[tuple[int, ...]], many: int, first: int | None, max_frames: int | None
) -> dict[str, Value]:
    """Let so many speak at the same moment."""
    wake, listeners, refused = threading.Event(), list[Listener](), 0
    began, mark = time.perf_counter(), time.monotonic()  # the engine keeps its record by the latter
    for number in range(many):
        request = SpeechRequest(seed=number, initial_codec_chunk_frames=first, max_frames=max_frames)
        try:
            utterance = engine.start(request)
        except EngineBusyError:
            refused += 1
            continue
        listener = Listener(utterance, engine.info.sample_rate_hz)
        utterance.pcm.on_readable(_hears(listener, wake))
        listeners.append(listener)
        utterance.feed(ids[number % len(ids)])
        utterance.end_of_text()
    for listener in listeners:
        _drain(listener, listeners, wake)
    took_s = time.perf_counter() - began
    spans = [span for span in engine.timeline() if span.began >= mark]
    return _figures(listeners, took_s) | {
        "refused": refused,
        "step_gap_ms": _mean(step_gaps_ms(spans)),
        "step_ms": _mean([1000.0 * (span.ended - span.began) for span in spans if span.work == "step"]),
        "codec_calls": sum(span.work == "codec" for span in spans),
    }


def _hears(listener: Listener, wake: threading.Event) -> Callable[[], None]:
    def hear() -> None:
        listener.note()
        wake.set()

    return hear


def _drain(listener: Listener, everyone: list[Listener], wake: threading.Event) -> None:
    """Read what comes, of everyone, until this one has ended."""
    while not listener.utterance.outcome.done():
        wake.wait(1.0)
        wake.clear()
        for other in everyone:
            other.utterance.pcm.read_nowait(1 << 20)


def _figures(listeners: list[Listener], took_s: float) -> dict[str, Value]:
    first_ms = [1000.0 * (one.blocks[0][0] - one.started) for one in listeners]
    sound_s = [one.blocks[-1][1] for one in listeners]
    whole_s = [one.blocks[-1][0] - one.started for one in listeners]
    gaps = [
        later[0] - sooner[0] for one in listeners for sooner, later in zip(one.blocks, one.blocks[1:], strict=False)
    ]
    found: dict[str, Value] = {
        "ttfa_ms": _mean(first_ms),
        "ttfa_p95_ms": float(np.percentile(first_ms, 95)),
        "gap_ms": 1000.0 * max(gaps, default=0.0),
        "rtf": _mean([whole / sound for whole, sound in zip(whole_s, sound_s, strict=True)]),
        "speed": sum(sound_s) / took_s,
        "sound_s": sum(sound_s),
        "underrun_s": sum(one.underrun_s() for one in listeners),
    }
    for wait_ms in (0, 50, 100):
        found[f"ok_{wait_ms}"] = _mean([one.underrun_s(wait_ms / 1000.0) <= 0.0 for one in listeners])
    return found


def _mean(values: list[float] | list[bool]) -> float:
    return float(np.mean(values)) if values else 0.0


if __name__ == "__main__":
    run(main)
