"""Signs that are small numbers: raised and lowered digits, fractions of one character, charges, marks of footnotes.

Purpose: rules that write them at full size or take them out, so that the rules of English see numbers they know.
Knows: what a raised digit stands for where it stands. Does not know: units (squares and cubes are left to them).
"""

from __future__ import annotations

import re
from typing import Final

from app.rules import Match, Rule

_VULGAR: Final = {
    "\u00bd": "1/2", "\u2153": "1/3", "\u2154": "2/3", "\u00bc": "1/4", "\u00be": "3/4", "\u2155": "1/5",
    "\u2156": "2/5", "\u2157": "3/5", "\u2158": "4/5", "\u2159": "1/6", "\u215a": "5/6", "\u2152": "1/10",
    "\u215b": "1/8", "\u215c": "3/8", "\u215d": "5/8", "\u215e": "7/8",
}  # fmt: skip
_RAISED: Final = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a\u207f", "0123456789-+n"
)
_LOWERED: Final = str.maketrans(
    "\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089\u2099\u1d62\u2c7c\u2096\u2098", "0123456789nijkm"
)
_DIGITS: Final = r"\u2070\u00b9\u00b2\u00b3\u2074-\u2079"
_CHARGES: Final = {"\u207a": "plus", "\u207b": "minus"}
_MEASURED: Final = re.compile(
    "(?:met|lit)(?:er|re)s?|feet|foot|inch(?:es)?|miles?|yards?|acres?|seconds?|sinh|cosh|tanh"
)
_EQUATION: Final = re.compile("[=\u00d7\u221a+]")


def _part(found: Match) -> str:
    """A fraction that is one character."""
    return f"{',' if found['slash'] else ''}{found['whole'] or ''} {_VULGAR[found['sign']]}"


def _charge(found: Match) -> str:
    """`Fe\u00b3\u207a` as three plus."""
    count = f" {found['count'].translate(_RAISED)}" if found["count"] else ""
    return f"{count} {_CHARGES[found['sign']]}"


def _note(found: Match) -> str | None:
    """Without the mark of a footnote; what is squared in an equation, or is a unit, keeps its power."""
    word = found["word"] or ""
    if word and (_MEASURED.fullmatch(word.lower()) or _EQUATION.search(found.string)):
        return None
    return word


def _power(found: Match) -> str | None:
    """Raised digits; squares and cubes are left to the rules, which know units."""
    raised = found.group().translate(_RAISED)
    if raised in {"2", "3"}:
        return None
    gap = "" if found.string[found.end() :][:1] == " " else " "
    return f" to the {'minus ' if raised[0] == '-' else ''}{raised.lstrip('-+')}{gap}"


def _index(found: Match) -> str:
    written = found.group().translate(_LOWERED)
    return written if written.isdecimal() else f" {written}"


SMALL_SIGN_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?<=\d)[\u00ba\u02da]|(?<=\d )[\u00ba\u02da](?=[CF])", "\u00b0"),  # nearer on some keyboards
    Rule(rf"(?:(?P<whole>\d)|(?P<slash>(?<=[a-z])/))? ?(?P<sign>[{''.join(_VULGAR)}])", _part),
    Rule(
        rf"(?<=[A-Za-z\u2080-\u2089])(?P<count>[\u00b2\u00b3\u2074]?)(?P<sign>[\u207a\u207b])(?![\w{_DIGITS}])", _charge
    ),
    Rule(
        rf"(?<![^\s(])[{_DIGITS}]{{1,3}}(?=[A-Z][a-z]?(?![A-Za-z]))",  # of an isotope
        lambda f: f"{f.group().translate(_RAISED)} ",
    ),
    Rule(
        r"(?<![A-Za-z])(?P<word>[A-Za-z]*[a-z]{4})?"
        r"(?:(?<=[a-z])|(?<=[.,;:!?\"'\u201d\u2019])|(?:(?<=\s)|\A)(?=\S+\s))"
        rf"[{_DIGITS}]{{1,3}}(?![\w{_DIGITS}\u207b])",
        _note,
    ),
    Rule(rf"[\u207b\u207a]?[{_DIGITS}]+|\u207f", _power),
    Rule(r"[\u2080-\u2089]+|[\u2099\u1d62\u2c7c\u2096\u2098]", _index),
)
"""Tried before all others (`english`): what they write may be a number."""
