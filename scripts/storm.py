"""`scripts/soak storm`: listeners of whom half leave in the middle, for as long as one likes.

So many listeners at once hear one random utterance after another in real time; each stays to the end or leaves at a
random moment, by the toss of a coin: while it waits, while its prompt goes in, while it hears. Those who stay must hear
the codes of the utterance's solo run; afterwards slots and rings must be empty. How late sound came is compared with
calm times in between, in which everybody stays, since a busy machine is late by itself.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engines.contract import End, Pcm
from engines.engine import EngineConfig, SpeechEngine
from engines.errors import EngineBusyError
from engines.utterance import LiveUtterance
from scripts.bench_tools import DEFAULT_BUNDLE, Value, close, machine, run, show
from scripts.repertoire import KINDS, POSITIONS, SOON_S, Repertoire, said

_LOOK_S: Final = 0.02  # between two looks of a listener
_EARLY_S: Final = 0.2  # within which half of those who leave do so
_RING_S: Final = 0.5  # sound ahead of a listener: little, so that utterances are under way while they are heard
_MOST_FRAMES: Final = 100


@dataclass
class Tally:
    """What became of the utterances of one time."""

    whole: int = 0
    cancelled: int = 0
    left_late: int = 0
    """Left when the engine was done with it."""
    refused: int = 0
    different: int = 0
    """Stayed, and heard other codes than alone."""
    left_full: int = 0
    """Ended with something in a ring."""
    late: int = 0
    """Stayed, and their sound ran out."""
    worst_late_ms: float = 0.0
    late_ms: float = 0.0
    """Of all of them."""

    def stay(self, late_s: float, same: bool) -> None:
        """One heard it to the end."""
        self.whole += 1
        self.different += not same
        if late_s > 0.0:
            self.late += 1
            self.late_ms += 1000.0 * late_s
            self.worst_late_ms = max(self.worst_late_ms, 1000.0 * late_s)


class Ear:
    """A listener's clock: plays from the first sample on, and notes when sound came too late."""

    def __init__(self, utterance: LiveUtterance, rate_hz: int, *, real_time: bool) -> None:
        """Without `real_time` everything is taken at once."""
        self._utterance, self._rate_hz, self._real_time = utterance, rate_hz, real_time
        self._began: float | None = None
        self._written = 0
        self.late_s = 0.0
        utterance.pcm.on_readable(self._note)

    def take(self) -> Pcm | None:
        """What was played since; None for nothing, an empty array at the end."""
        if self._began is None and not self._utterance.outcome.done():
            return None
        most = 1 << 20
        if self._real_time and self._began is not None:
            played = int((time.perf_counter() - self._began) * self._rate_hz)
            most = played - self._utterance.pcm.statistics().read
        return self._utterance.pcm.read_nowait(most) if most > 0 else None

    def _note(self) -> None:
        """Runs on the engine's thread."""
        now, written = time.perf_counter(), self._utterance.pcm.statistics().written
        if written == self._written:
            return
        if self._began is None:
            self._began = now
        late_s = now - self._began - self._written / self._rate_hz
        self.late_s = max(self.late_s, late_s) if self._written else 0.0
        self._written = written


class Storm:
    """An engine and its listeners."""

    def __init__(self, bundle: Path, seed: int, *, slots: int, most_frames: int, real_time: bool = True) -> None:
        self._repertoire = Repertoire(random.Random(seed), most_frames, live=True)
        self._alone = self._repertoire.alone(bundle)
        self._real_time, self._seed = real_time, seed
        self._lock = threading.Lock()
        config = EngineConfig(slots=slots, max_waiting=2, positions=POSITIONS, prefill_rows=16, pcm_ring_s=_RING_S)
        self.engine = SpeechEngine.open(bundle, config)
        self.engine.warm_up()

    def run(self, listeners: int, leaving: float, tally: Tally, go_on: Callable[[], bool]) -> None:
        """Let so many listen, of whom a share is `leaving`, for as long as `go_on`; all have ended afterwards."""
        with ThreadPoolExecutor(listeners) as pool:
            for done in [pool.submit(self._listen, number, leaving, tally, go_on) for number in range(listeners)]:
                done.result()

    def _listen(self, number: int, leaving: float, tally: Tally, go_on: Callable[[], bool]) -> None:
        dice = random.Random(f"{self._seed} {number} {leaving} {tally.whole}")
        while go_on():
            kind = dice.randrange(KINDS)
            try:
                utterance = self._repertoire.start(self.engine, kind)
            except EngineBusyError:
                with self._lock:
                    tally.refused += 1
                time.sleep(_LOOK_S)
                continue
            sound_s = len(self._alone[kind].pcm) / self.engine.info.sample_rate_hz - _RING_S
            latest_s = max(dice.choice([_EARLY_S, sound_s]), 0.0)
            stays_s = dice.uniform(0.0, latest_s) if dice.random() < leaving else None
            self._attend(utterance, kind, stays_s, tally)

    def _attend(self, utterance: LiveUtterance, kind: int, stays_s: float | None, tally: Tally) -> None:
        ear, parts = Ear(utterance, self.engine.info.sample_rate_hz, real_time=self._real_time), list[Pcm]()
        stayed = _stay(utterance, ear, parts, stays_s)
        outcome = utterance.outcome.result(SOON_S)
        full = utterance.frames.statistics().used + utterance.pcm.statistics().used > 0
        with self._lock:
            tally.left_full += full
            if stayed:
                assert outcome.error is None, outcome.error
                tally.stay(ear.late_s, np.array_equal(said(utterance, parts).codes, self._alone[kind].codes))
            elif outcome.end is End.CANCELLED:
                tally.cancelled += 1
            else:
                tally.left_late += 1

    def at_rest(self) -> bool:
        """Whether every slot and place is free, and the engine well."""
        state = self.engine.statistics()
        return (state.speaking, state.waiting, state.failure) == (0, 0, None)


def _stay(utterance: LiveUtterance, ear: Ear, parts: list[Pcm], stays_s: float | None) -> bool:
    """Hear it to its end, or leave after `stays_s`; whether it was heard to its end."""
    began = time.perf_counter()
    while stays_s is None or time.perf_counter() - began < stays_s:
        part = ear.take()
        if part is None:
            time.sleep(_LOOK_S if stays_s is None else min(_LOOK_S, stays_s))
        elif len(part):
            parts.append(part)
        else:
            return True
    utterance.cancel()
    return False


def main() -> None:
    """Calm and storm in turn; the exit code says whether anybody was harmed."""
    parser = argparse.ArgumentParser(prog="scripts/soak storm", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--bundle", type=Path, default=DEFAULT_BUNDLE)
    parser.add_argument("--seconds", type=float, default=600.0, help="of storm in all (default: 600)")
    parser.add_argument("--calm", type=float, default=120.0, help="seconds in all in which everybody stays")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--listeners", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    wish = parser.parse_args()
    tallies, rests = {"calm": Tally(), "storm": Tally()}, list[bool]()
    storm = Storm(wish.bundle, wish.seed, slots=wish.listeners, most_frames=_MOST_FRAMES)
    with storm.engine:
        for number in range(wish.rounds):
            for name, leaving, seconds in (("calm", 0.0, wish.calm), ("storm", 0.5, wish.seconds)):
                storm.run(wish.listeners, leaving, tallies[name], _for(seconds / wish.rounds))
                rests.append(storm.at_rest())
            print(f"round {number}: {tallies['storm']}", file=sys.stderr)
    rows: dict[str, dict[str, Value]] = {name: asdict(tally) for name, tally in tallies.items()}
    show(f"{wish.listeners} listeners", ["", *rows["storm"]], [[name, *row.values()] for name, row in rows.items()])
    harmed = not all(rests) or any(tally.different or tally.left_full for tally in tallies.values())
    close({"bench": "storm", "bundle": wish.bundle.name, **machine(), **rows, "harmed": harmed})
    sys.exit(1 if harmed else 0)


def _for(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


if __name__ == "__main__":
    run(main)
