"""What happened when: a record of the last few thousand pieces of work, always kept.

Purpose: let a person see how talker and codec overlap, and a bench how long the talker paused between steps. A piece is
one tuple in a bounded queue, so that keeping it costs about a microsecond. Knows: names and times. Does not know: what
the work is.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Final, NamedTuple

_KEPT: Final = 8192


class Work(str, Enum):
    """Kinds of work."""

    WAIT = "wait"
    """From text enough to start until a slot was free; one per utterance."""
    PREFILL = "prefill"
    """A piece of a prompt; amount: rows."""
    STEP = "step"
    """A frame of several utterances; amount: how many."""
    CODEC = "codec"
    """A codec call; amount: frames of all utterances in it."""
    SOUND = "sound"
    """From the first sample handed over to the last; one per utterance; amount: samples."""


class Span(NamedTuple):
    """One piece of work."""

    work: Work
    began: float
    """Seconds of the engine's clock."""
    ended: float
    slots: tuple[int, ...]
    """Whose work it was, by slot."""
    amount: int
    utterance: int | None = None
    """Number of the utterance, where it is one's alone."""


class Timeline:
    """The last pieces of work. Any thread may write and read."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._spans: deque[Span] = deque(maxlen=kept)

    def add(
        self,
        work: Work,
        began: float,
        ended: float,
        slots: tuple[int, ...],
        amount: int,
        utterance: int | None = None,
    ) -> None:
        """Note a piece of work; the oldest is forgotten."""
        self._spans.append(Span(work, began, ended, slots, amount, utterance))

    def spans(self) -> list[Span]:
        """What is kept, in the order it was noted."""
        while True:
            try:
                return list(self._spans)
            except RuntimeError:  # somebody wrote meanwhile
                continue


def step_gaps_ms(spans: list[Span], most_ms: float = 40.0) -> list[float]:
    """Pauses of the talker between a step and the next one, milliseconds, where no prompt came between.

    Pauses longer than `most_ms` are taken for waiting (nobody to step), not for work on the last step's codes.
    """
    gaps: list[float] = []
    before: Span | None = None
    for span in spans:
        if span.work not in {Work.STEP, Work.PREFILL}:
            continue
        if before is not None and before.work is span.work is Work.STEP:
            gap = 1000.0 * (span.began - before.ended)
            if 0.0 <= gap <= most_ms:
                gaps.append(gap)
        before = span
    return gaps
