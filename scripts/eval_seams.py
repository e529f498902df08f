"""How the utterances of a long text join: pauses, levels and edges, beside the pauses the teacher makes.

Knows: which texts are long, what a seam could be heard by. Does not know: how anything is spoken.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from export.train.alike import COLUMN_S, Table, Wave, level_db
from scripts.eval_speech import Said
from scripts.eval_words import Sentences

_QUIET_DB = -40.0  # below the loudest column: a pause
_SHORTEST_PAUSE_S = 0.08
_NEAR_S = 1.5
_RUN = 3  # columns


def long_texts(chosen: Sentences, count: int) -> list[str]:
    """Texts of four test sentences each, a long one among them."""
    long = [text for kind, text in chosen if kind == "longer"]
    rest = [text for kind, text in chosen if kind in {"reply", "question", "time", "long"}]
    return [
        " ".join([rest[3 * i % len(rest)], long[i % len(long)], *(rest[(3 * i + k) % len(rest)] for k in (1, 2))])
        for i in range(count if long and rest else 0)
    ]


@dataclass(frozen=True)
class Seams:
    """Figures over all joins. Pauses are percentiles 5, 50, 95 in seconds."""

    joins: int
    pauses_s: tuple[float, ...]
    teacher_pauses_s: tuple[float, ...]
    level_step_db: float
    """Median difference of the levels of speech before and after, up to 1.5 s of each."""
    level_step_worst_db: float
    edge_db: float
    """Loudest sample right at a join."""


def _spread(values: list[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in np.percentile(values, [5, 50, 95])) if values else ()


def _heard(loud: Table) -> NDArray[np.int64]:
    """Columns with speech: louder than a pause for at least 30 ms, which a click is not."""
    over = loud > loud.max() + _QUIET_DB
    long = np.convolve(over, np.ones(_RUN), "same") >= _RUN
    return np.flatnonzero(np.convolve(long, np.ones(_RUN), "same") > 0)


def pauses_s(wave: Wave, rate: int) -> list[float]:
    """Lengths of the pauses inside a recording."""
    loud = level_db(wave, rate)
    where = _heard(loud)
    gaps = np.diff(where) * COLUMN_S
    return [float(gap) for gap in gaps if gap >= _SHORTEST_PAUSE_S]


def _speech(wave: Wave, rate: int) -> tuple[float, float, float, float]:
    """(silence before, silence behind [s], level of speech in the first and in the last 1.5 s [dB])."""
    loud = level_db(wave, rate)
    heard = _heard(loud)
    near = round(_NEAR_S / COLUMN_S)
    power = 10 ** (loud[heard] / 10)
    first, last = (float(10 * np.log10(side.mean())) for side in (power[:near], power[-near:]))
    return float(heard[0]) * COLUMN_S, float(len(loud) - 1 - heard[-1]) * COLUMN_S, first, last


def seams(said: list[Said], taught: list[Wave], rate: int) -> Seams:
    """Look at every join."""
    pauses, steps, edges = [], [], []
    for text in said:
        parts = [part for part in text.parts if len(part)]
        for one, other in pairwise(parts):
            _, behind, _, before_db = _speech(one, rate)
            ahead, _, after_db, _ = _speech(other, rate)
            pauses.append(behind + ahead)
            steps.append(abs(after_db - before_db))
            edges.append(float(max(abs(one[-1]), abs(other[0]))))
    teacher = [pause for wave in taught for pause in pauses_s(wave, rate)]
    if not pauses:
        return Seams(0, (), _spread(teacher), 0.0, 0.0, -120.0)
    return Seams(
        joins=len(pauses),
        pauses_s=_spread(pauses),
        teacher_pauses_s=_spread(teacher),
        level_step_db=float(np.median(steps)),
        level_step_worst_db=max(steps),
        edge_db=float(20 * np.log10(max(edges) + 1e-6)),
    )
