"""Lines whose first words are given out while they are still written.

Purpose: hold what is read of a line's parts against what is read of the line. Knows: where a line may be cut. Does not
know: which lines.
"""

from __future__ import annotations

from app.certain import certain_length
from app.reading import Reading
from app.spans import SpannedText


def read(written: str) -> str:
    """English as it is spoken."""
    reading = Reading(language="english", normalize=True, for_lexicon=False)
    return reading.read(SpannedText.of(written), "english").text


def check_in_parts(whole: str) -> None:
    """Whichever letter came last when words were given out, they and the rest are read as the whole line."""
    spoken = read(whole)
    for cut in sorted({certain_length(whole[:end]) for end in range(len(whole))} - {0}):
        assert f"{read(whole[:cut])} {read(whole[cut:])}" == spoken
