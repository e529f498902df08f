"""Chapters and verses of scripture, as they are read out: First Corinthians thirteen, four to seven.

Purpose: one rule for the name of a book and what follows it.
Knows: the books of the Bible, by their names and short forms, and the Quran. Does not know: times, ratios.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.abbreviations import BOOKS
from app.rules import Match, Rule, alternatives

_NAMES: Final = {**BOOKS, **{name: name for name in BOOKS.values()}}
_ORDERS: Final = {"1": "First ", "2": "Second ", "3": "Third "}
_OF_TWO: Final = frozenset({"Sam", "Tim", "Pet"})
_FRIENDS: Final = frozenset({"Dan", "Phil", "Mal"})
"""Short forms that are also persons, who are met at five thirty: these need their number, those their dot."""
_MET: Final = frozenset({"Daniel", "James", "Luke", "Mark", "John", "Ruth", "Joel", "Jonah", "Titus", "Jude", "Esther"})
_TIME_AFTER: Final = re.compile(
    r" (?:tonight|today|tomorrow|sharp|works|at the|is (?:fine|good|ok(?:ay)?|too)|in the (?:morning|afternoon|evening)"
    r"|on [A-Z][a-z]+day|this (?:morning|afternoon|evening))\b"
)
"""Persons too, who are met at such a time."""


def _verse(found: Match) -> str | None:
    book = found["book"]
    if book in _MET and _TIME_AFTER.match(found.string, found.end()):
        return None
    if (book in _OF_TWO and not found["order"]) or (book in _FRIENDS and not found["dot"]):
        return None
    order = _ORDERS.get(found["order"] or "", "")
    verses = " to ".join(numbers.cardinal(verse) for verse in re.findall(r"\d+", found["verses"]))
    return f"{order}{_NAMES[found['book']]} {numbers.cardinal(found['chapter'])}, {verses}"


VERSE_RULE: Final = Rule(
    rf"(?<![\w.])(?:(?P<order>[123]) )?(?P<book>\b(?:{alternatives(_NAMES)}))(?P<dot>\.)? (?P<chapter>\d{{1,3}}):"
    r"(?P<verses>[1-9]\d{0,2}(?:[-\u2013]\d{1,3})?)(?![\w:]|[-\u2013]\d| ?[ap]\.?m\b)",
    _verse,
    needs=_NAMES,
)
"""Tried before times of day."""
