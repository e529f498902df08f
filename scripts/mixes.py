"""Random mixes of utterances: does everyone say what they say alone, whoever else is there?

Each mix starts a random number of utterances, one after another, with random texts, layouts, seeds,
lengths, paces and first blocks; some are cancelled on the way. Those who were not must give the codes of their solo run
(fp32), and the samples within 1e-5; afterwards every slot is free. `python -m scripts.mixes --mixes 1000` runs many;
the tests run a few dozen, on a tiny model.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.contract import Codes, Layout, Pace, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.utterance import LiveUtterance

DEFAULT_VOICE: Final = Path("engines/voices/default/bundle")
NEAR: Final = 1e-5
_KINDS: Final = 12
_SOON: Final = 600.0


@dataclass(frozen=True)
class Said:
    """What an utterance came to."""

    codes: Codes
    pcm: npt.NDArray[np.float32]


class Mixer:
    """One engine, a dozen kinds of utterance, and what each is alone."""

    def __init__(self, bundle: Path, seed: int, slots: int = 4, most_frames: int = 30) -> None:
        self._dice = random.Random(seed)
        self._most_frames = most_frames
        self._slots = slots
        self._bundle = bundle
        self._kinds = [self._kind(number) for number in range(_KINDS)]
        self.heard = self.cancelled = 0

    def run(self, mixes: int) -> None:
        """Mix; raises `AssertionError` naming the first that differs."""
        with self._engine(1) as engine:
            alone = [self._hear(self._start(engine, kind)) for kind in range(_KINDS)]
        with self._engine(self._slots) as engine:
            for mix in range(mixes):
                self._mix(engine, mix, alone)
                state = engine.statistics()
                assert (state.speaking, state.waiting, state.failure) == (0, 0, None), f"mix {mix}: someone is left"

    def _engine(self, slots: int) -> SpeechEngine:
        config = EngineConfig(slots=slots, max_waiting=16, positions=160, prefill_rows=16, admission=False)
        return SpeechEngine.open(self._bundle, config)

    def _kind(self, number: int) -> tuple[SpeechRequest, tuple[int, ...]]:
        dice = self._dice
        request = SpeechRequest(
            seed=number,
            layout=dice.choice([Layout.WHOLE, Layout.STREAMING]),
            max_frames=dice.randrange(3, self._most_frames),
            initial_codec_chunk_frames=dice.choice([None, None, 1, 4]),
            pace=dice.choice([Pace.REALTIME, Pace.REALTIME, Pace.FAST]),
            keep_codes=True,
        )
        return request, tuple(dice.randrange(30, 60) for _ in range(dice.randrange(1, 40)))

    def _start(self, engine: SpeechEngine, kind: int) -> LiveUtterance:
        request, ids = self._kinds[kind]
        utterance = engine.start(request)
        utterance.feed(ids)
        utterance.end_of_text()
        return utterance

    def _hear(self, utterance: LiveUtterance) -> Said:
        parts = []
        while len(part := utterance.pcm.read(1 << 16, _SOON)):
            parts.append(part)
        codes = utterance.outcome.result(_SOON).codes
        assert codes is not None
        return Said(codes, np.concatenate(parts))

    def _mix(self, engine: SpeechEngine, mix: int, alone: list[Said]) -> None:
        dice, under_way = self._dice, list[tuple[int, LiveUtterance]]()
        for _ in range(dice.randrange(2, 10)):
            kind = dice.randrange(_KINDS)
            under_way.append((kind, self._start(engine, kind)))
            if dice.random() < 0.25:
                _, leaving = under_way.pop(dice.randrange(len(under_way)))
                if dice.random() < 0.5:
                    leaving.pcm.read(1, _SOON)  # midway
                leaving.cancel()
                leaving.outcome.result(_SOON)
                self.cancelled += 1
        for kind, utterance in under_way:
            said = self._hear(utterance)
            assert np.array_equal(said.codes, alone[kind].codes), f"mix {mix}: kind {kind} says something else"
            near = np.abs(said.pcm - alone[kind].pcm).max()
            assert near < NEAR, f"mix {mix}: kind {kind} sounds different by {near:.1e}"
            self.heard += 1


def main() -> None:
    """Mix as often as was asked."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mixes", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--mixes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--bundle", type=Path, default=DEFAULT_VOICE)
    options = parser.parse_args()
    mixer = Mixer(options.bundle, options.seed, options.slots)
    mixer.run(options.mixes)
    print(f"{options.mixes} mixes: {mixer.heard} utterances said what they say alone, {mixer.cancelled} were cancelled")


if __name__ == "__main__":
    main()
