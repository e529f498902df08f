"""Short forms with dots: what they say, and where the same letters are a name or a word instead.

Purpose: rules for abbreviations, titles and initials.
Knows: written English, the words around a short form. Does not know: numbers (they are words by now), streets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from app.abbreviations import ANYWHERE, DAYS, DOTTED, MONTHS, SENTENCE_BEGINS, TITLES
from app.rules import Match, Rule, alternatives, cased, kept_dot

_BARE_TITLES: Final = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Mt", "Lt", "Sgt", "Capt")
"""In Britain these have no dot."""
_OF_COUPLES: Final = ("Mr", "Mrs", "Ms", "Dr", "Prof", "Rev")
"""These may come before "and" and another title."""
_ALSO_WORDS: Final = ("sun", "sat")
_NAMES_IN_CAPITALS: Final = frozenset({"EST", "CA", "CF", "APT", "CO", "AL", "MIN", "MAX"})
"""A time zone, states, things of medicine and computing: in capitals the dot behind these is the sentence's."""
_PHRASE_BEGINS: Final = re.compile(r"(?:\A|[.:;!?(\[,\u2022\u2013\u2014-])[ \n]*\Z")
_GOES_ON: Final = re.compile(r" [a-z]")
_TENS: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|ten|eleven|twelve|[a-z]+teen"
_SO_MANY: Final = re.compile(
    rf"\b(?:{_TENS}|one|two|three|four|five|six|seven|eight|nine|few|several|some|many|more|of|extra|odd|these|those"
    r"|last|next|half) \Z"
)
_ONE: Final = re.compile(r"\b(?:a|per|each|every|another) \Z")
_MY: Final = re.compile(r"\b(?:the|an|my|your|his|her|our|their|this|that|new|in) \Z", re.I)
_DOOR: Final = re.compile(r" (?:(?!I\b)[A-Z]\b|#|number\b)")
_WHEN: Final = re.compile(
    r"\b(?:in|since|until|till|by|last|next|before|after|through|this|during|early|late|mid|every|each)[ -]\Z", re.I
)
_MONTHS_BEFORE: Final = re.compile(
    rf"\b(?:{alternatives((*MONTHS, *MONTHS.values()))})[.,]{{0,2}} (?:and |or |to |through )?\Z", re.I
)
_MONTHS_AFTER: Final = re.compile(
    rf",? (?:and |or |to |through )?(?:{alternatives((*MONTHS, *MONTHS.values()))})\b|[/\u2013-]", re.I
)
_SEA: Final = re.compile(r"\b(?:[Dd]el|[Ll]a|[Ee]l|[Aa]l) \Z")
"""Del Mar is a town."""


def _short(table: dict[str, str]) -> Callable[[Match], str]:
    def spoken(found: Match) -> str:
        return cased(table[found["word"].lower()], found["word"]) + kept_dot(found)

    return spoken


def _anywhere(found: Match) -> str | None:
    """The long form, where the letters are not a name (`Max.`, `CA.`) or a word (`apt.`)."""
    word = found["word"]
    before = found.string[: found.start()]
    if word in _NAMES_IN_CAPITALS or (word in {"Max", "Min"} and not _begins_phrase(found)):
        return None
    if word == "apt":
        door = _DOOR.match(found.string, found.end())
        return "apartment" + ("" if door else kept_dot(found)) if door or _MY.search(before) else None
    if word.lower() == "min" and (long := _minutes(found)):
        return long + kept_dot(found)
    return _short(ANYWHERE)(found)


def _begins_phrase(found: Match) -> bool:
    """Whether this stands before what it describes, and nothing before it is described."""
    after = _GOES_ON.match(found.string, found.end())
    return bool(after and _PHRASE_BEGINS.search(found.string, 0, found.start()))


def _minutes(found: Match) -> str:
    """What `min.` is where it does not count: a limit, or one minute; "" for minutes."""
    before = found.string[: found.start()]
    if _ONE.search(before) and not found.string.startswith(" of ", found.end()):
        return "minute"
    return "" if _SO_MANY.search(before) else cased("minimum", found["word"])


def _month(found: Match) -> str | None:
    """`Jan.` is also a person, and `Mar.` ends the names of places."""
    before, end = found.string[: found.start()], found.end()
    if found["word"] == "Mar" and _SEA.search(before):
        return None
    if found["word"] == "Jan" and not (
        _GOES_ON.match(found.string, end)
        or _WHEN.search(before)
        or _MONTHS_BEFORE.search(before)
        or _MONTHS_AFTER.match(found.string, end)
    ):
        return None
    return _short(MONTHS)(found)


def _initials(found: Match) -> str:
    return found.group().replace(".", "") + kept_dot(found)


def _initial(found: Match) -> str | None:
    """Without its dot before a name; the dot of "Vitamin C. It helps." is the sentence's."""
    ends = found["letter"] == "I" or (found["next"] in SENTENCE_BEGINS and found["next"] != "A")
    return None if ends else found["letter"]


SHORT_FORM_RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"\b(?P<word>{alternatives(DOTTED)})(?:\.(?!\w)|(?![\w.]))", _short(DOTTED), any_case=True),
    Rule(r"\b(?:[a-z]\.){2,8}(?!\w)", lambda f: _initials(f).upper()),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in TITLES)})\.(?= ?[A-Z\d])", _short(TITLES)),
    Rule(rf"\b(?P<word>{alternatives(_OF_COUPLES)})\.(?= (?:and|&) [A-Z])", _short(TITLES)),
    Rule(
        rf"\b(?P<word>{alternatives(_BARE_TITLES)}) (?=[A-Z][a-z]|and M)",
        lambda f: f"{TITLES[f['word'].lower()].capitalize()} ",
    ),
    Rule(rf"\b(?P<word>{alternatives(ANYWHERE)})\.(?!\w)", _anywhere, any_case=True),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in MONTHS)})\.(?= |$|,)", _month),
    Rule(rf"\b(?P<word>{alternatives(w.capitalize() for w in DAYS if w not in _ALSO_WORDS)})\.(?=,| |$)", _short(DAYS)),
    Rule(r"\b(?:[A-Z]\.){2,8}(?!\w)", _initials),
    Rule(r"\b(?P<letter>[A-Z])\.(?= ?(?P<next>[A-Z][a-z]*))", _initial),
)
