"""Lengths and areas: feet and inches by their marks, one side by another, and where "in" means inches.

Purpose: rules for what is measured with a tape.
Knows: the marks ' and ", the words that follow a length. Does not know: other units (`english` reads them).
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.measures import DIMENSIONS, UNIT, VOLUMES, WEIGHTS, behind, measure
from app.rules import Match, Rule, alternatives, between, has_article

_DIMENSION: Final = re.compile(rf" (?:{alternatives(DIMENSIONS)})\b")
_OF_LENGTH: Final = re.compile(
    rf" (?:{alternatives(DIMENSIONS)})(?=\s*(?:[,.;:!?)]|$)| (?:and|or|by|x|at|on|with|is|but|when|to|so|for)\b)"
    r"| of\b| (?:by|x|\u00d7) \d"
)
_BY: Final = re.compile(r"\d in\.? (?:by|x|\u00d7) $")
_SIDE: Final = r"\d{1,5}(?:\.\d{1,3})?"
_INCH_MARK: Final = "(?:\"|\u201d|\u2033|'')"
_FOOT_MARK: Final = "['\u2019\u2032]"
_QUOTES: Final = re.compile('(?P<digit>(?<=[0-9]))?(?P<mark>["\u201c\u201d])')
"""Marks; those behind a digit may be inches themselves."""
_PRODUCT_FOLLOWS: Final = re.compile(r" (?:=|equals\b|is\b)")
_SUM_BEFORE: Final = re.compile(r"(?:[=+\u2212\u00f7] ?|\b(?:[Ww]hat is|[Ww]hat['\u2019]s|[Cc]alculate|[Cc]ompute) )\Z")
_NOUN: Final = re.compile(" [a-z]")
_PART: Final = r"(?:\d{1,3}[ -])?\d{1,2}/\d{1,2}"


def is_length(found: Match) -> bool:
    """Whether the "in" behind a number is inches though more words follow: something is so wide, or of snow."""
    after = found.string[found.end() :]
    if found.group().endswith(".") and after.lstrip()[:1].islower():
        return True
    if _BY.search(found.string[: found.start()]) or _OF_LENGTH.match(after):
        return True
    return bool(has_article(found) and _DIMENSION.match(after))


def _height(found: Match) -> str:
    return f"{numbers.cardinal(found['feet'])} feet {numbers.cardinal(found['inches'])}"


def _feet(found: Match) -> str:
    return measure(found["number"], "ft")


def _feet_by_feet(found: Match) -> str:
    return f"{measure(found['low'], 'ft')} by {measure(found['high'], 'ft')}"


def open_quotations(text: str) -> str:
    """The marks of the quotations in `text` that have not ended, or have not begun; "" where there are none."""
    straight, surplus = False, 0
    for found in _QUOTES.finditer(text):
        mark, close = found["mark"], found["digit"] is not None
        if mark == '"':
            straight = not straight and not close
        elif mark == "\u201c" or surplus > 0 or not close:
            surplus += 1 if mark == "\u201c" else -1
    return '"' * straight + ("\u201c" * surplus or "\u201d" * -surplus)


def _quoted(found: Match) -> bool:
    """Whether a quotation is open, so that the mark behind the number closes it."""
    return open_quotations(found.string[: found.start()])[:1] in {'"', "\u201c"}


def _inches(found: Match) -> str | None:
    if _quoted(found) or numbers.is_year(found["number"]):
        return None
    low = f"{numbers.decimal(found['low'])} {between(found)} " if found["low"] else ""
    return low + measure(found["number"], "in", single=has_article(found))


def _inch_fraction(found: Match) -> str | None:
    if _quoted(found):
        return None
    return f"{found['number']} inch{'es' if re.search('[ -]', found['number']) else ''}"


def _is_product(found: Match) -> bool:
    """Whether the words around speak of a sum."""
    return bool(_PRODUCT_FOLLOWS.match(found.string, found.end()) or _SUM_BEFORE.search(found.string, 0, found.start()))


def _sides(found: Match) -> str:
    """Three sides or more: so long by so wide by so high."""
    sides = re.findall(_SIDE, found["sides"])
    counted = _is_product(found) or (" " in found["sides"] and len("".join(sides)) == len(sides))
    by = " times " if counted and not found["unit"] else " by "
    unit = " inch" if found["thing"] else behind(found["unit"])
    return by.join(map(numbers.plain, sides)) + unit


def _exact_height(found: Match) -> str:
    part = numbers.part_beyond(found["top"], found["bottom"])
    return f"{numbers.cardinal(found['feet'])} feet {numbers.cardinal(found['inches'])} and {part}"


def _area(found: Match) -> str:
    if found["unit"] in WEIGHTS or found["unit"] in VOLUMES:
        single = bool(_NOUN.match(found.string, found.end()))
        return f"{numbers.plain(found['low'])} times {measure(found['high'], found['unit'], single=single)}"
    small = found["gap"] and (_is_product(found) or len(found["low"] + found["high"]) < 4)
    by = "times" if small and not found["unit"] else "by"
    return f"{numbers.plain(found['low'])} {by} {numbers.plain(found['high'])}{behind(found['unit'])}"


FRACTION_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?<![\w.])(?P<feet>\d{{1,2}}){_FOOT_MARK} ?(?P<inches>\d{{1,2}})[ -]"
        rf"(?P<top>\d)/(?P<bottom>\d\d?){_INCH_MARK}",
        _exact_height,
    ),
    Rule(rf"(?<![\w./])(?P<number>{_PART}){_INCH_MARK}(?= ?[\w,.;)]|$)", _inch_fraction),
)
"""Tried before fractions are words."""
LENGTH_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?<=\d[\"\u201d\u2033]) ?[x\u00d7] ?(?=\d)", " by "),
    Rule(
        rf"(?<![\w.])(?P<feet>\d{{1,3}}){_FOOT_MARK} ?(?P<inches>\d{{1,2}}){_INCH_MARK}",
        _height,
    ),
    Rule(
        rf"(?<![\w.'\u2018\u2019])(?P<low>\d{{1,3}}){_FOOT_MARK} ?(?:[x\u00d7]|by) ?"
        rf"(?P<high>\d{{1,3}}){_FOOT_MARK}(?!\w)",
        _feet_by_feet,
    ),
    Rule(
        rf"(?<![\w.'\u2018\u2019])(?P<number>\d{{1,3}}){_FOOT_MARK}"
        rf"(?= (?:{alternatives(DIMENSIONS)})\b)",
        _feet,
    ),
    Rule(
        rf"(?<![\w.])(?:(?P<low>{_SIDE})[-\u2013])?(?P<number>{_SIDE})(?:\"|\u201d|\u2033)(?= ?[A-Za-z,.;)]|$)",
        _inches,
    ),
)
SIDES_RULE: Final = Rule(
    rf"(?<![\w.])(?P<sides>{_SIDE}(?: ?[x\u00d7] ?{_SIDE}){{2,4}})"
    rf"(?: ?(?P<unit>{UNIT})|(?P<thing>-in\.?(?= [a-z])))?(?!\w|\.\d|\^| to the| ?[x\u00d7])",
    _sides,
    needs="x\u00d7",
)
AREA_RULE: Final = Rule(
    rf"(?<![\w.])(?P<low>{_SIDE})(?P<gap> ?)[x\u00d7](?P=gap)(?P<high>{_SIDE})"
    rf"(?: ?(?P<unit>{UNIT}))?(?!\w|\.\d|\^| to the)",
    _area,
    needs="x\u00d7",
)
