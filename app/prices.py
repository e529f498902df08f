"""Amounts of money, as English says them.

Purpose: rules for prices, their ranges, and prices written as on the continent of Europe.
Knows: where a currency stands beside its number. Does not know: the words for an amount (`measures`), other numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.measures import CURRENCIES, SCALES, UNIT, money
from app.rules import NUMBER, SIGN, Match, Rule, alternatives, between, has_article

_CURRENCY: Final = alternatives(CURRENCIES)
_LAKHS: Final = r"(?P<mark>(?:\u20b9|Rs\.?|INR) ?)(?P<whole>\d{1,2}(?:,\d\d)+,\d{3})(?!\d|,\d)"
"""In India the commas stand after the third digit and then after every second: 12,50,000."""
_SCALE_WORDS: Final = "thousand|million|billion|trillion|lakh|crore|bn|mn|tn|[kKMmBbT]"
_SCALE: Final = f"(?P<scale>{_SCALE_WORDS})"
_PER: Final = rf"(?P<per>/(?:(?!(?:{UNIT})(?!\w))(?=[a-z]{{3}})|(?=1[kKM]\b)))?"
"""So much per gallon, slice or million tokens; units that are written short have a rule of their own."""
_CONTINENTAL: Final = (
    r"(?:(?P<mark>\u20ac ?)|(?<![\w.,]))(?P<whole>\d{1,3}(?:\.\d{3})*),(?P<cents>\d\d)(?!\d)"
    r"(?(mark)|(?= ?(?:\u20ac|EUR\b)))"
)
"""With the euro before or behind it, 1.250,50 has a point and a comma the other way round."""
_THING: Final = re.compile(
    r"-[a-z]| (?!(?:or|and|to|for|in|on|at|a|an|per|off|from|more|less|each|is|was|if|when|than)\b)[a-z]"
)
"""What an amount with an article before it describes."""


def _per(found: Match) -> str:
    return " per " if found["per"] else ""


def _money(found: Match) -> str:
    number = found["number"].replace(",", "")
    scale = found["scale"] or ""
    minus = "minus " if found["sign"] else ""
    describes = has_article(found) and _THING.match(found.string, found.end())
    return minus + money(number, found["currency"], SCALES.get(scale, scale), single=bool(describes)) + _per(found)


def _money_range(found: Match) -> str:
    low, high = found["low"].replace(",", ""), found["high"].replace(",", "")
    scale, small = (SCALES.get(written, written) for written in (found["scale"] or "", found["small"] or ""))
    falls = found["again"] and " - " in found.group() and not (small or scale) and float(low) > float(high)
    if falls:
        return f"{money(low, found['currency'])} minus {money(high, found['currency'])}{_per(found)}"
    if not found["again"] or (not scale and "." not in low + high):
        first = f"{numbers.decimal(low)}{' ' * bool(small)}{small}"
    else:
        first = money(low, found["currency"], small or scale)
    return f"{first} {between(found)} {money(high, found['currency'], scale)}{_per(found)}"


def _pointed(found: Match) -> str:
    """A continental amount with the point where English has it; the rules for prices read it."""
    return f"{found['mark'] or ''}{found['whole'].replace('.', '')}.{found['cents']}"


CONTINENTAL_RULE: Final = Rule(_CONTINENTAL, _pointed)
"""Tried before commas between numbers."""
LAKH_RULE: Final = Rule(_LAKHS, lambda f: f["mark"] + f["whole"].replace(",", ""))
PRICE_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?<![\w/.,])(?P<number>\d{1,2})/(?=[$\u20ac\u00a3]\d)", lambda f: f"{f['number']} for "),
    Rule(
        rf"(?<![\w.])(?P<currency>{_CURRENCY})(?P<low>{NUMBER})(?P<small>[kKMB])? ?[-\u2013] ?"
        rf"(?P<again>{_CURRENCY})?(?P<high>{NUMBER})(?: ?{_SCALE}\b)?{_PER}",
        _money_range,
        needs=CURRENCIES,
    ),
    Rule(
        rf"{SIGN}(?<!\w)(?<![A-Z]/)(?P<currency>{_CURRENCY}) ?(?P<number>{NUMBER}|\.\d+)(?:[ -]?{_SCALE}\b)?{_PER}",
        _money,
        needs=CURRENCIES,
    ),
    Rule(
        rf"{SIGN}(?<![\w.])(?P<number>{NUMBER})(?: ?{_SCALE})? ?(?P<currency>{_CURRENCY})(?!\w){_PER}",
        _money,
        needs=CURRENCIES,
    ),
)
