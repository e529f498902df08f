"""Words: what a recogniser makes of the voice, of its teacher and of the codec alone, for one speaker.

Knows: who is listened to with which vocabulary. Does not know: how anything is spoken, heard or shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from export.train.alike import Wave
from export.train.evaluate import Score, tally
from scripts.eval_hearing import Hearing
from scripts.eval_speech import Said

OPEN: Final = "open"
CLOSED: Final = "closed"

Sentences = list[tuple[str, str]]
"""(kind, text) of each."""


@dataclass(frozen=True)
class Subject:
    """Everything there is to listen to for one speaker; lists go with the sentences."""

    chosen: Sentences
    taught: list[Wave]
    said: list[Said]
    coded: list[Wave]
    """The teacher's speech through the codec; empty if there is none."""
    rate_hz: int

    def ratios(self) -> list[float]:
        """Durations over the teacher's."""
        return [len(said.wave) / len(taught) for said, taught in zip(self.said, self.taught, strict=True)]


@dataclass(frozen=True)
class Words:
    """Scores per kind for (who, vocabulary)."""

    scores: dict[tuple[str, str], dict[str, Score]]

    def of(self, who: str, vocabulary: str, kind: str) -> Score | None:
        """One score, if it was taken."""
        return self.scores.get((who, vocabulary), {}).get(kind)


def listen(
    subject: Subject,
    hearings: dict[str, Hearing],
    progress: Callable[[str, int], Callable[[], None]],
    who: tuple[str, ...] = ("teacher", "codec", "voice"),
) -> Words:
    """Hear everyone with every vocabulary, but the codec with the closed one alone."""
    waves = {"teacher": subject.taught, "codec": subject.coded, "voice": [said.wave for said in subject.said]}
    ended = [said.ended for said in subject.said]
    scores = {}
    for vocabulary, hearing in hearings.items():
        for name in who:
            if not waves[name] or (name == "codec" and vocabulary != CLOSED):
                continue
            tell = progress(f"{vocabulary} vocabulary, {name}", len(waves[name]))
            heard = hearing.hear(waves[name], subject.rate_hz, tell)
            own = (ended, subject.ratios()) if name == "voice" else (None, None)
            scores[name, vocabulary] = tally(subject.chosen, heard, *own)
    return Words(scores)
