"""Written English becomes spoken English: numbers, dates, times, money, units, abbreviations.

Purpose: `normalize` rewrites one segment; every piece keeps its place in the original. Text that is words already keeps
its words and costs next to nothing: the rules are loaded when the first text needs them. Segments are short (the
segmenter's bound), so the work is bounded whatever the text.
Knows: when there is something to normalise. Does not know: the rules (`english`, `small_signs`), streams,
markup (it is gone by now).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from app.abbreviations import ANYWHERE, DAYS, DOTTED, MONTHS, TITLES
from app.rules import Rule
from app.spans import SpannedText

_NEEDED: Final = re.compile(
    r"[^A-Za-z\s,.?!;:'\u2019\"\u201c\u201d()\u2014-]"  # a digit, a sign
    r"|(?<!\w)\.[A-Za-z]{2}|[IVXLC]{2}|\b[VX]\b|\b[A-Z][A-Za-z]+ I\b"  # perhaps a Roman numeral
    r"|(?<!\S)--?[A-Za-z]|(?i:\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.? ?-)"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Apr|Aug|Sep|Oct|Nov|Dec)[rst]{0,2}\b"  # perhaps a day or a month
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof|Mt|Lt|Sgt|Capt) (?:[A-Z]|and )|\bA-Z\b"
    r"|\b(?:St|Ave|Blvd|Rd|Pkwy|Hwy|Fwy)\b"  # perhaps a place
    r"|\b[NESW]?[NS][EW]\b|\b(?:[Hh]ead(?:ed|ing)?|[Ww]inds?:?|[Cc]ontinue|[Ff]acing|[Mm]oving) [NSEW]\b"
    r"|[LR](?<=(?:urn|eep|ear|tay) .)\b|[YQM](?:o[YQM]|-F)\b"
    r"|-(?<= [A-F]-)(?:[\s.,;!?)]|\Z)|[:;](?<!\S.)-?[DPp]\b|\b[NSEW] [A-Z]|\b(?:vs|VS)\b|\bv\. [A-Z]|->"
)
_BEFORE_DOT: Final = re.compile(r"(?<![A-Za-z])([A-Za-z]+(?:\.[A-Za-z]+)*)\.")
_SHORT_FORMS: Final = frozenset((*ANYWHERE, *DAYS, *DOTTED, *MONTHS, *TITLES))
_DIGIT: Final = re.compile(r"\d")
_GAPS: Final = re.compile(r"(?<=\S)  +(?=\S)")
_BEFORE_MARK: Final = re.compile(r" +(?=[,.;:!?)](?:\s|$))")


def normalize(text: SpannedText) -> SpannedText:
    """English as it is spoken; the same object where nothing is to be done."""
    if not _NEEDED.search(text.text) and not _has_short_form(text.text):
        return _closed_up(text)
    from app.english import DIGIT_RULES, RULES
    from app.small_signs import SMALL_SIGN_RULES

    text = _rewritten(text, SMALL_SIGN_RULES)
    if _DIGIT.search(text.text):
        text = _rewritten(text, DIGIT_RULES)
    return _closed_up(_rewritten(text, RULES)).strip()


def _rewritten(text: SpannedText, rules: Iterable[Rule]) -> SpannedText:
    for rule in rules:
        text = rule.apply(text)
    return text


def _closed_up(text: SpannedText) -> SpannedText:
    """Without double spaces and spaces before marks: in every text, so that a sentence reads the same in parts."""
    return text.sub(_GAPS, " ").sub(_BEFORE_MARK, "")


def _has_short_form(text: str) -> bool:
    """Whether a dot may mark an abbreviation."""
    words = (found.group(1) for found in _BEFORE_DOT.finditer(text))
    return any(len(word) == 1 or "." in word or word.lower() in _SHORT_FORMS for word in words)
