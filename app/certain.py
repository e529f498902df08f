"""Which words of an unfinished segment stay as they are read, whatever follows.

Purpose: `certain_length`, asked where words are given out early and where a segment that is too long is cut.
Knows: words that a rule of normalisation takes together with a neighbour; brackets. Does not know: where segments end,
what is given out.
"""

from __future__ import annotations

import re
from typing import Final

from app.abbreviations import DAYS, MONTH_NAMES, MONTHS
from app.measures import DIMENSIONS, UNITS
from app.telephone import CODE_WORDS

_BETWEEN_WORDS: Final = re.compile(r"(?<!\S)('?[a-z][a-z']*)[,;:]?(\s)(?=('?[a-z][a-z']*)[,;:]?\s)")
"""A space between two plain words, the second of which is complete."""
_REACHING: Final = frozenset((
    "of", "a", "an", "the", "to", "by", "all", "x", "sq", "thousand", "million", "billion", "trillion",
    *DAYS, *MONTHS, *map(str.lower, (*MONTH_NAMES, *UNITS)), *DIMENSIONS, *CODE_WORDS,
))  # fmt: skip
"""Plain words that a rule may take together with a neighbour."""
_CLOSING: Final = {"]": "[", ">": "<", ")": "(", "}": "{"}
_BRACKET: Final = re.compile(r"[][<>(){}]")


def certain_length(text: str) -> int:
    """How many characters of an open segment stay as they are read, whatever follows; 0 for none."""
    best = come = 0
    open_brackets = dict.fromkeys(_CLOSING.values(), 0)
    for found in _BETWEEN_WORDS.finditer(text):
        place = found.start(2)
        _count_open(open_brackets, text[come:place])
        come = place
        if found.group(1) in _REACHING or found.group(3) in _REACHING:
            continue
        if not any(open_brackets.values()):
            best = place
    return best


def _count_open(open_brackets: dict[str, int], text: str) -> None:
    """Go on counting brackets that have not ended yet; one that ends without a beginning counts for nothing."""
    for bracket in _BRACKET.findall(text):
        if bracket in open_brackets:
            open_brackets[bracket] += 1
        elif open_brackets[_CLOSING[bracket]]:
            open_brackets[_CLOSING[bracket]] -= 1
