"""Written Chinese and Japanese become spoken: numbers, dates, times, money, units.

Purpose: the grammars of wetext behind the same door as our English rules, with spans. They are
loaded (0.2 s) when the first text with something to read comes, and work offline. What people write and the grammars
misread is written otherwise first: full-width digits and signs, hyphens that are no minus, thousands. The library can
say itself what came from where, but takes fifteen times as long for it.
Knows: wetext. Does not know: other languages, markup, streams. Segments are short: the grammars' time grows faster than
the text.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from app.chinese import RULES
from app.spans import SpannedText

if TYPE_CHECKING:
    from wetext import Normalizer

EAST_ASIAN: Final = {"chinese": "zh", "japanese": "ja"}
"""Languages that are read here, and the grammars' names for them."""
_WIDE: Final = str.maketrans(
    "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19\uff05\uff0b\uff0d\u2212\uff0e\uff0f\uff1a\uff1d\uff5e\u301c",
    "0123456789%+--./:=~~",
)
_WIDE_SIGN: Final = re.compile(
    "[\uff10-\uff19]|(?<=\\d)\uff05|(?<=[\\d%\uff05])[\uff0b\uff0d\u2212\uff0e\uff0f\uff1a\uff1d\uff5e\u301c](?=\\d)"
    "|(?<![\\w)\uff09])[\uff0d\u2212](?=\\d)"
)
"""Full-width digits, and the signs that belong to numbers."""
_WIDE_THOUSANDS: Final = re.compile(
    "(?<=[\uff10-\uff19])\uff0c(?=(?:[\uff10-\uff19]{3}\uff0c)*[\uff10-\uff19]{3}(?!\\d))"
)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=(?:\d{3},)*\d{3}(?![\d,]))")
_LISTED: Final = re.compile("(?<=\\d)\uff0c(?=\\d)(?!\\d{3}(?!\\d))")
"""To the grammar this makes one number of two."""
_IN_NAME: Final = re.compile(r"(?<=[A-Za-z])-(?=\d)")
_LEADING_ZERO: Final = re.compile("(?<![\\d.:])0(?=[1-9][\u6708\u65e5\u53f7])")
_SECOND_OF_MONTH: Final = re.compile("(?<=\u6708)2(?=[\u65e5\u53f7\u865f])")
_CELSIUS: Final = re.compile("(?<=\\d) ?(?:\u2103|\u00b0C)")
_PERCENT_TO: Final = re.compile("(?<=%)~(?=\\d)")
_SUM: Final = re.compile(r"[-+\d. ]*=")
_MINUS: Final = "\u30de\u30a4\u30ca\u30b9"
_NEEDED: Final = re.compile(r"\d|[%\u2030\u2103\u2109\u00b0$\uffe5\u00a5\u20ac\u00a3+=\u00d7\u00f7<>]")


@lru_cache(maxsize=len(EAST_ASIAN))
def _grammar(language: str) -> Normalizer:
    from wetext import Normalizer

    return Normalizer(lang=EAST_ASIAN[language], operator="tn")


def normalize_east_asian(text: SpannedText, language: str) -> SpannedText:
    """Text as it is spoken in `language`; the same object where nothing is to be done."""
    if not _NEEDED.search(text.text):
        return text
    text = _rewritten(text, language)
    grammar = _grammar(language)
    try:
        spoken = str(grammar.normalize(text.text))
    except (
        RuntimeError,
        ValueError,
        AssertionError,
        LookupError,
    ):  # the library's ways to say that it cannot read a text
        return text
    alike = SequenceMatcher(None, text.text, spoken, autojunk=False)
    changes = []
    for kind, start, end, start_spoken, end_spoken in alike.get_opcodes():
        if kind != "equal":
            changes.append((start, end, _joined(text.text, start, end, spoken[start_spoken:end_spoken])))
    return text.replaced(changes)


def _joined(written: str, start: int, end: int, spoken: str) -> str:
    """What is spoken for a part of a Japanese text; a hyphen between its numbers is of an address or a score."""
    place = written.find("-", start, end)
    if place < 0 or not written[max(0, place - 1) : place].isdigit() or _SUM.match(written, place):
        return spoken
    return spoken.replace(_MINUS, "\u306e")


def _rewritten(text: SpannedText, language: str) -> SpannedText:
    """Text as the grammars know numbers."""
    text = text.sub(_WIDE_THOUSANDS, "").sub(_WIDE_SIGN, lambda found: found.group().translate(_WIDE))
    text = text.sub(_THOUSANDS, "").sub(_LEADING_ZERO, "")
    if language == "japanese":
        return text.sub(_IN_NAME, " ").sub(_CELSIUS, "\u5ea6").sub(_PERCENT_TO, "\u304b\u3089")
    for pattern, replacement in RULES:
        text = text.sub(pattern, replacement)
    return text.sub(_IN_NAME, " ").sub(_LISTED, "\u3001").sub(_SECOND_OF_MONTH, "\u4e8c")
