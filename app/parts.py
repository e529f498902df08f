"""What is written like a fraction: parts of a whole, scores, shares, steps of so many, bars of music, seasons.

Purpose: rules for two numbers with a slash between them.
Knows: which words around say what such a pair is. Does not know: dates, feet and inches, other numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.amounts import AFTER
from app.lengths import is_length
from app.measures import LETTER_UNITS, UNIT, UNITS, behind
from app.rules import Match, Rule, has_article

_PART_OF: Final = re.compile(r"[ -](?:of|mile|miles|inch|inches|cup|second|seconds)\b")
_STARS: Final = re.compile(
    r" (?:stars?|tasks|tests|steps|files|items|questions|checks|jobs|pages|votes|nodes|pods|workers|done|completed?"
    r"|passed|correct)\b"
)
_FINEST: Final = 16
"""Nobody counts in smaller parts than sixteenths beyond a whole: 120/80 is a blood pressure."""
_GOES_ON: Final = re.compile(r" \w")
"""Behind what could be a unit: cut in 1/2 in one go."""
_IMPROPER: Final = 20
"""From so many on, nobody counts halves or quarters either: 287/4 is a score."""
_OUT_OF: Final = "5|10|100"
_STEP: Final = re.compile(
    r"\b(?:step|page|part|slide|question|task|level|round|stage|item|file|track|lesson|batch|epoch|episode|attempt"
    r"|chapter|day|week|retry|try|lap|hole) \Z",
    re.IGNORECASE,
)
_NEAR: Final = 12
"""Characters before a pair that may tell what it is."""
_BARS: Final = re.compile(r"[ -](?:time(?! zone)|beat|meter|metre|rhythm|groove|signature)\b")
_PHRASE_ENDS: Final = re.compile(r"\s*(?:[.,;:!?)]|$)")
_SHARED: Final = re.compile(r"[ -](?:split|rule|mix|ratio|blend|principle|portfolio|custody|chance)\b")


def _mixed(found: Match) -> str:
    part = numbers.part_beyond(found["top"], found["bottom"])
    return f"{numbers.cardinal(found['whole'])} and {part}{behind(found['unit'])}"


def _season(top: str, bottom: str) -> str | None:
    """`2019/20`, `2019/2020`: a year and the next."""
    if not numbers.is_year(top) or len(bottom) not in {2, 4} or not str(int(top) + 1).endswith(bottom):
        return None
    return f"{numbers.year(top)} to {numbers.short_year(bottom) if len(bottom) == 2 else numbers.year(bottom)}"


def _pair(found: Match) -> str | None:
    """Two numbers that are no fraction, as the words around them tell."""
    top, bottom, before = found["top"], found["bottom"], found.string[max(0, found.start() - _NEAR) : found.start()]
    if _STEP.search(before):
        return f"{numbers.cardinal(top)} of {numbers.cardinal(bottom)}"
    after = _BARS if bottom in {"2", "4", "8", "16"} else _SHARED
    in_bars = before.endswith(" in ") and top != "1" and bottom in {"4", "8"}
    if after.match(found.string, found.end()) or (in_bars and _PHRASE_ENDS.match(found.string, found.end())):
        return f"{numbers.cardinal(top)} {numbers.cardinal(bottom)}"
    return _season(top, bottom)


def _fraction(found: Match) -> str:
    top, bottom, unit = found["top"], found["bottom"], found["unit"]
    if unit in LETTER_UNITS and _GOES_ON.match(found.string, found.end()) and not is_length(found):
        return f"{_pair(found) or numbers.fraction(top, bottom)} {unit}"
    if not unit and (pair := _pair(found)):
        return pair
    score = not unit and int(top) > 1 and bottom in {"10", "100"} and not _PART_OF.match(found.string, found.end())
    if top == bottom or score or _STARS.match(found.string, found.end()):
        return f"{numbers.cardinal(top)} out of {numbers.cardinal(bottom)}"
    if int(top) > int(bottom) and (int(bottom) > _FINEST or int(top) >= _IMPROPER):
        return f"{numbers.cardinal(top)} over {numbers.cardinal(bottom)}{behind(unit)}"
    spoken = numbers.fraction(top, bottom)
    if has_article(found):
        spoken = spoken.removeprefix("one ")
    if unit:
        spoken += f" {UNITS[unit]}" if int(bottom) <= 100 else behind(unit)
    return spoken


def _out_of(found: Match) -> str:
    return f"{numbers.decimal(found['top'])} out of {numbers.cardinal(found['bottom'])}"


PART_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"(?<![\w./])(?P<top>\d{1,3})/(?P<bottom>\d{1,3}(?:,\d{3})+)(?![\w/])",
        lambda f: f"{numbers.cardinal(f['top'])} over {numbers.cardinal(f['bottom'])}",
    ),
    Rule(r"(?:(?<=\d/\d)|(?<=\d/\d\d)) ?[-\u2013] ?(?=\d)", " to "),
    Rule(
        r"(?<![\w./])(?P<whole>\d{1,9})[ -](?P<top>\d{1,2})/(?P<bottom>\d{1,3})"
        rf"(?: ?(?P<unit>{UNIT}))?(?![\w/])",
        _mixed,
        needs="/",
    ),
    Rule(
        r"(?<![\w./])(?P<top>\d{1,4})[/\u2044](?P<bottom>\d{1,4})(?:rds?\b|ths?\b)?"
        rf"(?: (?P<unit>{UNIT})\.?{AFTER})?(?![\w/])",
        _fraction,
        needs="/\u2044",
    ),
    Rule(r"(?<=\d\.\d)/(?=\d{1,4}(?:\.\d{1,2})? ?(?:[KMGTP]i?B|k?m|mi|kg|lbs?|L|gal|hrs?|h|min)(?![\w/]))", " of "),
    Rule(rf"(?<![\w.])(?P<top>\d{{1,3}}\.\d)/(?P<bottom>{_OUT_OF})(?![\w./])", _out_of),
)
