"""A text that is longer than one context may have, or takes longer to come than one waits.

Purpose: `Relay`: what goes into the context that is open, when another must follow, and whether all came to nothing;
`cut`: where. It imports nothing, for the quick path of `speak`. Knows: where a text may be cut without harm, when a
context is lost for text. Does not know: messages but their size, sockets.
"""

from __future__ import annotations

NOTHING_TO_READ = "there is nothing in this text that this voice can read"
CROSSED = ("context_ended", "unknown_context")
"""Errors of what crossed the end of its context; text that the daemon did not say it takes goes into another."""
_ENDS = (("\n\n",), (". ", "! ", "? ", "\n", "\u3002", "\uff01", "\uff1f"), (" ",))
"""Places to cut behind, the best first."""
_SHARE = 10
"""Of the bound on a text, the last tenth is where a good place is looked for."""


def cut(text: str, room: int, most: int) -> int | None:
    """How many characters of `text` still go in, with `room` left of `most`, before it is full; None: all, and more."""
    if len(text) <= room - most // _SHARE:
        return None
    head = text[:room]
    for ends in _ENDS[:2] if len(text) <= room else _ENDS:
        place = max(head.rfind(end) + len(end) if end in head else 0 for end in ends)
        if place:
            return place
    return None if len(text) <= room else room


class Relay:
    """One text on its way through contexts, one after the other."""

    def __init__(self, most: int, piece: int) -> None:
        """`most`: characters a context takes, `piece`: a message."""
        self._most = most
        self._piece = piece
        self._told = 0
        self._untaken: list[str] = []
        """Pieces of which the daemon has not said that it takes them."""
        self._words = False
        """Text with letters or digits was put in."""
        self._frames = 0
        self.open = False
        """A context is open, or asked for."""
        self.ending = False
        """It ends, because no text came for long or it is full: text would be lost in it, more will begin another."""
        self.written = False
        """All text has come."""

    def begin(self) -> None:
        """A context is asked for."""
        self.open, self._told = True, 0

    def put(self, text: str) -> tuple[str, str, bool]:
        """The next piece of the context that is open, what is left, and whether this one is full with it."""
        self._words = self._words or any(map(str.isalnum, text))
        place = cut(text[: self._piece], self._most - self._told, self._most)
        piece = text[: self._piece if place is None else place]
        self._told += len(piece)
        self._untaken += [piece] if piece else []
        self.ending = place is not None
        return piece, text[len(piece) :], self.ending

    def taken(self) -> None:
        """The daemon takes a piece."""
        del self._untaken[:1]

    def done(self, frames: int) -> bool:
        """The context is over and came to so many frames; whether it was the last one."""
        self._frames += frames
        if not self._untaken and (self.written or not self.ending):
            return True
        self.open = self.ending = False
        return False

    def again(self) -> list[str]:
        """Pieces that came too late for the context that is over: with these the next is to begin at once."""
        if self._untaken:
            self.begin()
            self._told = sum(map(len, self._untaken))
        return list(self._untaken)

    @property
    def unreadable(self) -> str:
        """What to say where nothing came of words; else empty."""
        return NOTHING_TO_READ if self._words and not self._frames else ""
