"""Written English becomes spoken English: numbers, dates, times, money, units, abbreviations.

Purpose: `normalize` rewrites one segment; every piece keeps its place in the original. Text that is words already is
passed through untouched and costs nothing: the rules are loaded when the first text needs them. Segments are short (the
segmenter's bound), so the work is bounded whatever the text.
Knows: when there is something to normalise. Does not know: the rules (`english`), markup (it is gone by now), streams.
"""

from __future__ import annotations

import re
from typing import Final

from app.abbreviations import ANYWHERE, DAYS, DOTTED, MONTHS, TITLES
from app.spans import SpannedText

_NEEDED: Final = re.compile(
    r"[^A-Za-z\s,.?!;:'\u2019\"\u201c\u201d()\u2014-]"  # a digit, a sign
    r"|[IVXLC]{2}|\b[VX]\b|\b[A-Z][a-z]+ I\b"  # perhaps a Roman numeral
)
_VULGAR: Final = {
    "\u00bd": "1/2", "\u2153": "1/3", "\u2154": "2/3", "\u00bc": "1/4", "\u00be": "3/4", "\u2155": "1/5",
    "\u215b": "1/8", "\u215c": "3/8", "\u215d": "5/8", "\u215e": "7/8",
}  # fmt: skip
_VULGAR_SIGN: Final = re.compile(rf"(?P<whole>\d)? ?(?P<sign>[{''.join(_VULGAR)}])")
_BEFORE_DOT: Final = re.compile(r"([A-Za-z]+(?:\.[A-Za-z]+)*)\.")
_SHORT_FORMS: Final = frozenset((*ANYWHERE, *DAYS, *DOTTED, *MONTHS, *TITLES))
_DIGIT: Final = re.compile(r"\d")
_GAPS: Final = re.compile(r"(?<=\S)  +(?=\S)")
_BEFORE_MARK: Final = re.compile(r" +(?=[,.;:!?)](?:\s|$))")


def normalize(text: SpannedText) -> SpannedText:
    """English as it is spoken; the same object where nothing is to be done."""
    if not _NEEDED.search(text.text) and not _has_short_form(text.text):
        return text
    from app.english import DIGIT_RULES, RULES

    text = text.sub(_VULGAR_SIGN, lambda found: f"{found['whole'] or ''} {_VULGAR[found['sign']]}")
    for rule in (*(DIGIT_RULES if _DIGIT.search(text.text) else ()), *RULES):
        text = text.sub(rule.pattern, rule.spoken)
    return text.sub(_GAPS, " ").sub(_BEFORE_MARK, "").strip()


def _has_short_form(text: str) -> bool:
    """Whether a dot may mark an abbreviation."""
    words = (found.group(1) for found in _BEFORE_DOT.finditer(text))
    return any(len(word) == 1 or "." in word or word.lower() in _SHORT_FORMS for word in words)
