"""Chapters and verses of scripture, as they are read out: First Corinthians thirteen, four to seven.

Purpose: one rule for the name of a book and what follows it.
Knows: the books of the Bible, by their names and short forms, and the Quran. Does not know: times, ratios.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.rules import Match, Rule, alternatives

_BOOKS: Final = {
    "Gen": "Genesis", "Exod": "Exodus", "Ex": "Exodus", "Lev": "Leviticus", "Num": "Numbers", "Deut": "Deuteronomy",
    "Josh": "Joshua", "Judg": "Judges", "Ruth": "Ruth", "Sam": "Samuel", "Kings": "Kings", "Chron": "Chronicles",
    "Ezra": "Ezra", "Neh": "Nehemiah", "Esther": "Esther", "Job": "Job", "Ps": "Psalm", "Psalm": "Psalm",
    "Prov": "Proverbs", "Eccl": "Ecclesiastes", "Song of Solomon": "Song of Solomon", "Isa": "Isaiah",
    "Jer": "Jeremiah", "Lam": "Lamentations", "Ezek": "Ezekiel", "Dan": "Daniel", "Hos": "Hosea", "Joel": "Joel",
    "Amos": "Amos", "Jonah": "Jonah", "Mic": "Micah", "Hab": "Habakkuk", "Zech": "Zechariah", "Mal": "Malachi",
    "Matt": "Matthew", "Mark": "Mark", "Luke": "Luke", "John": "John", "Acts": "Acts", "Rom": "Romans",
    "Cor": "Corinthians", "Gal": "Galatians", "Eph": "Ephesians", "Phil": "Philippians", "Col": "Colossians",
    "Thess": "Thessalonians", "Tim": "Timothy", "Titus": "Titus", "Heb": "Hebrews", "Jas": "James", "James": "James",
    "Pet": "Peter", "Jude": "Jude", "Rev": "Revelation", "Surah": "Surah", "Quran": "Quran", "Qur'an": "Qur'an",
}  # fmt: skip
_NAMES: Final = {**_BOOKS, **{name: name for name in _BOOKS.values()}}
_ORDERS: Final = {"1": "First ", "2": "Second ", "3": "Third "}


def _verse(found: Match) -> str:
    order = _ORDERS.get(found["order"] or "", "")
    verses = " to ".join(numbers.cardinal(verse) for verse in re.findall(r"\d+", found["verses"]))
    return f"{order}{_NAMES[found['book']]} {numbers.cardinal(found['chapter'])}, {verses}"


VERSE_RULE: Final = Rule(
    rf"(?<![\w.])(?:(?P<order>[123]) )?(?P<book>\b(?:{alternatives(_NAMES)}))\.? (?P<chapter>\d{{1,3}}):"
    r"(?P<verses>[1-9]\d{0,2}(?:[-\u2013]\d{1,3})?)(?![\w:]|[-\u2013]\d| ?[ap]\.?m\b)",
    _verse,
)
"""Tried before times of day."""
