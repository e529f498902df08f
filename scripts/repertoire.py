"""A dozen kinds of utterance, and what each of them comes to alone.

Purpose: the measure for anything done in company: random texts, layouts, seeds, lengths, paces and first blocks, and
the codes and samples of their solo runs. Used by `scripts.mixes` and `scripts.storm`. Knows: requests, an engine's
door. Does not know: who is in company with whom.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.contract import Codes, Layout, Pace, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.utterance import LiveUtterance

KINDS: Final = 12
POSITIONS: Final = 160
"""Rows that any of them needs at most."""
SOON_S: Final = 600.0


@dataclass(frozen=True)
class Said:
    """What an utterance came to."""

    codes: Codes
    pcm: npt.NDArray[np.float32]


class Repertoire:
    """The kinds, and how to have one said."""

    def __init__(self, dice: random.Random, most_frames: int, *, live: bool = False) -> None:
        """`most_frames`: bound of an utterance's length; `live`: all for listeners who care that no sound runs out."""
        self._kinds = [_kind(dice, number, most_frames) for number in range(KINDS)]
        if live:
            self._kinds = [
                (replace(request, pace=Pace.REALTIME, initial_codec_chunk_frames=None), ids)
                for request, ids in self._kinds
            ]

    def start(self, engine: SpeechEngine, kind: int) -> LiveUtterance:
        """Begin one. Raises what `SpeechEngine.start` does."""
        request, ids = self._kinds[kind]
        utterance = engine.start(request)
        utterance.feed(ids)
        utterance.end_of_text()
        return utterance

    def alone(self, bundle: Path) -> list[Said]:
        """What each kind comes to when nobody else is there."""
        config = EngineConfig(slots=1, positions=POSITIONS, prefill_rows=16, admission=False)
        with SpeechEngine.open(bundle, config) as engine:
            return [hear(self.start(engine, kind)) for kind in range(KINDS)]


def hear(utterance: LiveUtterance) -> Said:
    """Wait for all of it."""
    parts = []
    while len(part := utterance.pcm.read(1 << 16, SOON_S)):
        parts.append(part)
    return said(utterance, parts)


def said(utterance: LiveUtterance, parts: list[npt.NDArray[np.float32]]) -> Said:
    """What it came to, of the sound that was read to its end."""
    codes = utterance.outcome.result(SOON_S).codes
    assert codes is not None
    return Said(codes, np.concatenate([np.empty(0, np.float32), *parts]))


def _kind(dice: random.Random, number: int, most_frames: int) -> tuple[SpeechRequest, tuple[int, ...]]:
    request = SpeechRequest(
        seed=number,
        layout=dice.choice([Layout.WHOLE, Layout.STREAMING]),
        max_frames=dice.randrange(3, most_frames),
        initial_codec_chunk_frames=dice.choice([None, None, 1, 4]),
        pace=dice.choice([Pace.REALTIME, Pace.REALTIME, Pace.FAST]),
        keep_codes=True,
    )
    return request, tuple(dice.randrange(30, 60) for _ in range(dice.randrange(1, 40)))
