"""Normalised English reduced to what a voice with a lexicon reads.

Purpose: only words of plain letters and the marks `, . ? ! ; :` come out, ending with a mark.
Knows: letters, punctuation, digits one by one (numbers are words by now, if they were to be). Does not know: phones,
initials (the lexicon's keeper decides what is spelled).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from app import numbers
from app.spans import SpannedText

_PLAIN: Final = re.compile(r"[A-Z]?[a-z]+(?:(?:'|,? )[a-z]+)*[.?!]?\Z")
_UNDECOMPOSED: Final = {
    "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00fe": "th",
    "\u00f0": "th", "\u0131": "i", "\u017f": "s",
}  # fmt: skip
_APOSTROPHE: Final = re.compile("(?<=[^\\W_])[\u2018\u2019\u02bb\u02bc\u2032\u00b4`](?=[^\\W_])")
_SHORT_END: Final = re.compile(r"\.(?=[)\]]*,)")
"""Before a comma a dot ends an abbreviation, no sentence."""
_DOTS: Final = re.compile("\\.{2,}|\u2026")
_LAST_DOTS: Final = re.compile("(?:\\.{2,}|\u2026)(?=[\\s'\"\u201d\u2019)\\]]*\\Z)")
_OTHER: Final = re.compile(r"[^a-zA-Z',.?!;:\s]")
_LOOSE_QUOTE: Final = re.compile(r"(?<![a-zA-Z])'+|'+(?![a-zA-Z])")
_LETTER_A: Final = re.compile(r"(?<=[a-z] )A(?![\w'])")
"""In the middle of a sentence a capital A is the letter, not the article."""
_MORNING: Final = re.compile(r"(?<=e |o |r |x |t |n |y )AM\b")
"""After a number word: the time of day, not the verb."""
_MARKS: Final = re.compile(r"\s*[,.?!;:](?:[\s,.?!;:])*")
_SPACES: Final = re.compile(r"\s+")
_AFTER_BRACKET: Final = " '\"\u201d\u2019"
_LEADING: Final = re.compile(r"\A[\s,.?!;:]+")
_BREAKING: Final = frozenset("()[]{}\u2014\u2013\u2015\u3001\uff0c\uff1b\uff1a|\u00ab\u00bb")
_ENDING: Final = {"\u3002": ".", "\uff01": "!", "\uff1f": "?", "\uff61": "."}


def speakable(text: SpannedText, end: str = ".") -> SpannedText:
    """Words and marks only, ending with a mark (`end` where there is none, if it is one); empty if no word is in it."""
    closed = text.text.rstrip(_AFTER_BRACKET).endswith((")", "]", "}"))
    if not _PLAIN.match(text.text):
        text = (
            text.sub(_APOSTROPHE, "'")
            .sub(_LAST_DOTS, ".")
            .sub(_DOTS, ", ")
            .sub(_SHORT_END, "")
            .sub(_OTHER, _plain)
            .sub(_LOOSE_QUOTE, "")
        )
        text = text.sub(_LETTER_A, "ay").sub(_MORNING, "ay em")
        text = text.sub(_MARKS, _strongest).sub(_SPACES, " ").sub(_LEADING, "").strip()
    if closed and end == "." and text.text.endswith(","):  # the bracket's pause would leave the end open
        text = text.slice(0, len(text) - 1)
    if end and text.text and text.text[-1] not in ",.?!;:":
        text = SpannedText(text.text + end, [*text.offsets, text.offsets[len(text)]])
    return text


def _plain(found: re.Match[str]) -> str:
    """What stands for a character that is neither a plain letter nor a plain mark."""
    character = found.group()
    if character.isalpha():
        return _latin(character)
    if character.isdecimal():
        return f" {numbers.spelled(character)} "
    if character == "-":
        text, place = found.string, found.start()
        joined = text[place - 1 : place].isalnum() and text[place + 1 : place + 2].isalnum()
        return " " if joined else ", "
    return ", " if character in _BREAKING else _ENDING.get(character, " ")


def _latin(letter: str) -> str:
    """A letter without its accents; a Greek one by its name; nothing for other scripts."""
    if letter.lower() in _UNDECOMPOSED:
        plain = _UNDECOMPOSED[letter.lower()]
        return plain.capitalize() if letter.isupper() else plain
    base = unicodedata.normalize("NFKD", letter)
    plain = "".join(part for part in base if part.isascii() and part.isalpha())
    if plain:
        return plain
    greek = re.fullmatch(r"GREEK (?:SMALL|CAPITAL) LETTER ([A-Z]+)(?: WITH .*)?", unicodedata.name(base[0], ""))
    return f" {greek.group(1).lower()} " if greek else " "


def _strongest(found: re.Match[str]) -> str:
    """One mark for a run of them."""
    return next(mark for mark in "?!.;:," if mark in found.group()) + " "
