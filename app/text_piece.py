"""What the text front end gives out.

Purpose: the value that crosses from the front end to a session, and the shape of a front end.
Knows: ids, text, spans. Does not know: how they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A piece of one utterance."""

    ids: tuple[int, ...]
    """May be empty in a piece that only ends its segment."""
    ends_segment: bool
    """Whether the utterance ends here; the next piece begins another."""
    text: str
    """What is spoken: normalised text, or phone symbols."""
    span: tuple[int, int]
    """Where it came from: characters [start, end) of all text fed so far."""


class FrontEnd(Protocol):
    """What turns text into pieces; `app.front_end.TextFrontEnd` does."""

    def feed(self, text: str) -> list[TextPiece]:
        """Take text as it comes; returns the segments no later character can change."""
        ...

    def early(self) -> list[TextPiece]:
        """What may already be spoken of the unfinished segment, now that the writer pauses."""
        ...

    def finish(self) -> list[TextPiece]:
        """No more text; returns the rest."""
        ...
