"""Roman numerals where a reader would see a number.

Purpose: rules for chapters, wars and kings; a lone I, V or X elsewhere stays a letter, and a lone C or D everywhere.
Knows: Roman numerals and the words that go before them. Does not know: other numbers.
"""

from __future__ import annotations

import re
from typing import Final

from app import numbers
from app.abbreviations import SENTENCE_BEGINS
from app.rules import Match, Rule, alternatives

_VALUES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_GOES_ON: Final = re.compile(r" [A-Za-z]")
"""Behind an I it is a person who speaks, where capitals say nothing."""
_CANONICAL: Final = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_COUNTED: Final = (
    "Chapter", "Part", "Book", "Volume", "Act", "Scene", "Section", "Article", "Appendix", "Phase", "Type", "Class",
    "Stage", "Level", "Grade", "Table", "Figure", "Title", "Canto", "Episode", "Season", "Round", "War", "Bowl",
    "Apollo", "chapter", "part", "book", "volume", "section", "phase", "type", "class", "stage", "level", "grade",
    "number",
)  # fmt: skip
_SHOUTED: Final = tuple(word.upper() for word in _COUNTED if word[0].isupper())
_KINGS: Final = (
    "Louis", "Henry", "George", "Elizabeth", "Charles", "James", "Edward", "William", "Richard", "Paul", "Pius",
    "Francis", "Benedict", "Leo", "Philip", "Napoleon", "Nicholas", "Alexander", "Ivan", "Catherine", "Mary", "Peter",
    "Frederick", "Otto", "Ferdinand", "Gregory", "Innocent", "Clement", "Urban", "Ramses", "John", "Robert",
    "Wilhelm", "Gustav", "Constantine", "Ptolemy", "Cleopatra", "Joseph", "Rudolf", "Maximilian", "Christian",
    "Harald", "Olaf",
)  # fmt: skip
_NO_NAMES: Final = frozenset((
    "A", "An", "The", "My", "Your", "His", "Her", "Our", "Their", "This", "That", "These", "No", "New", "Another",
    "Each", "Every", "Some", "Any", "With", "Via", "By", "And", "Or", "If", "When", "Is", "Was", "Are", "Has",
    "Had", "Have", "In", "On", "At", "For", "From", "To", "Of", "As", "But", "Not", "Then", "Start", "Begin",
    "Insert", "Give", "Place", "Hang", "Check", "Remove", "Stop", "Administer", "Flush", "Push", "Change", "Use",
    "Get", "Need", "Needs", "Pull", "Put", "Run", "Connect", "Prepare", "Adjust", "Secure", "Replace", "Restart",
))  # fmt: skip
"""Behind these, IV is what drips into a vein."""
_DRIP: Final = re.compile(
    r" (?:fluids?|drips?|lines?|bags?|catheters?|access|sites?|antibiotics?|bolus|poles?|pumps?|tubing|infusions?"
    r"|medications?|meds|therapy|insertion|drugs?|contrast|saline|steroids?|iron|needles?)\b"
)
_UNKNOWNS: Final = frozenset({"number", "type", "class"})
"""Before an X these are anyone's, as a rule."""
_SURNAME: Final = re.compile(r"\. ?([A-Z][a-z]+)")


def value(numeral: str) -> int | None:
    """The number a Roman numeral stands for, or None where it is none."""
    if not numeral or not _CANONICAL.fullmatch(numeral):
        return None
    digits = [_VALUES[letter] for letter in numeral]
    return sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 0], strict=True))


def _count(found: Match) -> str | None:
    """`Part I` as part one; but "the part I like" is a person speaking, and part C comes after part B."""
    number = value(found["numeral"])
    word = found["word"]
    if found["numeral"] == "I" and (
        word[0].islower() or (word.isupper() and _GOES_ON.match(found.string, found.end()))
    ):
        return None
    if word in _UNKNOWNS and found["numeral"] == "X":
        return None
    if word in _NO_NAMES or (found["numeral"] == "IV" and _DRIP.match(found.string, found.end())):
        return None
    return None if number is None else f"{found['word']} {numbers.cardinal(str(number))}"


def _king(found: Match) -> str | None:
    """`Henry V. He ruled`; but in Robert V. Daniels it is an initial."""
    surname = _SURNAME.match(found.string, found.end())
    if len(found["numeral"]) == 1 and surname and surname[1] not in SENTENCE_BEGINS:
        return None
    number = value(found["numeral"])
    if number is None:
        return None
    return f"{found['word']} the {numbers.ordinal(str(number))}{found['of'] or ''}"


ROMAN_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"\b(?P<word>{alternatives((*_COUNTED, *_SHOUTED))}) (?P<numeral>[IVX]|[IVXLCDM]{{2,9}})\b"
        r"(?!\.[A-Z])(?!['\u2019])",
        _count,
    ),
    Rule(
        rf"\b(?P<word>{alternatives(_KINGS)}) (?P<numeral>(?!I\b(?! of\b))[IVX]{{1,6}})\b"
        r"(?P<of>['\u2019]s)?(?!['\u2019.]\w)",
        _king,
    ),
    Rule(
        r"\b(?P<word>[A-Z][a-z]+) (?P<numeral>II|III|IV|VI|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI)\b(?!['\u2019.]\w)",
        _count,
    ),
)
"""A first king is only one with "of" behind him: "Charles I of England"; "and Charles I met" is a person speaking."""
