"""Where a text is cut that is longer than one context may have.

Purpose: `cut`: what still goes into the context that is open, and whether another must follow. It imports nothing, for
the quick path of `speak`. Knows: where a text may be cut without harm. Does not know: contexts, sockets.
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
