"""Dates, as English says them.

Purpose: rules for ISO and slashed dates, named months, decades and years of two digits.
Knows: calendars. Does not know: times of day, other numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.abbreviations import DAYS, MONTH_NAMES, MONTHS
from app.rules import Match, Rule, alternatives, last_dot

_LONG: Final = {name.lower(): name for name in MONTH_NAMES} | MONTHS
_ALSO_WORDS: Final = frozenset({"may", "march", "mar"})
"""In lower case these are months only where the words around leave no doubt (`_LOWER_CASE`)."""
_ANY_MONTH: Final = alternatives(
    form for key in _LONG for form in (key.capitalize(), key.upper(), key) if form not in _ALSO_WORDS
)
_MONTH_BEGINNINGS: Final = frozenset(form[:3] for key in _LONG for form in (key.capitalize(), key.upper(), key))
_ANY_DAY: Final = alternatives(key.capitalize() for key in DAYS)
_FULL_DAY: Final = alternatives((*(key.capitalize() for key in DAYS), *DAYS.values()))
_CLEAR_DAYS: Final = ("Tue", "Tues", "Thu", "Thur", "Thurs", "Fri")
"""No words besides, so that they need no dot."""
_CLEAR_MONTHS: Final = ("Jan", "Feb", "Apr", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec")
_MONTH: Final = rf"(?P<month>{_ANY_MONTH})\b\.?"
_DAY_NUMBER: Final = r"0?[1-9]|[12]\d|3[01]"
_DAY: Final = rf"(?P<day>{_DAY_NUMBER})(?:st|nd|rd|th)?"
_MONTH_NUMBER: Final = "0?[1-9]|1[0-2]"
_LATE_DAYS: Final = "1[345789]|2[1-9]|3[01]"
_MONTH_DAY: Final = rf"(?P<month>{_MONTH_NUMBER})/(?P<day>{_DAY_NUMBER})"
_NO_FRACTION: Final = r"(?![\w/-]|[.,]\d| of\b)"
_YEAR: Final = r"(?P<year>\d{4})"
_MAYBE_MONTH: Final = rf"(?P<month>{alternatives(_ALSO_WORDS)})\b"
_CLEAR_YEAR: Final = r"(?P<year>(?:1\d|20)\d\d)(?![\w:]|[.,]\d)"
_BEFORE_DATE: Final = (
    r"(?:(?<=\bon )|(?<=\bby )|(?<=\bfrom )|(?<=\bsince )|(?<=\buntil )|(?<=\btill )|(?<=\bbefore )|(?<=\bafter )"
    r"|(?<=\bthrough ))"
)
_AROUND_DATE: Final = (
    rf"{_BEFORE_DATE}|(?<=\bBy )|(?<=\bto )|(?<=\bof )|(?<=\bOn )|(?<=\b[Tt]oday \()|(?<=\b[Tt]omorrow \()"
)
"""Behind these, what would be elevenths or thirty firsts is a day."""
_EVENT: Final = (
    "appointment|call|class|deadline|delivery|event|exam|flight|game|interview|invoice|meeting|order|party|payment"
    "|session|trip|visit"
)
_ON_DATE: Final = r"(?:(?<=\bon )|(?<=\b[Dd]ue )|(?<=\buntil )|(?<=\bsince ))"
_PHRASE_ENDS: Final = r"(?=\s*(?:[.,;:!?)](?!\d)|$)| (?:to|until|till|through) (?:the\b|\d))"
_COUNTED: Final = re.compile(
    r" (?:people|persons|men|women|children|kids|girls|boys|students|pupils|teachers|employees|workers|patients"
    r"|soldiers|passengers|users|customers|players|companies|countries|cities|teams|families|houses|homes|cars|steps|times|more"
    r"|others|percent|new|of (?:us|them|you|my|our|his|her|their|those))\b"
)
_APOSTROPHE: Final = "['\u2018\u2019]"
_PRODUCT: Final = re.compile(
    rf"\b(?:version|release|(?!(?:On|By|Since|Until|From|To|In|Before|After|Dated?|Due|{_FULL_DAY})\b)[A-Z]\w*)[ -]\Z"
)
_WEEKDAY: Final = rf"\b(?<![Tt]he )(?P<weekday>{_ANY_DAY})\.?(?=,? (?:{_ANY_MONTH}|\d))"


def _named(month: int, day: str, year: str | None) -> str:
    tail = f", {numbers.year(year)}" if year else ""
    return f"{MONTH_NAMES[month - 1]} {numbers.ordinal(str(int(day)))}{tail}"


def _iso(found: Match) -> str | None:
    month, day = int(found["month"]), int(found["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return _named(month, found["day"], found["year"]) + (" at " if found["then"] else "")


def _slashed(found: Match) -> str | None:
    if _is_version(found):
        return None
    first, second, year = int(found["first"]), int(found["second"]), found["year"]
    if len(year) == 2:
        year = ("20" if year < "50" else "19") + year
    if 1 <= first <= 12 and 1 <= second <= 31:
        return _named(first, found["second"], year)
    if 1 <= second <= 12 and 1 <= first <= 31:
        return f"the {numbers.ordinal(str(first))} of {MONTH_NAMES[second - 1]}, {numbers.year(year)}"
    return None


def _is_version(found: Match) -> bool:
    """`4.2.12`, `Node 18.12.10`: between dots a date has two digits each, and no name before it."""
    if found[2] != "." or len(found["year"]) == 4:
        return False
    return len(found["first"] + found["second"]) < 4 or bool(_PRODUCT.search(found.string, 0, found.start()))


def _month_slash_day(found: Match) -> str:
    """`on 3/15`: a month and its day."""
    part = found.groupdict().get
    written = part("weekday") or ""
    name = written.strip(" .,(")
    weekday = f"{DAYS.get(name.lower(), name)}{' (' if written.endswith('(') else ', '}" if name else ""
    to = f" to {_named(int(month), found['last'], None)}" if (month := part("to")) else ""
    return weekday + _named(int(found["month"]), found["day"], None) + to


def _month_day(found: Match) -> str | None:
    if _counts(found):
        return None
    day = numbers.ordinal(found["day"].lstrip("0"))
    part = found.groupdict().get
    to = f" to {numbers.ordinal(last)}" if (last := part("to")) else ""
    year = f", {numbers.year(written)}" if (written := part("year")) else ""
    return f"{_LONG[found['month'].lower()]} {day}{to}{year}"


def _counts(found: Match) -> bool:
    """Whether the number counts what follows: in June 30 people came, and may 5 people come?"""
    before, after = found.string[: found.start()], found.string[found.end() :]
    if not found.group()[-1].isdecimal() or not after[1:2].islower() or len(found.group().split()) > 2:
        return False
    begins = found["month"] in {"May", "March"} and not before.strip(" \"'\u201c")
    return (begins or before.endswith(("In ", "in "))) and bool(_COUNTED.match(after))


def _day_month(found: Match) -> str:
    year = f", {numbers.year(written)}" if (written := found.groupdict().get("year")) else ""
    day = numbers.ordinal(found["day"].lstrip("0"))
    return f"{found['the'] or 'the '}{day} of {_LONG[found['month'].lower()]}{year}"


def _month_year(found: Match) -> str:
    return f"{_LONG[found['month'].lower()]} {numbers.year(found['year'])}"


def _months(found: Match) -> str:
    return f"{_LONG[found['low'].lower()]} to {_LONG[found['high'].lower()]}{last_dot(found)}"


def _days(found: Match) -> str:
    return f"{DAYS[found['low'].lower()]} to {DAYS[found['high'].lower()]}{last_dot(found)}"


def _decade(found: Match) -> str:
    return numbers.decade(found["number"] or found["short"])


def _next_decade(found: Match) -> str:
    return f"{found['and']} {found['the'] or ''}{numbers.decade(found['short'])}"


def _short_year(found: Match) -> str:
    of = found.groupdict().get("of") or ""
    return of + numbers.short_year(found["short"])


def _short_years(found: Match) -> str:
    return f"{numbers.short_year(found['low'])} to {numbers.short_year(found['high'])}"


def _day(found: Match) -> str:
    return DAYS[found["day"].lower()] + last_dot(found)


# Where a rule begins by looking back, it first looks whether a match may begin here at all: that costs far less.
_LOWER_CASE: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?P<the>\b[Tt]he )?(?<![\w.,$])\b{_DAY} (?:of )?{_MAYBE_MONTH},? {_CLEAR_YEAR}",
        _day_month,
        needs=_ALSO_WORDS,
    ),
    Rule(
        rf"(?P<the>\b[Tt]he )?\b(?P<day>{_DAY_NUMBER})(?:st|nd|rd|th) of {_MAYBE_MONTH}(?! \d)",
        _day_month,
        needs=_ALSO_WORDS,
    ),
    Rule(rf"(?=[\dt]){_BEFORE_DATE}(?P<the>the )?{_DAY} {_MAYBE_MONTH}{_PHRASE_ENDS}", _day_month, needs=_ALSO_WORDS),
    Rule(rf"\b{_MAYBE_MONTH} {_DAY},? {_CLEAR_YEAR}", _month_day, needs=_ALSO_WORDS),
    Rule(rf"(?=m){_BEFORE_DATE}{_MAYBE_MONTH} {_DAY}(?![\w:/]|[.,]\d| ?%)", _month_day, needs=_ALSO_WORDS),
    Rule(rf"\b{_MAYBE_MONTH} (?P<day>[12]?\d|3[01])(?:st|nd|rd|th){_PHRASE_ENDS}", _month_day, needs=_ALSO_WORDS),
)
"""Months that are words too: with a year, or a day that can be nothing else."""
NAME_RANGES: Final[tuple[Rule, ...]] = (
    Rule(rf"\b(?P<low>{_ANY_MONTH})\.? ?[-\u2013] ?(?P<high>{_ANY_MONTH})\b\.?", _months, needs=_MONTH_BEGINNINGS),
    Rule(rf"\b(?P<low>{_ANY_DAY})\.? ?[-\u2013] ?(?P<high>{_ANY_DAY})\b\.?", _days),
)
_SLASH_RULES: Final[tuple[Rule, ...]] = tuple(
    Rule(rf"(?=[\dMTWFS]){expression}", _month_slash_day, needs="/")
    for expression in (
        rf"(?:{_ON_DATE}|(?P<weekday>\b(?:{_FULL_DAY})\.?,? \(?)){_MONTH_DAY}"
        r"(?![\w/-]|[.,]\d)(?=[.,;:!?)]|\s*$| (?:at|from|we|you|I)\b| ?@)",
        rf"(?:{_AROUND_DATE})(?P<month>{_MONTH_NUMBER})/(?P<day>{_LATE_DAYS}){_NO_FRACTION}",
        rf"(?:{_AROUND_DATE}){_MONTH_DAY} ?[-\u2013] ?(?P<to>{_MONTH_NUMBER})/(?P<last>{_LATE_DAYS}){_NO_FRACTION}",
        rf"{_BEFORE_DATE}(?P<month>0?[2-9]|1[0-2])/(?P<day>0?1){_NO_FRACTION}",
        rf"(?:(?<=\b[Tt]he )|(?<=\b[Yy]our )|(?<=\b[Mm]y )|(?<=\b[Oo]ur )){_MONTH_DAY}(?= (?:{_EVENT})\b)",
    )
)
"""Where a fraction would make no sense."""
DATE_RULES: Final[tuple[Rule, ...]] = (
    *_SLASH_RULES,
    Rule(
        r"(?<![\w.-])(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?:(?P<then>[T ])(?=\d\d:)|(?![\w-]))",
        _iso,
    ),
    Rule(r"(?<![\w./])(?P<first>\d{1,2})([/.-])(?P<second>\d{1,2})\2(?P<year>\d{4}|\d\d)(?![\w/-]|\.\d)", _slashed),
    *NAME_RANGES,
    Rule(
        rf"(?P<first>\b(?:{_ANY_MONTH})\b\.? \d{{1,2}}(?:st|nd|rd|th)?) ?[-\u2013] ?(?=(?:{_ANY_MONTH})\b\.? \d)",
        lambda f: f"{f['first']} to ",
        needs=_MONTH_BEGINNINGS,
    ),
    Rule(_WEEKDAY, lambda found: DAYS[found["weekday"].lower()]),
    Rule(
        rf"\b{_MONTH}[ -]{_DAY}(?: ?[-\u2013] ?(?P<to>[12]?\d|3[01]))?(?:(?:,? |-){_YEAR})?(?![\w:]|[.,]\d| ?%)",
        _month_day,
        needs=_MONTH_BEGINNINGS,
    ),
    Rule(
        rf"(?P<first>\b(?:{_ANY_MONTH})\b\.?(?: \d{{4}})?) ?[-\u2013] ?(?={_DAY} (?:of )?{_MONTH}(?!\w))",
        lambda f: f"{f['first']} to ",
        needs=_MONTH_BEGINNINGS,
    ),
    Rule(
        rf"(?P<the>\b[Tt]he )?(?<![\w.,$])\b(?P<first>{_DAY_NUMBER})(?:st|nd|rd|th)? ?[-\u2013] ?"
        rf"(?={_DAY} (?:of )?{_MONTH}(?!\w))",
        lambda f: f"{f['the'] or 'the '}{numbers.ordinal(f['first'].lstrip('0'))} to ",
        needs=_MONTH_BEGINNINGS,
    ),
    Rule(
        rf"(?P<the>\b[Tt]he )?(?<![\w.,$])\b{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?(?![\w:])",
        _day_month,
        needs=_MONTH_BEGINNINGS,
    ),
    Rule(rf"\b{_MONTH},? {_YEAR}(?![\w:]|[.,]\d)", _month_year, needs=_MONTH_BEGINNINGS),
    *_LOWER_CASE,
)
_BEFORE_DECADE: Final = (
    "the", "The", "early", "late", "mid", "low", "upper", "high", "his", "her", "their", "His", "Her", "Their", "in my",
    "in your", "in our",
)  # fmt: skip
_OF_LIFE: Final = "|".join(rf"(?<=\b{words} )" for words in _BEFORE_DECADE)
_LASTING: Final = (
    "timeout|timer|limit|mark|delay|clip|window|interval|break|countdown|warning|pause|wait|ad|video|sprint|hold|rest"
)
"""Behind "the 30s" these last so many seconds."""
DECADE_RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"(?<=\d0s)[-\u2013](?={_APOSTROPHE}?\d)", " to the "),
    Rule(
        rf"(?=[\d'\u2018\u2019])(?:(?<!\w)(?P<number>(?:1[1-9]|20)\d0)|(?:{_OF_LIFE}|(?<=mid-)|(?<!\w){_APOSTROPHE})(?P<short>00|[2-9]0))"
        rf"{_APOSTROPHE}?s\b(?! (?:{_LASTING})\b)",
        _decade,
    ),
    Rule(
        rf"(?=[1-9]00s)(?:{_OF_LIFE}|(?<=mid-))(?P<number>[1-9]00)s\b",
        lambda f: numbers.plural(numbers.cardinal(f["number"]).removeprefix("one ")),
    ),
    Rule(r"(?<=ties )(?P<and>and|or|to) (?P<the>the )?(?P<short>[2-9]0)s\b", _next_decade),
)
"""Decades of a century, of a life, of the thermometer; elsewhere "30s" are seconds."""
SHORT_YEAR_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?<!\w){_APOSTROPHE}(?P<low>\d\d) ?[-\u2013] ?{_APOSTROPHE}?(?P<high>\d\d)(?!\w|[.,:/]\d|{_APOSTROPHE})",
        _short_years,
    ),
    Rule(rf"(?<=\d)[-\u2013](?={_APOSTROPHE}\d\d(?!\w))", " to "),
    Rule(rf"(?<={_APOSTROPHE}\d\d) ?[-\u2013] ?(?=(?:{_ANY_MONTH})\b)", " to ", needs=_MONTH_BEGINNINGS),
    Rule(rf"\b{_MONTH} (?={_APOSTROPHE}\d\d(?![\w.,:/]))", lambda f: f"{_LONG[f['month'].lower()]} "),
    Rule(rf"(?<!\w){_APOSTROPHE}(?P<short>\d\d)(?!\w|[.,:/]\d|{_APOSTROPHE}| ?%)", _short_year),
    Rule(
        r"\b(?P<of>(?:[Cc]lass|[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter) of )(?P<short>0\d)(?!\w|[.,:/]\d)",
        _short_year,
    ),
)
"""Years of two digits where an apostrophe or a season says so. Tried after measures: a quotation may begin with one."""
DAY_NAME_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"\bM[-\u2013]F\b", "Monday to Friday"),
    Rule(rf"\b(?P<day>{_ANY_DAY})\b(?=(?:,| ?&| and| or) (?:{_FULL_DAY})\b)", _day),
    Rule(rf"(?P<before>(?:day,|day ?&|day and|day or) )(?P<day>{_ANY_DAY})\b", lambda f: f["before"] + _day(f)),
    Rule(r"(?=S)(?:(?<=\b[Oo]n )|(?<=\b[Ee]very )|(?<=\b[Nn]ext )|(?<=\b[Uu]ntil ))(?P<day>Sun|Sat)\.", _day),
    Rule(rf"\b(?P<day>{alternatives(_CLEAR_DAYS)})\b(?![.'\u2019-])", _day),
    Rule(
        r"(?=[A-Z])(?:(?<=\b[Ii]n )|(?<=[Ss]ince )|(?<=[Uu]ntil )|(?<=[Ll]ast )|(?<=[Nn]ext )|(?<=early )|(?<=late ))"
        rf"(?P<month>{alternatives(_CLEAR_MONTHS)})\b(?![.'\u2019-]| [A-Z])",
        lambda f: _LONG[f["month"].lower()],
    ),
)
"""Names of days and months that stand alone, without a dot; tried after dates, in text without digits too."""
_LIFE_SPAN: Final = r"(?=[bdr])(?:(?<=\A)|(?<=[(,;\[\n])|(?<=[,;] ))(?P<word>[bdr])\. ?(?=(?:1\d|20)\d\d(?!\d))"
_CIRCA: Final = (
    r"(?=c)(?:(?<=\A)|(?<=[(,;\[\n])|(?<=[,;] )|(?<=\b(?:in|of|to|by) )"
    r"|(?<=from |ince |ntil |uilt |ated |tten |nted |nded ))(?P<word>c)\. ?(?=\d{3,4}(?!\d))"
)
_LIVES: Final = {"b": "born", "d": "died", "r": "ruled", "c": "circa"}
"""Before a year."""
LIFE_RULES: Final[tuple[Rule, ...]] = tuple(
    Rule(expression, lambda f: f"{_LIVES[f['word']]} ")
    for expression in (_LIFE_SPAN, _CIRCA, r"(?<![^\s(\[])(?P<word>c)\.(?=(?:1\d|20)\d\d(?!\d))")
)
"""Where something begins, not behind a word that one letter may follow: vitamin c."""
