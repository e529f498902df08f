"""The rules of English: how numbers, money, units, abbreviations and signs are read.

Purpose: one rule for each way of writing, tried in order; what a rule makes is words, which later rules leave alone.
Knows: written English, the order of all rules. Does not know: when they are needed (`normalizer`), markup, the rules of
one subject (`amounts`, `dates`, `clock`, `prices`, `parts`, `telephone`, `places`, `lengths`, `roman`, `short_forms`,
`signs`, `verses`).
"""

from __future__ import annotations

import re
from string import ascii_letters
from typing import Final

from app import numbers
from app.abbreviations import ANYWHERE, BEFORE_NUMBER, DAYS, MONTHS, TITLES
from app.amounts import AMOUNT_RULES, LONE_RATE_RULE
from app.clock import CLOCK_RULES
from app.dates import DATE_RULES, DAY_NAME_RULES, DECADE_RULES, LIFE_RULES, NAME_RANGES, SHORT_YEAR_RULES
from app.lengths import AREA_RULE, FRACTION_RULES, LENGTH_RULES, SIDES_RULE
from app.measures import SCALES, UNIT, measure
from app.parts import PART_RULES
from app.places import HEADING_RULES, PLACE_RULES
from app.prices import CONTINENTAL_RULE, LAKH_RULE, PRICE_RULES
from app.roman import ROMAN_RULES
from app.rules import NUMBER, SIGN, Match, Rule, alternatives, between, cased, kept_dot
from app.short_forms import SHORT_FORM_RULES
from app.signs import LONE_SIGNS, PAIRED_SIGNS, SCALE_RULES, SUM_RULES
from app.telephone import CODE_RULES, PHONE_RULES, SERIAL_RULE
from app.verses import VERSE_RULE


def _range(found: Match) -> str | None:
    low, high = found["low"], found["high"]
    if numbers.is_year(low) and len(high) == 2:
        return f"{numbers.year(low)} {between(found)} {numbers.cardinal(high)}"
    if "." not in low + high and len(low) > 3 and len(high) < len(low) and int(low[-len(high) :]) >= int(high):
        return f"{numbers.plain(low)} {numbers.plain(high)}"  # part two of a standard
    return f"{numbers.plain(low)} {between(found)} {numbers.plain(high)}"


def _version(found: Match) -> str:
    return ("version " if found["mark"] else "") + _version_parts(found["version"])


def _version_parts(version: str) -> str:
    return " point ".join(map(numbers.cardinal, version.split(".")))


def _degrees(found: Match) -> str | None:
    """`98.6 F`, `-5C`, `at 68F`, `350F`: degrees without their sign; else it may be a seat."""
    number, before = found["number"], found.string[: found.start()]
    hot = (len(number) == 3 and not found["gap"]) or (before.endswith(" to ") and float(number) > _LAST_ROW)
    if not (found["sign"] or "." in number or hot or _AT_DEGREES.search(before)):
        return None
    if _DOORS.search(before):
        return None
    unit = "\u00b0" + found["scale"]
    return f"{'minus ' if found['sign'] else ''}{measure(number, unit)}"


def _every(found: Match) -> str:
    """`q6h` on a prescription as every six hours."""
    high = f" to {numbers.cardinal(found['high'])}" if found["high"] else ""
    return f"every {numbers.cardinal(found['low'])}{high} hours"


def _crowd(found: Match) -> str:
    """`1,000s of` as thousands of."""
    word = numbers.cardinal(found["number"]).removeprefix("one ")
    return f"{word}s "


def _named(found: Match) -> str:
    """`49ers` as forty niners, `7ish` as sevenish."""
    word, end = numbers.cardinal(found["tens"]), found["end"]
    return f"{word.removesuffix('e')}{end}"


def _times(found: Match) -> str:
    low = f"{numbers.decimal(found['low'])} to " if found["low"] else ""
    return f"{low}{numbers.decimal(found['number'])} times"


def _scientific(found: Match) -> str:
    power = found["power"].lstrip("+")
    minus = "minus " if power.startswith("-") else ""
    return f"{numbers.decimal(found['number'])} times ten to the {minus}{numbers.cardinal(power.lstrip('-'))}"


def _scaled(found: Match) -> str:
    return f"{numbers.decimal(found['number'])} {SCALES[found['scale']]}"


def _before_number(found: Match) -> str:
    return cased(BEFORE_NUMBER[found["word"].lower()], found["word"]) + " "


def _dotted(found: Match) -> str | None:
    """A dot within a name, as in `beta.3`."""
    before = found.string[max(0, found.start() - 12) : found.start()]
    word = before[len(before.rstrip(ascii_letters)) :]
    in_short = word.lower() in _SHORT_FORMS or before[: -len(word)].endswith(".")
    return None if in_short else " dot "


def _touching(found: Match) -> str:
    """A number with letters at its side: `U2's`."""
    its = found["its"] or ""
    return f" {numbers.plain(found.group().removesuffix(its))}{its} "


_COUNTED: Final = alternatives([*BEFORE_NUMBER, *(word.capitalize() for word in BEFORE_NUMBER)])
_COUNT_AFTER_WORD: Final = (
    r"(?:(?<=\bno\. )|(?<=\bart\. )|(?<=\bfig\. )|(?<=\bsec\. ))(?:(?<=said no. )|(?<=say no. )|(?<=says no. )|\d+"
    r" (?:years?|people|minutes?|hours?|days?|weeks?|months?|of (?:them|us|you|my|the|those)|more|percent|times)\b)"
)
"""Behind a word that is no short form, what is counted begins another sentence."""
_VOLUMES: Final = alternatives(word for name in ("vol", "ch", "op") for word in (name, name.capitalize()))
"""What "I" may count: after "No." it is a person speaking."""
_FACTOR: Final = r"\d{1,6}(?:\.\d{1,3})?"
_OF_EQUATION: Final = r"[\^\u00b2\u00b3]| ?[+=<>\u2212\u2264\u2265]| minus \d"
"""Behind an x that is an unknown, not a factor."""
_AT_DEGREES: Final = re.compile(
    r"\b(?:[Hh]ighs? of|[Ll]ows? of|at|around|about|above|below|under|over|near|[Ii]t['\u2019]s) $"
)
_DOORS: Final = re.compile(
    r"(?:[A-Za-z]-|\b(?i:room|suite|apartment|apt\.?|unit|flight|gate|form|seat|bus|route|ward|bed|door|section|locker|lot"
    r"|exit|model|hall|building|bay|lab|house|number|row|car|train|platform|part|class|classroom) )\Z"
)
"""These are numbered with a letter behind: Room 204C."""
_LAST_ROW: Final = 60
"""Of seats in an aeroplane, which are numbered like degrees: "go to 14C"."""

_GROWTH: Final = {"YoY": "year over year", "QoQ": "quarter over quarter", "MoM": "month over month"}
_SHORT_FORMS: Final = frozenset((*ANYWHERE, *BEFORE_NUMBER, *DAYS, *MONTHS, *TITLES))
_JOINING: Final = (
    "and|but|or|so|yet|as|if|in|is|it|he|she|we|they|you|not|no|oh|um|uh|the|an?|to|for|of|on|at|by|with|which|who|that"
    "|this|then|when|also|all|now|well|yes|like|my|me|his|him|her|them|our|from|just|only"
)
"""Behind a dash these go on with the sentence; other short words are options of a command."""

_WITHIN: Final = Rule(r"\bw/in\b", "within")
DIGIT_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?:(?<=\d)|(?<=[ap]m)|(?<=[ap]\.m\.))--(?=\d)", "\u2013"),
    Rule(r"(?<=[^\s-])--(?=\d)|(?<=\d)--(?=[A-Za-z])", "\u2014"),
    Rule(r"\b24/7\b", "twenty four seven"),
    Rule(r"(?<![\w/])9/11(?![\w/])", "nine eleven"),
    Rule(r"\b50[/:-]50\b", "fifty fifty"),
    _WITHIN,
    Rule(r"(?<!\d )(?<![\w.])(?P<m>[Mm])in\. (?=\d)", lambda f: f"{f['m']}inimum "),
    Rule(r"(?<![\w/.])20/20(?! ?[\w/%])|(?<![\w/.])20[/-]20(?= (?:vision|hindsight)\b)", "twenty twenty"),
    *CODE_RULES,
    VERSE_RULE,
    Rule(r"\b(?P<e>[Ee])(?:st|ST)\. (?=(?:in )?(?:1[5-9]|20)\d\d(?!\d))", lambda f: f"{f['e']}stablished "),
    *LIFE_RULES,
    Rule(r"(?<=\dth|\dst|\dnd|\drd) c\.(?= (?:BCE?|CE|AD)\b)", " century"),
    Rule(r"(?<=\dth|\dst|\dnd|\drd) c\.(?!\w)", lambda f: f" century{kept_dot(f)}"),
    Rule(
        r"(?=[ \u2013-])(?:(?<=\bBC)|(?<=\bBCE)|(?<=\bAD)|(?<=\bCE)) ?[-\u2013] ?(?=\d|(?:AD|BC|CE|BCE)\b)",
        " to ",
    ),
    Rule(r"(?<=\d)(?P<low>[A-Z])[-\u2013](?=\d{1,3}[A-Z]\b)", lambda f: f"{f['low']} to "),
    CONTINENTAL_RULE,
    LAKH_RULE,
    *PLACE_RULES,
    *DATE_RULES,
    *CLOCK_RULES,
    Rule(r"(?<=\d),(?=\d{1,2}(?!\d)|\d{4})", ", "),
    *DECADE_RULES,
    Rule(r"(?<![\w.,])\d{1,3}(?: \d{3})* 000\b", lambda f: numbers.cardinal(f.group().replace(" ", ""))),
    *PHONE_RULES,
    Rule(r"(?<=[A-Z]\d)(?<!\bR2)[-\u2013](?=[A-Z]\d)", " to "),
    *PRICE_RULES,
    Rule(r"(?<![\w.])(?P<mark>[vV]\.? ?)?(?P<version>\d{1,5}(?:\.\d{1,5}){2,5})(?!\w)", _version),
    Rule(r"(?<![\w.])(?!V\d+(?![.\d]))(?P<mark>[vV]\.?)(?P<version>\d{1,5}(?:\.\d{1,5})?)(?!\w)", _version),
    *FRACTION_RULES,
    *PART_RULES,
    *LENGTH_RULES,
    Rule(r"\u00b0(?= ?[-\u2013] ?\d{1,3} ?\u00b0)", ""),
    Rule(rf"{SIGN}(?<![\w.,])(?P<number>\d{{1,3}}(?:\.\d)?)(?P<gap> ?)(?P<scale>[CF])(?!\w|['\u2019-])", _degrees),
    Rule(
        r"(?<![\w.])(?P<number>\d{1,4}\.\d{1,2}) ?A(?![\w'\u2019-])", lambda f: f"{numbers.decimal(f['number'])} amps"
    ),
    Rule(r"(?<![\w.,])(?P<number>10{1,2}|1,?000|10,?000|100,?000)s (?=of\b)", _crowd),
    Rule(r"(?<![\w.,])(?P<tens>\d{1,2})-?(?P<end>ers?|ish)\b", _named),
    Rule(
        r"(?=[-7x\u00d7])(?:(?<=[A-Za-z])(?P<of>-)|(?<![\w.,-])(?=7\d7)|(?<=\b[1-9])(?P<by>[x\u00d7]))(?P<number>\d{1,3})s\b(?![\u2019'])",
        lambda f: f"{' by ' if f['by'] else ' ' if f['of'] else ''}{numbers.plural(numbers.paired(f['number']))}",
    ),
    Rule(r"(?<![\w.,])(?P<lines>\d{3,4})(?P<way>[pi])(?!\w)", lambda f: f"{numbers.paired(f['lines'])} {f['way']}"),
    Rule(r"\bT-(?=\d+ (?:second|minute|hour|day)s?\b)", "T minus "),
    Rule(r"(?<=\d) - (?=\d+(?:\.\d+)? ?=)", " minus "),
    *SUM_RULES,
    Rule(r"(?<=\dst|\dnd|\drd|\dth)[-\u2013](?=\d)", " to "),
    Rule(r"\b401\(?k\)?(?!\w)", "four oh one k"),
    Rule(r"(?<=%)[-\u2013](?=\d)", " to "),
    SIDES_RULE,
    AREA_RULE,
    Rule(r"(?<=\d) ?[x\u00d7] ?(?=10(?:\^| to the))", " times "),
    Rule(r"(?<=\dx)[-\u2013](?=\d{1,6}x)", " to "),
    Rule(r"(?<=\dx) - (?=\d+(?!\d|x))|(?<=[\u00b2\u00b3]) - (?=\d)", " minus "),
    Rule(
        rf"(?<![\w.])(?<![=+\u2212<>\u2264\u2265] )(?:(?P<low>{_FACTOR})[-\u2013])?(?P<number>{_FACTOR})[x\u00d7]"
        rf"(?!\w|{_OF_EQUATION})",
        _times,
    ),
    Rule(rf"(?<![\w.])(?P<number>{_FACTOR})\.x(?!\w)", lambda f: f"{_version_parts(f['number'])} point x"),
    Rule(r"(?<=[A-Za-z])\d{4}(?!\d)", lambda f: f" {numbers.paired(f.group())}"),
    Rule(r"\b[qQ](?P<low>\d{1,2})(?:[-\u2013](?P<high>\d{1,2}))?[hH](?:rs?)?\b", _every),
    Rule(r"(?<=\d)[ -]?y/o\b", " year old"),
    Rule(
        rf"(?P<low>\d ?(?:[kKM]|{UNIT})\.?) ?[-\u2013] ?(?=\d{{1,4}}(?:\.\d{{1,2}})? ?[A-Za-z])",
        lambda f: f"{f['low']} to ",
        needs="-\u2013",
    ),
    *AMOUNT_RULES,
    Rule(
        r"(?<![\w.,/-])(?P<low>\d{1,4}(?:\.\d{1,2})?)[-\u2013](?=\d{1,4}(?:\.\d{1,2})?(?:k|M|bn)(?!\w))",
        lambda f: f"{numbers.decimal(f['low'])} to ",
    ),
    Rule(rf"(?<![\w.])(?P<number>{NUMBER})[eE](?P<power>[+-]?\d{{1,3}})(?!\w)", _scientific),
    Rule(rf"(?<![\w.])(?P<number>{NUMBER})(?P<scale>k|M|bn)(?!\w)", _scaled),
    Rule(rf"\b(?P<word>{alternatives(BEFORE_NUMBER)})\. ?(?=\d)(?!{_COUNT_AFTER_WORD})", _before_number, any_case=True),
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
    SERIAL_RULE,
    Rule(r"\.(?<=[A-Za-z]\.)(?=\d)", _dotted),
    Rule(rf"{NUMBER}(?P<its>['\u2019]s\b)?", _touching),
)
"""Tried on text that holds a digit."""

RULES: Final[tuple[Rule, ...]] = (
    *NAME_RANGES,
    *DAY_NAME_RULES,
    *HEADING_RULES,
    LONE_RATE_RULE,
    Rule(r"(?<!\w)\.(?=[A-Z]{2})|(?<!\S)\.(?=[a-z]{2})", "dot "),
    Rule(r"(?<=[A-Za-z])<(?P<of>[A-Za-z_][\w?]*(?:, ?[A-Za-z_][\w?]*){0,3})>", lambda f: f" of {f['of']} "),
    PAIRED_SIGNS,
    Rule(r"(?<!\S)--(?=[a-z]{2})", "dash dash "),
    Rule(r"(?<!\S)-(?=[A-HJ-Za-z](?:$|[\s.,;]))", "dash "),
    Rule(rf"(?<=[\w.] )-(?!(?:{_JOINING})\b)(?=[a-z]{{2,5}}(?:$|[\s.,;]))", "dash "),
    Rule(r"(?<=\w)~(?=[\da-z])", " tilde "),
    Rule(r"(?<!\S)\^(?=[\da-z])", "caret "),
    Rule(r"(?<!\S)[:;]-?[DPp](?=[\s.,!?]|$)", ""),
    Rule(r"(?<=[\w.])\u2013(?=\w)", "-"),
    Rule(r"(?<=\b[A-Z]):(?=\\)", " colon "),
    Rule(r"\bA[-\u2013]Z\b", "A to Z"),
    Rule(r"(?<![\w.])vs(?![\w.'-])|(?<=[\w)'\u2019] )v\.(?= [A-Z])", "versus"),
    Rule(r"(?P<first>\b[A-Z]\w* )VS(?= (?!Code\b|Studio\b)[A-Z])", lambda f: f"{f['first']}versus"),
    Rule(r"\bc/o\b", "care of"),
    Rule(rf"\b(?P<growth>{alternatives(_GROWTH)})\b", lambda f: _GROWTH[f["growth"]]),
    Rule(r"\u00a7\u00a7 ?", "sections "),
    Rule(r"(?<=[\w\u2026]) > (?=[A-Z][A-Za-z])", ", "),
    Rule(r"\bb/c\b", "because"),
    _WITHIN,
    Rule(r"\bw/o\b", "without"),
    Rule(r"\bw/ ?(?=\w)", "with "),
    Rule(r"\b(?P<a>[Aa])nd/or\b", lambda f: f"{f['a']}nd or"),
    Rule(rf"\b(?P<word>{_COUNTED})\. (?=(?!I\b)[IVXLC]+\b)", _before_number),
    Rule(rf"\b(?P<word>{_VOLUMES})\. (?=I\b)", _before_number),
    *ROMAN_RULES,
    *SHORT_FORM_RULES,
    *SCALE_RULES,
    Rule(r"(?<!\S)#(?=$|[\s.,;])", "pound"),
    Rule(r"#", ""),
    Rule(r"(?<=[a-z] )St\.(?! ?[A-Z])", "Street"),
    Rule(r"(?<=\w):(?=\w)", " "),
    Rule(r"(?<![^\s(\"'])/(?=[a-z])", "slash "),
    Rule(
        r"(?P<first>[a-z])/(?P<second>[a-z])(?![\w/])(?<![\w/]...)(?<!y/n|m/f|x/y)",
        lambda f: f"{f['first']} {f['second']}".upper(),
    ),
    Rule(r"(?<=[a-z]) ?/ ?(?=[a-z])", " or "),
    Rule(r"(?<=\))\.(?=[a-z]{2,4}(?!\w))", " dot "),
    Rule(r"-(?:(?<=\b[Aa] [B-F]-)|(?<=\b[Aa]n A-))(?=[\s.,;!?)]|$)", " minus"),
    Rule(r"(?<=\w) / (?=\w)", ", "),
    Rule(r"(?<=\w) ?/ ?(?=\w)", " "),
    LONE_SIGNS,
)
