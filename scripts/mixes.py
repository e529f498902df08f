"""Random mixes of utterances: does everyone say what they say alone, whoever else is there?

Each mix starts a random number of utterances, one after another, with random texts, layouts, seeds,
lengths, paces and first blocks; some are cancelled on the way. Of a full-precision bundle those who were not must give
the codes of their solo run, and the samples within 1e-5; afterwards every slot is free. A quantised bundle rounds what
goes into a product differently in company: for it the differences are counted, which is what `--count` does.
`python -m scripts.mixes --mixes 1000` runs many; the tests run a few dozen, on a tiny model.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from engines.engine import EngineConfig, SpeechEngine
from engines.utterance import LiveUtterance
from scripts.bench_tools import DEFAULT_BUNDLE
from scripts.repertoire import KINDS, POSITIONS, SOON_S, Repertoire, Said, hear

NEAR: Final = 1e-5


@dataclass
class Differences:
    """Those who said something else than alone."""

    utterances: int = 0
    first_frames: list[int] = field(default_factory=list)
    """The first frame of each that differs."""
    codes: list[float] = field(default_factory=list)
    """The share of each one's codes that differ."""
    lengths: list[int] = field(default_factory=list)
    """By how many frames each is longer, or (below 0) shorter."""

    def note(self, here: Said, alone: Said) -> None:
        """Compare one; nothing where they are the same."""
        frames = min(len(here.codes), len(alone.codes))
        unlike = here.codes[:frames] != alone.codes[:frames]
        longer = len(here.codes) - len(alone.codes)
        if not unlike.any() and not longer:
            return
        self.utterances += 1
        rows = np.flatnonzero(unlike.any(axis=1))
        self.first_frames.append(int(rows[0]) if len(rows) else frames)
        self.codes.append(float(unlike.mean()) if frames else 1.0)
        self.lengths.append(longer)


class Mixer:
    """One engine, a dozen kinds of utterance, and what each is alone."""

    def __init__(self, bundle: Path, seed: int, slots: int = 4, most_frames: int = 30, *, count: bool = False) -> None:
        """`count`: note the differences in `differences` instead of failing at the first."""
        self._dice = random.Random(seed)
        self._bundle, self._slots, self._count = bundle, slots, count
        self._repertoire = Repertoire(self._dice, most_frames)
        self.heard = self.cancelled = 0
        self.differences = Differences()

    def run(self, mixes: int) -> None:
        """Mix; raises `AssertionError` naming the first that differs, unless they are counted."""
        alone = self._repertoire.alone(self._bundle)
        config = EngineConfig(slots=self._slots, max_waiting=16, positions=POSITIONS, prefill_rows=16, admission=False)
        with SpeechEngine.open(self._bundle, config) as engine:
            for mix in range(mixes):
                self._mix(engine, mix, alone)
                state = engine.statistics()
                assert (state.speaking, state.waiting, state.failure) == (0, 0, None), f"mix {mix}: someone is left"

    def _mix(self, engine: SpeechEngine, mix: int, alone: list[Said]) -> None:
        dice, under_way = self._dice, list[tuple[int, LiveUtterance]]()
        for _ in range(dice.randrange(2, 10)):
            kind = dice.randrange(KINDS)
            under_way.append((kind, self._repertoire.start(engine, kind)))
            if dice.random() < 0.25:
                _, leaving = under_way.pop(dice.randrange(len(under_way)))
                if dice.random() < 0.5:
                    leaving.pcm.read(1, SOON_S)  # midway
                leaving.cancel()
                leaving.outcome.result(SOON_S)
                self.cancelled += 1
        for kind, utterance in under_way:
            self._compare(hear(utterance), alone[kind], f"mix {mix}: kind {kind}")
            self.heard += 1

    def _compare(self, here: Said, alone: Said, name: str) -> None:
        if self._count:
            self.differences.note(here, alone)
            return
        assert np.array_equal(here.codes, alone.codes), f"{name} says something else"
        near = np.abs(here.pcm - alone.pcm).max()
        assert near < NEAR, f"{name} sounds different by {near:.1e}"


def main() -> None:
    """Mix as often as was asked."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mixes", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--mixes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--bundle", type=Path, default=DEFAULT_BUNDLE)
    parser.add_argument("--count", action="store_true", help="count who differs instead of failing")
    options = parser.parse_args()
    mixer = Mixer(options.bundle, options.seed, options.slots, count=options.count)
    mixer.run(options.mixes)
    same = mixer.heard - mixer.differences.utterances
    print(f"{options.mixes} mixes: {same} of {mixer.heard} said what they say alone, {mixer.cancelled} were cancelled")
    if mixer.differences.utterances:
        found = mixer.differences
        print(
            f"the others: first frame that differs {min(found.first_frames)} to {max(found.first_frames)}, half from "
            f"{np.median(found.first_frames):.0f} on; {100 * np.mean(found.codes):.1f} % of their codes; "
            f"length by {min(found.lengths):+d} to {max(found.lengths):+d} frames"
        )


if __name__ == "__main__":
    main()
