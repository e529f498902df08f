"""The rules of English: how numbers, money, units, abbreviations and signs are read.

Purpose: one rule for each way of writing, tried in order; what a rule makes is words, which later rules leave alone.
Knows: written English. Does not know: when the rules are needed (`normalizer`), dates (`dates`), times
(`clock`), markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from app import numbers
from app.abbreviations import ANYWHERE, BEFORE_NUMBER, DAYS, DOTTED, MONTHS, TITLES
from app.clock import CLOCK_RULES
from app.dates import DATE_RULES, DECADE_RULES, NAME_RANGES, SHORT_YEAR_RULES
from app.measures import (
    AMBIGUOUS_UNITS,
    CURRENCIES,
    DIMENSIONS,
    LETTER_UNITS,
    SCALES,
    SHORTENED_UNITS,
    UNITS,
    measure,
    money,
    plural,
)
from app.roman import ROMAN_RULES
from app.rules import NUMBER, Match, Rule, alternatives, cased, kept_dot


def _measure(found: Match) -> str | None:
    number, unit = found["number"].replace(",", ""), found["unit"]
    before, after = found.string[: found.start()], found.string[found.end() :]
    if found["gap"] == " ":
        if unit in LETTER_UNITS and after[:1].isspace() and not (unit == "in" and _is_length(found)):
            return None
        if unit in AMBIGUOUS_UNITS and _NEXT_PHRASE.match(after):
            return None
    minus = "minus " if found["sign"] else ""
    scale = f" {found['scale']}" if found["scale"] else ""
    shortened = unit in SHORTENED_UNITS and after.strip() and not after.lstrip()[0].isupper()
    end = "." if found.group().endswith(".") and not shortened else ""
    return f"{minus}{measure(number, unit, scale=scale, single=bool(_ARTICLE.search(before) and after.strip()))}{end}"


def _is_length(found: Match) -> bool:
    """Whether the "in" behind a number is inches though more words follow: something is so wide, or of snow."""
    after = found.string[found.end() :]
    if found.group().endswith(".") and after.lstrip()[:1].islower():
        return True
    before = found.string[: found.start()]
    if _BY.search(before) or _OF_LENGTH.match(after):
        return True
    return bool(_ARTICLE.search(before) and _DIMENSION.match(after))


def _measure_range(found: Match) -> str:
    return f"{numbers.decimal(found['low'])} to {measure(found['high'].replace(',', ''), found['unit'])}"


def _money(found: Match) -> str:
    number = found["number"].replace(",", "")
    scale = found["scale"] or ""
    minus = "minus " if found["sign"] else ""
    return minus + money(number, found["currency"], SCALES.get(scale, scale))


def _money_range(found: Match) -> str:
    low, high = found["low"].replace(",", ""), found["high"].replace(",", "")
    scale = found["scale"] or ""
    scale = SCALES.get(scale, scale)
    if not found["again"] or (not scale and "." not in low + high):
        return f"{numbers.decimal(low)} to {money(high, found['currency'], scale)}"
    return f"{money(low, found['currency'], scale)} to {money(high, found['currency'], scale)}"


def _range(found: Match) -> str | None:
    low, high = found["low"], found["high"]
    if numbers.is_year(low) and len(high) == 2:
        return f"{numbers.year(low)} to {numbers.cardinal(high)}"
    return f"{numbers.plain(low)} to {numbers.plain(high)}"


def _phone(found: Match) -> str:
    groups = re.findall(r"\d+", found.group())
    plus = "plus " if found.group().startswith("+") else ""
    return plus + ", ".join(numbers.spelled(group) for group in groups)


def _version(found: Match) -> str:
    parts = found["version"].split(".")
    word = "version " if found["mark"] else ""
    return word + " point ".join(numbers.cardinal(part) for part in parts)


def _mixed(found: Match) -> str:
    part = numbers.fraction(found["top"], found["bottom"])
    part = part.replace("one half", "a half").replace("one quarter", "a quarter")
    unit = f" {plural(UNITS[found['unit']])}" if found["unit"] else ""
    return f"{numbers.cardinal(found['whole'])} and {part}{unit}"


def _fraction(found: Match) -> str:
    top, bottom = found["top"], found["bottom"]
    if top == bottom:
        return f"{numbers.cardinal(top)} out of {numbers.cardinal(bottom)}"
    unit = ""
    if found["unit"]:
        unit = f" {UNITS[found['unit']] if int(bottom) <= 100 else plural(UNITS[found['unit']])}"
    return f"{numbers.fraction(top, bottom)}{unit}"


def _height(found: Match) -> str:
    return f"{numbers.cardinal(found['feet'])} feet {numbers.cardinal(found['inches'])}"


def _inches(found: Match) -> str | None:
    if sum(found.string[: found.start()].count(quote) for quote in '"\u201c') % 2:
        return None
    return measure(found["number"], "in")


def _area(found: Match) -> str:
    small = found["gap"] and len(found["low"] + found["high"]) < 4
    unit = f" {plural(UNITS[found['unit']])}" if found["unit"] else ""
    by = "times" if small and not unit else "by"
    return f"{numbers.plain(found['low'])} {by} {numbers.plain(found['high'])}{unit}"


def _times(found: Match) -> str:
    return f"{numbers.decimal(found['number'])} times"


def _scientific(found: Match) -> str:
    power = found["power"].lstrip("+")
    minus = "minus " if power.startswith("-") else ""
    return f"{numbers.decimal(found['number'])} times ten to the {minus}{numbers.cardinal(power.lstrip('-'))}"


def _scaled(found: Match) -> str:
    return f"{numbers.decimal(found['number'])} {SCALES[found['scale']]}"


def _before_number(found: Match) -> str:
    return cased(BEFORE_NUMBER[found["word"].lower()], found["word"]) + " "


def _short(table: dict[str, str]) -> Callable[[Match], str]:
    def spoken(found: Match) -> str:
        return cased(table[found["word"].lower()], found["word"]) + kept_dot(found)

    return spoken


def _street(found: Match) -> str:
    follower = found.string[found.end() :].lstrip()
    return f"{found['place']}Street{'.' if follower[:1].isupper() or not follower else ''}"


def _initials(found: Match) -> str:
    return found.group().replace(".", "") + kept_dot(found)


_SIGNS: Final = {
    "&": "and", "+": "plus", "=": "equals", "\u00d7": "times", "\u00f7": "divided by", "\u00b1": "plus or minus",
    "\u2212": "minus", "\u2248": "approximately", "\u2260": "is not equal to", "\u2264": "at most",
    "\u2265": "at least", "<": "less than", ">": "greater than", "\u2192": "to", "\u21d2": "implies", "@": "at",
    "%": "percent", "\u00a7": "section", "\u00a9": "copyright", "\u00ae": "", "\u2122": "", "\u221e": "infinity",
    "\u221a": "square root of", "\u00b0": "degrees", "\u00b2": "squared", "\u00b3": "cubed", "\u2116": "number",
    "^": "to the power of", "\\": "backslash", "~": "about", "$": "dollar", "\u20ac": "euro", "\u00a3": "pound",
    "\u00b5": "micro", "\u2030": "per mille", "\u2190": "from", "\u00b7": "",
}  # fmt: skip
_NEXT_PHRASE: Final = re.compile(r"\s+(?:[A-Z]|(?:the|a|this|my|our)\b|\d)")
_DIMENSION: Final = re.compile(rf" (?:{alternatives(DIMENSIONS)})\b")
_OF_LENGTH: Final = re.compile(
    rf" (?:{alternatives(DIMENSIONS)})(?=\s*(?:[,.;:!?)]|$)| (?:and|or|by|x|at|on|with|is|but|when|to|so|for)\b)"
    r"| of\b| (?:by|x|\u00d7) \d"
)
_BY: Final = re.compile(r"\d in\.? (?:by|x|\u00d7) $")
_ARTICLE: Final = re.compile(r"\b[Aa]n? $")
_COUNTED: Final = alternatives([*BEFORE_NUMBER, *(word.capitalize() for word in BEFORE_NUMBER)])
_EACH: Final = "(?:second|minute|hour|day|night|week|month|year|person|user|head|seat|item|piece)"
_UNIT: Final = alternatives(UNITS)
_CURRENCY: Final = alternatives(CURRENCIES)
_SCALE: Final = "(?P<scale>thousand|million|billion|trillion|bn|mn|tn|[kKMmBbT])"
_BIG: Final = "(?: (?P<scale>thousand|million|billion|trillion)(?= ))?"
_AFTER: Final = r"(?=[\s,;:!?)-]|$)"
_SIGN: Final = r"(?P<sign>(?<![\w.)])[-\u2212])?"

DIGIT_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"\b24/7\b", "twenty four seven"),
    Rule(r"(?<![\w/])9/11(?![\w/])", "nine eleven"),
    Rule(r"\b50[/-]50\b", "fifty fifty"),
    *DATE_RULES,
    *CLOCK_RULES,
    Rule(r"(?<=\d),(?=\d{1,2}(?!\d)|\d{4})", ", "),
    *DECADE_RULES,
    Rule(r"(?<![\w.,])\d{1,3}(?: \d{3})* 000\b", lambda f: numbers.cardinal(f.group().replace(" ", ""))),
    Rule(r"(?<![\w.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){1,4}(?!\w)", _phone),
    Rule(r"(?<![\w.])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)", _phone),
    Rule(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])|(?<![\w.])\d{3}-\d{2}-\d{4}(?![\w-])", _phone),
    Rule(r"(?<![\w.])\d{4}(?:[ -]\d{4}){2,4}(?!\w)|(?<![\w.-])\d{1,12}(?:-\d{1,12}){2,6}(?![\w-])", _phone),
    Rule(r"(?<=[A-Z]\d)[-\u2013](?=[A-Z]\d)", " to "),
    Rule(
        rf"(?<![\w.])(?P<currency>{_CURRENCY})(?P<low>{NUMBER}) ?[-\u2013] ?"
        rf"(?P<again>{_CURRENCY})?(?P<high>{NUMBER})(?: ?{_SCALE}\b)?",
        _money_range,
    ),
    Rule(rf"{_SIGN}(?<!\w)(?P<currency>{_CURRENCY}) ?(?P<number>{NUMBER}|\.\d+)(?: ?{_SCALE}\b)?", _money),
    Rule(rf"{_SIGN}(?<![\w.])(?P<number>{NUMBER})(?: ?{_SCALE})? ?(?P<currency>{_CURRENCY})(?!\w)", _money),
    Rule(r"(?<![\w.])(?P<mark>[vV]\.? ?)?(?P<version>\d{1,5}(?:\.\d{1,5}){2,5})(?!\w)", _version),
    Rule(r"(?<![\w.])(?P<mark>[vV]\.?)(?P<version>\d{1,5}(?:\.\d{1,5})?)(?!\w)", _version),
    Rule(
        r"(?<![\w./])(?P<whole>\d{1,9})[ -](?P<top>\d{1,2})/(?P<bottom>\d{1,3})"
        rf"(?: ?(?P<unit>{_UNIT}))?(?![\w/])",
        _mixed,
    ),
    Rule(
        rf"(?<![\w./])(?P<top>\d{{1,4}})[/\u2044](?P<bottom>\d{{1,4}})(?: (?P<unit>{_UNIT})\.?{_AFTER})?(?![\w/])",
        _fraction,
    ),
    Rule(r"(?<![\w.])(?P<feet>\d{1,3})['\u2019\u2032] ?(?P<inches>\d{1,2})(?:\"|\u201d|\u2033|'')", _height),
    Rule(
        r"(?<![\w.])(?P<number>\d{1,3})(?:\"|\u201d|\u2033)(?= ?[A-Za-z,.;)]|$)(?<![\"\u201c]\d\d)(?<![\"\u201c]\d)",
        _inches,
    ),
    Rule(r"\b401\(?k\)?(?!\w)", "four oh one k"),
    Rule(r"(?<=%)[-\u2013](?=\d)", " to "),
    Rule(
        rf"(?<![\w.])(?P<low>\d{{1,5}})(?P<gap> ?)[x\u00d7](?P=gap)(?P<high>\d{{1,5}})(?: ?(?P<unit>{_UNIT}))?(?!\w)",
        _area,
    ),
    Rule(r"(?<![\w.])(?P<number>\d{1,6}(?:\.\d{1,3})?)[x\u00d7](?!\w)", _times),
    Rule(r"(?<=[A-Za-z])\d{4}(?!\d)", lambda f: f" {numbers.paired(f.group())}"),
    Rule(rf"(?<![\w.])(?P<low>{NUMBER}) ?[-\u2013] ?(?P<high>{NUMBER}) ?(?P<unit>{_UNIT})(?![\w/])", _measure_range),
    Rule(
        rf"{_SIGN}(?<![\w.])(?P<number>{NUMBER}|\.\d+){_BIG}(?P<gap>[ -]?)(?P<unit>{_UNIT})(?![\w/\u00b2])\.?{_AFTER}",
        _measure,
    ),
    Rule(rf"(?<=[a-z])/(?P<unit>{_UNIT})(?!\w)", lambda f: f" per {UNITS[f['unit']]}"),
    Rule(rf"(?<=[a-z])/(?={_EACH}\b)", " per "),
    Rule(rf"(?<![\w.])(?P<number>{NUMBER})[eE](?P<power>[+-]?\d{{1,3}})(?!\w)", _scientific),
    Rule(rf"(?<![\w.])(?P<number>{NUMBER})(?P<scale>k|M|bn)(?!\w)", _scaled),
    Rule(r"(?P<place>\b\d{1,5}[A-Za-z]? (?:[NSEW]\.? )?(?:[A-Z][a-z]+ ){1,3})St\.", _street),
    Rule(rf"\b(?P<word>{alternatives(BEFORE_NUMBER)})\. ?(?=\d)", _before_number, any_case=True),
    Rule(r"#(?=\d)", "number "),
    Rule(r"(?<![\w.])(?P<number>\d{1,3}(?:,\d{3})+|\d{1,15})(?:st|nd|rd|th)\b", lambda f: numbers.ordinal(f["number"])),
    *SHORT_YEAR_RULES,
    Rule(
        r"(?<![\w.,/-])(?P<low>\d{1,6}\.\d{1,6}) ?[-\u2013] ?(?P<high>\d{1,6}(?:\.\d{1,6})?)(?![\w/-]|[.,]\d)", _range
    ),
    Rule(r"(?<![\w.,/-])(?P<low>\d{1,6}) ?[-\u2013] ?(?P<high>\d{1,6})(?![\w/-]|[.,]\d)", _range),
    Rule(r"(?<=[^\W_])-(?=\d)|(?<=\d)-(?=[^\W_])", " "),
    Rule(r"(?<![\w.,)])[-\u2212](?=\.?\d)", "minus "),
    Rule(rf"(?<![\w.]){NUMBER}(?!\w|[.,]\d)", lambda f: numbers.plain(f.group())),
    Rule(r"(?<!\w)\.\d{1,15}(?!\w)", lambda f: numbers.decimal(f.group())),
    Rule(rf"{NUMBER}", lambda f: f" {numbers.plain(f.group())} "),
)
"""Tried on text that holds a digit."""

RULES: Final[tuple[Rule, ...]] = (
    *NAME_RANGES,
    Rule(r"(?<!\w)\.(?=[A-Z]{2})", "dot "),
    Rule(r"\bw/o\b", "without"),
    Rule(r"\bw/ ?(?=\w)", "with "),
    Rule(r"\band/or\b", "and or"),
    Rule(rf"\b(?P<word>{_COUNTED})\. (?=[IVXLC]+\b)", _before_number),
    *ROMAN_RULES,
    Rule(rf"\b(?P<word>{alternatives(DOTTED)})(?:\.(?!\w)|(?![\w.]))", _short(DOTTED), any_case=True),
    Rule(r"(?P<place>\b(?:[oO]n|[aA]t|[aA]long|[dD]own) [A-Z][a-z]+ )St\.", _street),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in TITLES)})\.(?= ?[A-Z\d]| and )", _short(TITLES)),
    Rule(rf"\b(?P<word>{alternatives(ANYWHERE)})\.(?!\w)", _short(ANYWHERE), any_case=True),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in MONTHS)})\.(?= |$|,)", _short(MONTHS)),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in DAYS if w not in 'sun sat')})\.(?=,| |$)", _short(DAYS)),
    Rule(r"\b(?:[A-Z]\.){2,8}(?!\w)", _initials),
    Rule(r"\b(?P<letter>[A-Z])\.(?= ?[A-Z])", lambda f: f["letter"] if f["letter"] != "I" else None),
    Rule(r"(?<=\b[CF])#(?!\w)", " sharp"),
    Rule(r"#", ""),
    Rule(r"(?<=[a-z] )St\.(?! ?[A-Z])", "Street"),
    Rule(r"(?<=\w):(?=\w)", " "),
    Rule(r"(?<=[a-z]) ?/ ?(?=[a-z])", " or "),
    Rule(r"(?<=\w) ?/ ?(?=\w)", " "),
    Rule(rf"(?P<sign>[{re.escape(''.join(_SIGNS))}])", lambda f: f" {_SIGNS[f['sign']]} "),
)
