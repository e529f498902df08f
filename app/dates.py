"""Dates and times of day, as English says them.

Purpose: rules for ISO and slashed dates, named months, clock times.
Knows: calendars and clocks. Does not know: other numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.abbreviations import DAYS, MONTHS, TIME_ZONES
from app.rules import Match, Rule, alternatives

_NAMES: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
MONTH_NAMES: Final = frozenset(name.lower() for name in _NAMES)
_LONG: Final = {name.lower(): name for name in _NAMES} | MONTHS
_ALSO_WORDS: Final = frozenset({"may", "march", "mar"})
"""In lower case these are months only before a year."""
_ANY_MONTH: Final = alternatives(
    form for key in _LONG for form in (key.capitalize(), key.upper(), key) if form not in _ALSO_WORDS
)
_ANY_DAY: Final = alternatives(key.capitalize() for key in DAYS)
_MONTH: Final = rf"(?P<month>{_ANY_MONTH})\b\.?"
_DAY: Final = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{4})"
_WEEKDAY: Final = rf"\b(?P<weekday>{_ANY_DAY})\.?(?=,? (?:{_ANY_MONTH}|\d))"
_FOLLOWER: Final = re.compile(r"[\"'\u201d\u2019)\s]*(\w+)")
_HALF: Final = r"(?: ?(?P<half>[aApP])(?:\.[mM]\b\.?|[mM]\b\.?))"


def _named(month: int, day: str, year: str | None) -> str:
    tail = f", {numbers.year(year)}" if year else ""
    return f"{_NAMES[month - 1]} {numbers.ordinal(str(int(day)))}{tail}"


def _iso(found: Match) -> str | None:
    month, day = int(found["month"]), int(found["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return _named(month, found["day"], found["year"]) + (" at " if found["then"] else "")


def _slashed(found: Match) -> str | None:
    first, second, year = int(found["first"]), int(found["second"]), found["year"]
    if len(year) == 2:
        year = ("20" if year < "50" else "19") + year
    if 1 <= first <= 12 and 1 <= second <= 31:
        return _named(first, found["second"], year)
    if 1 <= second <= 12 and 1 <= first <= 31:
        return f"the {numbers.ordinal(str(first))} of {_NAMES[second - 1]}, {numbers.year(year)}"
    return None


def _month_day(found: Match) -> str:
    day = numbers.ordinal(found["day"].lstrip("0"))
    to = f" to {numbers.ordinal(found['to'])}" if found["to"] else ""
    year = f", {numbers.year(found['year'])}" if found["year"] else ""
    return f"{_LONG[found['month'].lower()]} {day}{to}{year}"


def _day_month(found: Match) -> str:
    the = "" if found["the"] else "the "
    year = f", {numbers.year(found['year'])}" if found["year"] else ""
    return (
        f"{found['the'] or ''}{the}{numbers.ordinal(found['day'].lstrip('0'))} of {_LONG[found['month'].lower()]}{year}"
    )


def _month_year(found: Match) -> str:
    return f"{_LONG[found['month'].lower()]} {numbers.year(found['year'])}"


def _clock(found: Match) -> str | None:
    hour, minute = int(found["hour"]), found["minute"]
    if hour > 24:
        return None
    half = f" {found['half'].upper()}M" if found["half"] else ""
    spoken = numbers.cardinal(str(hour))
    if minute == "00":
        spoken += "" if half else " o'clock" if 1 <= hour <= 12 else " hundred" if hour else " o'clock"
    elif minute[0] == "0":
        spoken += f" oh {numbers.cardinal(minute[1])}"
    else:
        spoken += f" {numbers.cardinal(minute)}"
    if found["second"]:
        spoken += f" and {numbers.cardinal(str(int(found['second'])))} second{'' if found['second'] == '01' else 's'}"
    return spoken + half + _last_dot(found)


def _hour(found: Match) -> str:
    return f"{numbers.cardinal(found['hour'])} {found['half'].upper()}M{_last_dot(found)}"


def _last_dot(found: Match) -> str:
    """The dot of "p.m." or "Fri." is the sentence's own where nothing or a capital follows."""
    follower = _FOLLOWER.match(found.string, found.end())
    if not found.group().endswith(".") or (follower and follower.group(1) in TIME_ZONES):
        return ""
    return "." if follower is None or follower.group(1)[0].isupper() else ""


def _hours(found: Match) -> str:
    return f"{numbers.cardinal(found['low'])} to {numbers.cardinal(found['high'])} {found['half'].upper()}M"


def _months(found: Match) -> str:
    return f"{_LONG[found['low'].lower()]} to {_LONG[found['high'].lower()]}{_last_dot(found)}"


def _days(found: Match) -> str:
    return f"{DAYS[found['low'].lower()]} to {DAYS[found['high'].lower()]}{_last_dot(found)}"


NAME_RANGES: Final[tuple[Rule, ...]] = (
    Rule(rf"\b(?P<low>{_ANY_MONTH})\.? ?[-\u2013] ?(?P<high>{_ANY_MONTH})\b\.?", _months),
    Rule(rf"\b(?P<low>{_ANY_DAY})\.? ?[-\u2013] ?(?P<high>{_ANY_DAY})\b\.?", _days),
)
DATE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"(?<![\w.-])(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?:(?P<then>T)(?=\d\d:)|(?![\w-]))", _iso
    ),
    Rule(r"(?<![\w./])(?P<first>\d{1,2})([/.-])(?P<second>\d{1,2})\2(?P<year>\d{4}|\d\d)(?![\w/-]|\.\d)", _slashed),
    *NAME_RANGES,
    Rule(r"(?<=\d:\d\d) ?[-\u2013] ?(?=\d{1,2}:\d\d)", " to "),
    Rule(_WEEKDAY, lambda found: DAYS[found["weekday"].lower()]),
    Rule(
        rf"\b{_MONTH}[ -]{_DAY}(?: ?[-\u2013] ?(?P<to>[12]?\d|3[01]))?(?:(?:,? |-){_YEAR})?(?![\w:]|[.,]\d| ?%)",
        _month_day,
    ),
    Rule(rf"(?P<the>\b[Tt]he )?(?<![\w.,$])\b{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?(?![\w:])", _day_month),
    Rule(rf"\b{_MONTH},? {_YEAR}(?![\w:]|[.,]\d)", _month_year),
    Rule(r"(?<![\w.:])(?P<low>1?\d) ?[-\u2013] ?(?P<high>1?\d) ?(?P<half>[aApP])(?:\.[mM]\.?|[mM]\b)", _hours),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d)\.(?P<minute>[0-5]\d)(?P<second>(?!)x)?{_HALF}(?!\w)", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>\d{{1,2}}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?{_HALF}?(?![\w:])", _clock),
    Rule(rf"(?<![\w.:])(?P<hour>1?\d){_HALF}(?!\w)", _hour),
    Rule(r"(?<=[AP]M) ?[-\u2013] ?(?=[a-z])", " to "),
    Rule(
        r"(?<![\w.:])(?P<low>\d{1,4}):(?P<high>\d{1,4})(?![\w:])",
        lambda f: f"{numbers.cardinal(f['low'])} to {numbers.cardinal(f['high'])}",
    ),
)
