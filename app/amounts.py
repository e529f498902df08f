"""Numbers with their units, as English says them: five kilometers, ten to fifteen minutes, so much per day.

Purpose: rules for measures, their ranges, and what is counted per something.
Knows: where a unit stands, and where it is a word instead. Does not know: the words for an amount (`measures`), money.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.lengths import is_length
from app.measures import (
    AMBIGUOUS_UNITS,
    CLOSE_UNITS,
    DOSES,
    LETTER_UNITS,
    SHORTENED_UNITS,
    TIMES,
    UNIT,
    UNITS,
    VOLUMES,
    measure,
    plural,
)
from app.rules import NUMBER, SIGN, Match, Rule, alternatives, between, has_article

_NEXT_PHRASE: Final = re.compile(r"\s+(?:[A-Z]|(?:the|a|this|my|our)\b|\d)")
_EVERY: Final = {"d": "day"}
_ONE_IN_FIVE: Final = re.compile(r"-\d")
_NOUN: Final = re.compile(r"\)? [a-z\d]|-old\b")
_EACH: Final = "(?:second|minute|hour|day|night|week|month|year|person|user|head|seat|item|piece|mile|gallon|dose)"
_PER: Final = f"(?:/(?P<per>{_EACH}|{UNIT})(?:/(?P<then>day|dose|min|week|hr?|d|s)(?![a-z]))?)?"
_SECOND: Final = Rule(rf"\d+(?:\.\d+)? ?(?P<unit>{UNIT}|days?|hours?|minutes?|seconds?)(?!\w)", "")
"""The second of two measures with a slash between them; compiled when there is one."""
_CROWD: Final = re.compile(
    r" (?:people|users?|views?|followers|subscribers|customers|homes|households|jobs|copies|children|women|men|deaths"
    r"|visitors|passengers|voters|residents|members|workers|employees|students|downloads|dollars|euros|tourists"
    r"|refugees|Americans|Britons|shares|streams|readers|viewers|listeners|fans|votes|barrels|tonnes)\b"
)
"""Before these, m is a million."""
_COUNTING: Final = re.compile(r"\b[Cc]ount(?:s|ed|ing)?\b[^.!?]{0,40}\b(?:by|in|and|or) \Z")
_THE: Final = re.compile(r"\b[Tt]he \Z")
_PLACE: Final = re.compile(r" (?:place|column|digits?|times table|table)\b")
_SEVERAL: Final = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|both|[Aa]ll the|[Aa]ll|many|those|these) \Z"
)
_PHRASE_ENDS: Final = re.compile(r"\s*(?:[.,;:!?)]|$)| (?:and|or|in|on|are|is|make|add|to|then)\b")
_BIG: Final = "(?: (?P<scale>thousand|million|billion|trillion)(?= ))?"
AFTER: Final = r"(?=[\s,;:!?)-]|$)"


def _is_word(found: Match) -> bool:
    """Whether what could be a unit goes on in the sentence: two in the morning, a two-in-one."""
    if found["gap"] == "-" and _ONE_IN_FIVE.match(found.string, found.end()):
        return True
    if found["gap"] and found["unit"] in CLOSE_UNITS:
        return True
    if found["gap"] != " " or found["unit"] not in LETTER_UNITS:
        return False
    return found.string[found.end() :][:1].isspace() and not (found["unit"] == "in" and is_length(found))


def _is_plural(before: str, after: str) -> bool:
    """Whether a number is a thing that there are several of: two 6s, count by 5s, the 1s column."""
    if _COUNTING.search(before) or (_THE.search(before) and _PLACE.match(after)):
        return True
    return bool(_SEVERAL.search(before) and _PHRASE_ENDS.match(after))


def _end(found: Match) -> str:
    """The dot behind a unit, if it is the sentence's."""
    after = found.string[found.end() :].lstrip()
    shortened = found["unit"] in SHORTENED_UNITS and after and not after[0].isupper()
    return "." if found.group().endswith(".") and not shortened else ""


def _per(found: Match) -> str:
    return "".join(f" per {_EVERY.get(word, UNITS.get(word, word))}" for word in (found["per"], found["then"]) if word)


def _slash(found: Match) -> str:
    """Between two measures: so much in so much of something, or in so long; else two ways to say the same."""
    second = _SECOND.pattern.match(found.string, found.end())
    unit = second["unit"] if second else ""
    if unit in TIMES or unit not in UNITS:
        apart = found["unit"] not in TIMES
    else:
        apart = (unit in VOLUMES and found["unit"] in DOSES) or (unit == "km" and found["unit"] in VOLUMES)
    return " per " if unit and apart else ", "


def _measure(found: Match) -> str | None:
    number, unit = found["number"].replace(",", ""), found["unit"]
    before, after = found.string[: found.start()], found.string[found.end() :]
    per = _per(found)
    if not per and (_is_word(found) or (found["gap"] == " " and unit in AMBIGUOUS_UNITS and _NEXT_PHRASE.match(after))):
        return None
    if unit in {"m", "s"} and not (found["gap"] or per or found["sign"]):
        if unit == "m" and _CROWD.match(after):
            return f"{numbers.decimal(number)} million"
        if unit == "s" and number.isdecimal() and _is_plural(before, after):
            return numbers.plural(numbers.cardinal(number)) + _end(found)
    minus = "minus " if found["sign"] else ""
    scale = f" {found['scale']}" if found["scale"] else ""
    single = bool(has_article(found) and after.strip()) or (found["gap"] == "-" and bool(_NOUN.match(after)))
    slash = _slash(found) if found["slash"] else ""
    return f"{minus}{measure(number, unit, scale=scale, single=single)}{per}{_end(found)}{slash}"


def _measure_range(found: Match) -> str | None:
    per = _per(found)
    if not per and _is_word(found):
        return None
    high = measure(found["high"].replace(",", ""), found["unit"])
    return f"{numbers.decimal(found['low'])} {between(found)} {high}{per}{_end(found)}"


LONE_RATE_RULE: Final = Rule(
    rf"(?<![\w/.])(?P<unit>{alternatives(unit for unit in UNITS if '/' in unit)})(?![\w/^\u00b2\u00b3])",
    lambda f: plural(UNITS[f["unit"]]),
)
"""A rate without a number: speed in km/h."""
AMOUNT_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?<![\w.])(?P<low>{NUMBER}) ?[-\u2013] ?(?P<high>{NUMBER})"
        rf"(?P<gap> ?)(?P<unit>{UNIT}){_PER}(?![\w/])(?:\.{AFTER})?",
        _measure_range,
        needs="-\u2013",
    ),
    Rule(
        rf"{SIGN}(?<![\w.])(?P<number>{NUMBER}|\.\d+){_BIG}(?P<gap>[ -]?)(?P<unit>{UNIT})"
        rf"(?:(?P<slash>/)(?=\d)|{_PER}(?![\w/^\u00b2\u00b3])\.?{AFTER})",
        _measure,
    ),
    LONE_RATE_RULE,
    Rule(
        rf"(?:(?<=[a-z])|(?<=\d)(?=/(?:min|sec|hr?|wk|mo|yr)))/(?!(?:us|bar)\b)(?!in\b(?<!dots/in))(?P<unit>{UNIT})(?!\w)(?:\.{AFTER})?",
        lambda f: f" per {UNITS[f['unit']]}{_end(f)}",
        needs="/",
    ),
    Rule(rf"(?<=[a-z\d])/(?={_EACH}\b)", " per "),
    Rule(
        rf"(?<=\bper )(?!(?:in|us|t)\b|[%\u2030\u00b0])(?P<unit>{UNIT})(?![\w/])(?:\.{AFTER})?",
        lambda f: f"{UNITS[f['unit']]}{_end(f)}",
        needs=("per ",),
    ),
)
