"""Telephone numbers and codes: digits that are read one by one.

Purpose: rules for what is dialled, typed in or looked up by its digits.
Knows: how such numbers are grouped, the words that go before a code. Does not know: counts, versions, addresses.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.rules import Match, Rule

CODE_WORDS: Final = frozenset({"code", "zip", "pin", "passcode", "password", "otp"})
"""Before a number these say that its digits count one by one, also over "is"."""
_CODE: Final = "|".join(f"{word}|{word.capitalize()}|{word.upper()}" for word in sorted(CODE_WORDS))
_CALL: Final = "[Cc]all(?:s|ed|ing)?|[Dd]ial(?:s|l?ed|l?ing)?"
_GAIN: Final = re.compile(r"\+\d+(?:\.\d{1,2})?")
_LEAST_ABROAD: Final = 9
"""Digits of one that begins with that of its country and has no gap."""
_LIFE: Final = 120
_IN_BRACKETS: Final = re.compile(r"\([\d-]+\)")
_COUNTED: Final = re.compile(
    r" ?(?:%|\u00b0)| (?!(?:for|to|and|or|now|today|if|ext|when|is|was|between|from|in|at|on|any|extension)\b)[A-Za-z]"
)
_CALLED: Final = re.compile(r"\b(?:call|dial|phone|at|number|reach|text|fax|tel|line|is|us|me|him|her)[:.]? \Z", re.I)
_LEAST_LOCAL: Final = 9
"""Digits of a telephone number that begins with the zero of its own country."""


def _grouped(found: Match) -> str:
    groups = re.findall(r"\d+", found.group())
    plus = "plus " if found.group().startswith("+") else ""
    return plus + ", ".join(numbers.spelled(group) for group in groups)


def _abroad(found: Match) -> str | None:
    """A number with its country; not an amount that was gained, as `+12500.50`."""
    written = found.group()
    count = sum(map(str.isdecimal, written))
    return None if _GAIN.fullmatch(written) and (count < _LEAST_ABROAD or "." in written) else _grouped(found)


def _exchange(found: Match) -> str | None:
    """`555-1000`; not a range of amounts or of years, as in 500-1000 people."""
    low, high = found.group().split("-")[0], found.group().split("-")[-1]
    if found.group().count("-") > 1 or int(low) >= int(high):
        return _grouped(found)
    years = int(high) - int(low) < _LIFE and _IN_BRACKETS.match(found.string, found.start() - 1)
    counted = low[-1] == "0" and high.endswith("00") and _COUNTED.match(found.string, found.end())
    called = _CALLED.search(found.string, 0, found.start())
    return None if years or low[0] in "01" or (counted and not called) else _grouped(found)


def _local(found: Match) -> str | None:
    return _grouped(found) if sum(map(str.isdecimal, found.group())) >= _LEAST_LOCAL else None


def _each(code: str) -> str:
    """Character by character; letters as capitals, which are spelled."""
    return " ".join(numbers.spelled(sign) if sign.isdecimal() else sign.upper() for sign in code)


def _hardware(found: Match) -> str:
    """`00:1A:2B:3C:4D:5E`: pair by pair."""
    return ", ".join(map(_each, re.split("[:-]", found.group())))


def _colons(found: Match) -> str | None:
    """`fe80::1`; without a digit and a gap or many groups it is something else, like a time of day."""
    address = found.group()
    gap, letters = "::" in address, any(map(str.isalpha, address))
    if not any(map(str.isdecimal, address)) or not (gap or (letters and address.count(":") >= _GROUPS)):
        return None
    return " ".join(_each(part) if part != ":" else "colon" for part in re.findall("[0-9A-Fa-f]+|:", address))


def _wireless(found: Match) -> str:
    """`802.11ac`, which is neither grams nor acres."""
    ways = f" {' '.join(found['ways'].replace('/', '').upper())}" if found["ways"] else ""
    return f"eight oh two point {numbers.cardinal(found['part'])}{ways}"


def _network(found: Match) -> str:
    parts = " point ".join(map(numbers.cardinal, found["address"].split(".")))
    return f"{parts} slash {numbers.cardinal(found['bits'])}"


def _code(found: Match) -> str:
    digits = found["digits"]
    if not digits.isdecimal():
        return found["word"] + ", ".join(map(numbers.spelled, re.split("[ -]", digits)))
    return found["word"] + (numbers.grouped(digits) if len(digits) > 5 else numbers.spelled(digits))


_GROUPS: Final = 5
"""Colons of an address of this kind that has no gap."""
CODE_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"\b802\.(?P<part>\d{1,2})(?P<ways>[a-z]{1,2}(?:/[a-z]{1,2}){0,4})?(?!\w)", _wireless),
    Rule(r"(?<![\w:.-])(?:[\dA-Fa-f]{2}:){5}[\dA-Fa-f]{2}(?![\w:-])", _hardware),
    Rule(r"(?<![\w:.-])(?=[\d-]*[A-Fa-f])(?:[\dA-Fa-f]{2}-){5}[\dA-Fa-f]{2}(?![\w:-])", _hardware),
    Rule(r"(?<![\w:.])(?:[\dA-Fa-f]{1,4}:|::)(?:[\dA-Fa-f]{0,4}:){1,6}[\dA-Fa-f]{0,4}(?![\w:])", _colons),
    Rule(r"(?<![\w.])(?P<address>\d{1,3}(?:\.\d{1,3}){3})/(?P<bits>\d{1,2})(?![\w/])", _network),
    Rule(r"(?<![\w.-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\w-])", _hardware),
    Rule(
        r"(?<![\w.-])(?=[\da-f]{7})(?=\d*[a-f])(?=[a-f]*\d[\da-f]*?\d)[\da-f]{7,64}(?!\w)|\b0x[\dA-Fa-f]{1,16}\b",
        lambda f: _each(f.group()),
    ),
)
"""Addresses of machines, checksums: tried before dates and times."""
SERIAL_RULE: Final = Rule(
    r"\d(?:(?<=[A-Za-z]\d)\d{5,14}|\d{5,14}(?=[A-Z])|(?<=[A-Za-z]\d)\d{4}(?=[A-Z]))",
    lambda f: f" {numbers.grouped(f.group())} ",
)
"""Long numbers that touch letters: nobody counts them. Tried after measures."""
PHONE_RULES: Final[tuple[Rule, ...]] = (
    Rule(r"(?:\b[Ee]xt\.? |x(?<=[\d-]\d{3} x)(?=\d{2,5}(?!\w)))(?=\d)", "extension "),
    Rule(r"(?<![\w.])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){1,4}(?!\w)", _abroad),
    Rule(r"(?<![\w.])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)", _grouped),
    Rule(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])|(?<![\w.])\d{3}-\d{2}-\d{4}(?![\w-])", _exchange),
    Rule(r"(?<![\w.])\d{3,4}(?:[ -]\d{4}){2,4}(?!\w)|(?<![\w.-])\d{1,12}(?:-\d{1,12}){2,6}(?![\w-])", _grouped),
    Rule(r"(?<![\w.,])(?:\(0\d{1,4}\)|0\d{1,4})(?: \d{3,8}){1,3}(?!\w|[.,]\d)", _local),
    Rule(rf"(?P<word>\b(?:{_CALL}) )(?P<digits>[1-9]11|112|999|988)(?![\w-]|[.,]\d)", _code),
    Rule(r"(?P<word>)(?<![\w.,$])(?P<digits>911)(?= (?:calls?|callers?|operators?|dispatchers?)\b)", _code),
    Rule(
        rf"(?P<word>\b(?:{_CODE})(?: is|:)? )(?P<digits>\d{{3}}[ -]\d{{3}}|\d{{3,12}})(?![\w:-]|[.,]\d)",
        _code,
    ),
    Rule(r"(?P<word>\b[Tt]ext (?:[A-Z]{2,12} to )?)(?P<digits>\d{5,6})(?![\w-]|[.,]\d)", _code),
    Rule(r"(?P<word>\b(?:ending|ends) in )(?P<digits>(?!19|20)\d{4})(?![\w-]|[.,]\d)", _code),
    Rule(r"(?P<word>)(?<!\w)#(?P<digits>\d{5,12}|\d{3,6}-\d{3,6})(?![\w-]|[.,]\d)", lambda f: f"number {_code(f)}"),
)
