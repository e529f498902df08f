"""Written English becomes spoken English: numbers, dates, times, money, units, abbreviations.

Purpose: `normalize` rewrites one segment; every piece keeps its place in the original. Text that is words already keeps
its words and costs next to nothing: the rules are loaded when the first text needs them. Segments are short (the
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
    r"|(?<!\w)\.[A-Za-z]{2}|[IVXLC]{2}|\b[VX]\b|\b[A-Z][A-Za-z]+ I\b"  # perhaps a Roman numeral
    r"|(?<!\S)--?[A-Za-z]|(?i:\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.? ?-)"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Apr|Aug|Sep|Oct|Nov|Dec)[rst]{0,2}\b"  # perhaps a day or a month
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof|Mt|Lt|Sgt|Capt) (?:[A-Z]|and )|\bA-Z\b"
    r"|\b(?:St|Ave|Blvd|Rd|Pkwy|Hwy|Fwy)\b"  # perhaps a place
    r"|\b[NESW]?[NS][EW]\b|\b(?:[Hh]ead(?:ed|ing)?|[Ww]inds?:?|[Cc]ontinue|[Ff]acing|[Mm]oving) [NSEW]\b"
    r"|[LR](?<=(?:urn|eep|ear|tay) .)\b|[YQM](?:o[YQM]|-F)\b"
    r"|-(?<= [A-F]-)(?:[\s.,;!?)]|\Z)|[:;](?<!\S.)-?[DPp]\b|\b[NSEW] [A-Z]|\b(?:vs|VS)\b|\bv\. [A-Z]|->"
)
_VULGAR: Final = {
    "\u00bd": "1/2", "\u2153": "1/3", "\u2154": "2/3", "\u00bc": "1/4", "\u00be": "3/4", "\u2155": "1/5",
    "\u2156": "2/5", "\u2157": "3/5", "\u2158": "4/5", "\u2159": "1/6", "\u215a": "5/6", "\u2152": "1/10",
    "\u215b": "1/8", "\u215c": "3/8", "\u215d": "5/8", "\u215e": "7/8",
}  # fmt: skip
_VULGAR_SIGN: Final = re.compile(rf"(?:(?P<whole>\d)|(?P<slash>(?<=[a-z])/))? ?(?P<sign>[{''.join(_VULGAR)}])")
"""With the number before it, or the slash between a measure and another."""
_TYPED_DEGREE: Final = re.compile("(?<=\\d)[\u00ba\u02da]|(?<=\\d )[\u00ba\u02da](?=[CF])")
"""Signs that look like the one for degrees and lie nearer on some keyboards."""
_RAISED: Final = re.compile("[\u207b\u207a]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+|\u207f")
_CHARGE: Final = re.compile(
    "(?<=[A-Za-z\u2080-\u2089])(?P<count>[\u00b2\u00b3\u2074]?)(?P<sign>[\u207a\u207b])(?![\\w\u2070\u00b9\u00b2\u00b3\u2074-\u2079])"
)
_CHARGES: Final = {"\u207a": "plus", "\u207b": "minus"}
_ISOTOPE: Final = re.compile("(?<![^\\s(])[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}(?=[A-Z][a-z]?(?![A-Za-z]))")
_NOTE: Final = re.compile(
    "(?<![A-Za-z])(?P<word>[A-Za-z]*[a-z]{4})?(?:(?<=[a-z])|(?<=[.,;:!?\"'\u201d\u2019])|(?:(?<=\\s)|\\A)(?=\\S+\\s))"
    "[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}(?![\\w\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207b])"
)
"""The mark of a footnote, behind a word or before its text."""
_MEASURED: Final = re.compile(
    "(?:met|lit)(?:er|re)s?|feet|foot|inch(?:es)?|miles?|yards?|acres?|seconds?|sinh|cosh|tanh"
)
_EQUATION: Final = re.compile("[=\u00d7\u221a+]")
_RAISED_DIGITS: Final = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a\u207f", "0123456789-+n"
)
_LOWERED: Final = re.compile("[\u2080-\u2089]+|[\u2099\u1d62\u2c7c\u2096\u2098]")
_LOWERED_DIGITS: Final = str.maketrans(
    "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u2099\u1d62\u2c7c\u2096\u2098", "0123456789nijkm"
)
_BEFORE_DOT: Final = re.compile(r"([A-Za-z]+(?:\.[A-Za-z]+)*)\.")
_SHORT_FORMS: Final = frozenset((*ANYWHERE, *DAYS, *DOTTED, *MONTHS, *TITLES))
_DIGIT: Final = re.compile(r"\d")
_GAPS: Final = re.compile(r"(?<=\S)  +(?=\S)")
_BEFORE_MARK: Final = re.compile(r" +(?=[,.;:!?)](?:\s|$))")


def normalize(text: SpannedText) -> SpannedText:
    """English as it is spoken; the same object where nothing is to be done."""
    if not _NEEDED.search(text.text) and not _has_short_form(text.text):
        return _closed_up(text)
    from app.english import DIGIT_RULES, RULES

    text = text.sub(_TYPED_DEGREE, "\u00b0").sub(_VULGAR_SIGN, _part)
    text = text.sub(_CHARGE, _charge).sub(_ISOTOPE, lambda found: f"{found.group().translate(_RAISED_DIGITS)} ")
    text = text.sub(_NOTE, _note).sub(_RAISED, _power).sub(_LOWERED, _index)
    for rule in (*(DIGIT_RULES if _DIGIT.search(text.text) else ()), *RULES):
        text = text.sub(rule.pattern, rule.spoken)
    return _closed_up(text).strip()


def _closed_up(text: SpannedText) -> SpannedText:
    """Without double spaces and spaces before marks: in every text, so that a sentence reads the same in parts."""
    return text.sub(_GAPS, " ").sub(_BEFORE_MARK, "")


def _part(found: re.Match[str]) -> str:
    """A fraction that is one character."""
    return f"{',' if found['slash'] else ''}{found['whole'] or ''} {_VULGAR[found['sign']]}"


def _charge(found: re.Match[str]) -> str:
    """`Fe\u00b3\u207a` as three plus."""
    count = f" {found['count'].translate(_RAISED_DIGITS)}" if found["count"] else ""
    return f"{count} {_CHARGES[found['sign']]}"


def _note(found: re.Match[str]) -> str | None:
    """Without the mark of a footnote; what is squared in an equation, or is a unit, keeps its power."""
    word = found["word"] or ""
    if word and (_MEASURED.fullmatch(word.lower()) or _EQUATION.search(found.string)):
        return None
    return word


def _index(found: re.Match[str]) -> str:
    written = found.group().translate(_LOWERED_DIGITS)
    return written if written.isdecimal() else f" {written}"


def _power(found: re.Match[str]) -> str | None:
    """Raised digits; squares and cubes are left to the rules, which know units."""
    raised = found.group().translate(_RAISED_DIGITS)
    if raised in {"2", "3"}:
        return None
    gap = "" if found.string[found.end() :][:1] == " " else " "
    return f" to the {'minus ' if raised[0] == '-' else ''}{raised.lstrip('-+')}{gap}"


def _has_short_form(text: str) -> bool:
    """Whether a dot may mark an abbreviation."""
    words = (found.group(1) for found in _BEFORE_DOT.finditer(text))
    return any(len(word) == 1 or "." in word or word.lower() in _SHORT_FORMS for word in words)
