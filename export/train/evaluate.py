"""Counts what a listener heard right: words per kind of sentence, ends, durations.

Knows: scores and their rows. Does not know: voices, recognisers, files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from export.train.words import errors, words

ALL = "all"


@dataclass
class Score:
    """Counts over utterances, word counts as the listener heard them."""

    words: int = 0
    wrong: int = 0
    right: int = 0
    utterances: int = 0
    ended: int = 0
    ratios: list[float] = field(default_factory=list)

    @property
    def words_right(self) -> float:
        """Share of the words that were heard right [%]."""
        return 100 * self.right / max(1, self.words)

    @property
    def word_error_rate(self) -> float:
        """Words wrong, missing and too many, over the words wanted [%]."""
        return 100 * self.wrong / max(1, self.words)

    @property
    def ended_by_itself(self) -> float:
        """Share of utterances that ended by themselves [%]."""
        return 100 * self.ended / max(1, self.utterances)

    def ratio(self, percentile: float) -> float:
        """A percentile of the durations over the teacher's."""
        return float(np.percentile(self.ratios, percentile)) if self.ratios else float("nan")


def tally(
    chosen: list[tuple[str, str]],
    heard: list[list[str]],
    ended: list[bool] | None = None,
    ratios: list[float] | None = None,
) -> dict[str, Score]:
    """Scores per kind, and over everything as `ALL`, of (kind, text) pairs and the words that were heard."""
    out: dict[str, Score] = defaultdict(Score)
    for i, (kind, text) in enumerate(chosen):
        wanted = words(text)
        wrong, right = errors(wanted, heard[i])
        for name in (ALL, kind):
            score = out[name]
            score.words, score.wrong, score.right = score.words + len(wanted), score.wrong + wrong, score.right + right
            score.utterances += 1
            score.ended += ended is None or ended[i]
            if ratios is not None:
                score.ratios.append(ratios[i])
    return dict(out)
