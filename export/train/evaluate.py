"""Measures a checkpoint on unseen sentences: words right, ends, durations, beside the teacher.

Knows: the listener, the scores. Does not know: training.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from export.train.oracle import Listener, errors, words

Wave = NDArray[np.float32]


@dataclass
class Score:
    """Counts over utterances, word counts as the listener heard them."""

    words: int = 0
    wrong: int = 0
    right: int = 0
    utterances: int = 0
    ended: int = 0
    ratios: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        """Figures in percent; durations as ratios to the teacher's."""
        out = {
            "utterances": float(self.utterances),
            "words_right": round(100 * self.right / max(1, self.words), 2),
            "wer": round(100 * self.wrong / max(1, self.words), 2),
            "ended": round(100 * self.ended / max(1, self.utterances), 2),
        }
        if self.ratios:
            low, mid, high = np.percentile(self.ratios, [5, 50, 95])
            out |= {"ratio_p5": round(low, 3), "ratio_p50": round(mid, 3), "ratio_p95": round(high, 3)}
        return out


def score(
    chosen: list[tuple[str, str]], speak: Callable[[str], tuple[Wave, bool]], listener: Listener, rate: int,
    durations: list[float] | None = None,
) -> dict[str, Score]:  # fmt: skip
    """Speak and hear every sentence; gives scores per kind and for "all"."""
    out: dict[str, Score] = defaultdict(Score)
    for i, (kind, text) in enumerate(chosen):
        wave, ended = speak(text)
        wrong, right = errors(words(text), listener.hear(wave, rate))
        for name in ("all", kind):
            s = out[name]
            s.words, s.wrong, s.right = s.words + len(words(text)), s.wrong + wrong, s.right + right
            s.utterances, s.ended = s.utterances + 1, s.ended + int(ended)
            if durations:
                s.ratios.append(len(wave) / rate / durations[i])
    return dict(out)


def report(title: str, scores: dict[str, Score]) -> str:
    """A table for people, then one JSON line."""
    keys = list(scores["all"].row())
    lines = [title, "  ".join(["kind".ljust(9), *(k.rjust(11) for k in keys)])]
    for name, s in scores.items():
        lines.append("  ".join([name.ljust(9), *(f"{v:11.2f}" for v in s.row().values())]))
    return "\n".join([*lines, json.dumps({"title": title, **{n: s.row() for n, s in scores.items()}})])
