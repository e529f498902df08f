"""What the text front end gives out.

Purpose: the value that crosses from the front end to a session.
Knows: ids, text, spans. Does not know: how they are made.
"""

from __future__ import annotations

from dataclasses import dataclass


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
