"""Roads, addresses and the points of the compass, as a navigator says them.

Purpose: rules for numbered roads and rooms, streets, postal codes, headings.
Knows: how American addresses and road signs are written. Does not know: distances, telephone numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.abbreviations import BEFORE_NUMBER, SENTENCE_BEGINS
from app.rules import Match, Rule, alternatives, cased

_COMPASS: Final = {
    "N": "north", "S": "south", "E": "east", "W": "west", "NE": "northeast", "NW": "northwest", "SE": "southeast",
    "SW": "southwest", "NNE": "north northeast", "ENE": "east northeast", "ESE": "east southeast",
    "SSE": "south southeast", "SSW": "south southwest", "WSW": "west southwest", "WNW": "west northwest",
    "NNW": "north northwest",
}  # fmt: skip
_POINT: Final = alternatives(_COMPASS)
_HEADING: Final = "[Hh]ead|[Hh]eading|[Hh]eaded|[Ww]inds?:?|[Cc]ontinue|[Ff]acing|[Mm]oving"
_TOWARDS: Final = "[Dd]rive|[Gg]o|[Tt]urn|[Ff]rom the|[Tt]o the|[Ii]n the"
"""Before these a single letter may be something else."""
_STREETS: Final = {
    "St": "Street", "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Dr": "Drive", "Ln": "Lane", "Ct": "Court",
    "Pl": "Place", "Pkwy": "Parkway", "Hwy": "Highway", "Fwy": "Freeway", "Sq": "Square",
}  # fmt: skip
_STREET: Final = alternatives(_STREETS)
_CLEAR_STREETS: Final = ("Ave", "Blvd", "Rd", "Pkwy", "Hwy", "Fwy")
"""Without a dot these are nothing else behind a name."""
_GUIDING: Final = ("Turn", "Take", "Continue", "Keep", "Go", "Head", "Drive", "Walk", "Your", "Stay", "Merge", "Make")
"""What a guide says next: Main St. Turn left."""
_NUMBERED: Final = (
    "room", "route", "highway", "interstate", "flight", "suite", "apartment", "bus", "exit", "error", "boeing", "http",
)  # fmt: skip
"""What is named by a number of three or four digits, which is read in pairs: room two oh four."""
_ROADS: Final = {"Hwy": "Highway", "Rte": "Route", "Rt": "Route"}
_STATE: Final = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
_ROAD: Final = (
    rf"\b(?:(?:I|US|SR|CR)-|(?:{_STATE})-(?=\d+ [NSEW]\b)|(?:[Rr]oute|[Hh]ighway|[Ii]nterstate|Hwy|Rte|Rt) "
    r"|US (?=\d+(?: [NSEW]\b|[,;)]|\.?$| (?:and|at|for|from|in|to|toward|until)\b)))\d{1,3}"
)


def _street(found: Match) -> str:
    follower = found.string[found.end() :].lstrip()
    dotted = found.group().endswith(".") and (follower[:1].isupper() or not follower)
    return f"{found['place']}{_STREETS[found['street']]}{'.' if dotted else ''}"


def _road(found: Match) -> str:
    road, _, number = re.split(r"([ -])", found["road"], maxsplit=1)
    point = f" {_COMPASS[found['point']].capitalize()}" if found["point"] else ""
    return f"{_ROADS.get(road, road)} {numbers.paired(number)}{point}"


def _postal(found: Match) -> str:
    return f", {found['state']} {numbers.spelled(found['zip'])}" + (
        f", {numbers.spelled(found['more'])}" if found["more"] else ""
    )


def _numbered(found: Match) -> str:
    variant = f" {numbers.cardinal(found['variant'])}" if found["variant"] else ""
    word = found["word"]
    if word.endswith("."):
        word = cased(BEFORE_NUMBER[word[:-1].lower()], word)
    return f"{word} {numbers.paired(found['number'])}{variant}"


def _point(found: Match) -> str:
    return f"{found['before']} {_COMPASS[found['point']]}"


def _coordinate(found: Match) -> str:
    """`40\u00b026\u203246\u2033N` as forty degrees twenty six minutes forty six seconds north."""
    names = ("degrees", "minutes", "seconds")
    parts = zip((found["degrees"], found["minutes"], found["seconds"]), names, strict=True)
    spoken = " ".join(f"{numbers.decimal(part)} {name}" for part, name in parts if part)
    return f"{spoken} {_COMPASS[found['point']]}" if found["point"] else spoken


_POINT_OF_STREET: Final = Rule(
    r"(?=[NSEW])(?:\A|(?<=\d )|(?<=\b[Oo]n )|(?<=\bonto )|(?<=\balong )|(?<=\b[Aa]t )|(?<=\bto )|(?<=\bfrom )"
    r"|(?<=\band ))"
    r"(?P<point>[NSEW]|[NS][EW])\.? "
    rf"(?=(?:(?:[A-Z][a-z]+|\d{{1,3}}(?:st|nd|rd|th)) ){{1,3}}(?:{_STREET}|{alternatives(_STREETS.values())}|Way)\b)",
    lambda f: f"{_COMPASS[f['point']].capitalize()} ",
)
PLACE_RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"(?P<road>{_ROAD})(?: (?P<point>[NSEW])\b(?!\.?\w))?(?![\w-]|[.,:]\d| ?%)", _road),
    Rule(
        rf"(?<=\d)(?P<unit> ?(?:km|mi|miles|kilometers))\.? (?P<point>{_POINT}) (?=of\b)",
        lambda f: f"{f['unit']} {_COMPASS[f['point']]} ",
    ),
    Rule(
        r"(?<![\w.])(?P<degrees>\d{1,3})\u00b0 ?(?P<minutes>[0-5]?\d(?:\.\d{1,4})?)['\u2019\u2032]"
        r"(?: ?(?P<seconds>[0-5]?\d(?:\.\d{1,4})?)(?:[\"\u201d\u2033]|''))?(?: ?(?P<point>[NSEW])\b)?",
        _coordinate,
    ),
    Rule(r"(?<=\d)\s?\u00b0\s?(?P<point>[NSEW])\b", lambda f: f" degrees {_COMPASS[f['point']]}"),
    Rule(r", ?(?P<state>[A-Z]{2}) (?P<zip>\d{5})(?:-(?P<more>\d{4}))?(?![\w-]|[.,]\d)", _postal),
    _POINT_OF_STREET,
    Rule(
        rf"(?P<place>\b(?:\d{{1,5}}[A-Za-z]? (?:(?:[NSEW]\.|[A-Z][a-z]+) ){{1,4}}|\d{{1,3}}(?:st|nd|rd|th) ))"
        rf"(?P<street>{_STREET})\b\.?",
        _street,
    ),
    Rule(
        rf"\b(?P<word>(?i:{alternatives(_NUMBERED)}|(?:rm|rte|rt|ste)\.)) (?P<number>\d{{3,4}})"
        r"(?:(?<=7\d7)-(?P<variant>\d{1,3}))?(?![\w-]|[.,:/]\d| ?%| ?(?:k?m|ft|mi|yd|min)\b)",
        _numbered,
    ),
)
"""Tried on text that holds a digit."""
HEADING_RULES: Final[tuple[Rule, ...]] = (
    _POINT_OF_STREET,
    Rule(r"(?P<place>\b(?:[oO]n|[aA]t|[aA]long|[dD]own) [A-Z][a-z]+ )(?P<street>St)\.", _street),
    Rule(
        rf"(?P<place>\b[A-Z][a-z]+ )(?P<street>St)\.(?= (?:{alternatives({*SENTENCE_BEGINS, *_GUIDING})})\b)", _street
    ),
    Rule(rf"\b(?P<before>{_TOWARDS}) (?P<point>[NS][EW])\b(?![.'\u2019-]\w)", _point),
    Rule(rf"\b(?P<before>(?:{_HEADING})) (?P<point>{_POINT})\b(?![.'\u2019-]\w)", _point),
    Rule(
        r"[NSEW][NS][EW]\b(?<=\b[NSEW]{3})(?:(?<=\(...)(?=\))|(?= (?:at|of|winds?|gust[a-z]*)\b))",
        lambda f: _COMPASS.get(f.group()),
    ),
    Rule(
        r"(?P<way>\b(?:[Tt]urn|[Kk]eep|[Bb]ear|[Ss]tay) )(?P<side>[LR])"
        r"(?=\s*(?:[.,;:!?)]|$)| (?:at|on|onto|into|to|towards?|and|then|in|for|past)\b)",
        lambda f: f"{f['way']}{'left' if f['side'] == 'L' else 'right'}",
    ),
    Rule(rf"\b(?P<before>{alternatives(_STREETS.values())}) (?P<point>[NS][EW])\b", _point),
    Rule(rf"(?P<place>\b[A-Z][a-z]+ )(?P<street>{alternatives(_CLEAR_STREETS)})\b\.?", _street),
    Rule(r"(?P<place>\b[A-Z][a-z]+ )(?P<street>St)\b(?!\.| [A-Z])", _street),
)
