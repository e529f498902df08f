"""A text that is longer than one context may have, or takes longer to come than one waits.

Purpose: `Relay`: what goes into the context that is open, and when another must follow; `cut`: where. It imports
nothing, for the quick path of `speak`. Knows: where a text may be cut without harm, when a context is lost for text.
Does not know: messages, sockets.
"""

from __future__ import annotations

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

    def __init__(self, most: int) -> None:
        """`most`: characters a context takes."""
        self._most = most
        self._told = 0
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
        """What goes into the context that is open, what is left for another, and whether this one is full with it."""
        place = cut(text, self._most - self._told, self._most)
        piece, rest = (text, "") if place is None else (text[:place], text[place:])
        self._told += len(piece)
        self.ending = place is not None
        return piece, rest, self.ending

    def done(self) -> bool:
        """The context is over; whether it was the last one."""
        if self.written or not self.ending:
            return True
        self.open = self.ending = False
        return False
