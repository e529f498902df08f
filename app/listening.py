"""Somebody who listens to a context, or has left.

Purpose: `Listening`, the account of what they heard and of the gaps in it. Knows: time. Does not know: how sound gets
there.
"""

from __future__ import annotations

from collections.abc import Callable

from engines.errors import SpeechError


class ListenerLeftError(SpeechError):
    """The socket is closed: there is nobody to speak to."""


class Listening:
    """What somebody who plays each block as it comes has heard, by the clock; seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: float | None = None
        self.last_block_at: float | None = None
        self.underruns = 0
        self.gap_s = 0.0
        self.worst_gap_s = 0.0
        self.audio_s = 0.0
        self.block_gaps_s: list[float] = []
        """Between blocks, the first thousand."""

    def lead_s(self) -> float:
        """Sound the listener has in hand; negative when it has run dry."""
        return 0.0 if self._until is None else self._until - self._clock()

    def text_came(self) -> None:
        """Text came when there was nothing left to speak: the silence before it was not ours."""
        if self._until is not None and self.lead_s() < 0.0:
            self._until = None

    def sent(self, duration_s: float) -> None:
        """A block was handed over."""
        now = self._clock()
        if self._until is not None and now > self._until:
            self.underruns += 1
            self.gap_s += now - self._until
            self.worst_gap_s = max(self.worst_gap_s, now - self._until)
        if self.last_block_at is not None and len(self.block_gaps_s) < 1000:
            self.block_gaps_s.append(now - self.last_block_at)
        self.last_block_at = now
        self._until = max(now, self._until if self._until is not None else now) + duration_s
        self.audio_s += duration_s
