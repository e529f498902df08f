"""Which language a text is in, when nobody has said.

Purpose: with language "auto" the normaliser must not read a German "5 km" in English, or a Chinese one either.
Knows: scripts, small words of a few languages. Does not know: anything about meaning.
"""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")
_ENGLISH: Final = frozenset(
    _WORD.findall(
        "the of and to is it that for are with his they at be this from have or by had not but what were we when "
        "your can said there use each which she how their if will up about out many then them these her would "
        "make him into has two more go see way could people my than been who its now find you i"
    )
)
_FOREIGN: Final = frozenset(
    _WORD.findall(
        "der das und ist nicht ein eine mit den dem von zu auf ich sie wir auch le la les des est et une un dans "
        "que qui pas il elle nous vous el los las es por para una del se su di che della sono "
        "os da em um uma com na mais"
    )
)
_ENGLISH_ONLY: Final = _ENGLISH - _FOREIGN
_FOREIGN_ONLY: Final = _FOREIGN - _ENGLISH
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_ACCENTED: Final = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]")


def evidence(text: str) -> int:
    """How much speaks for English (positive) or for another language written in Latin letters (negative)."""
    words = {word.lower() for word in _WORD.findall(text)}
    return len(words & _ENGLISH_ONLY) - len(words & _FOREIGN_ONLY) - (1 if _ACCENTED.search(text) else 0)


class LanguageGuess:
    """Guesses the language of one stream's segments; one that tells little is taken for what the last one was."""

    def __init__(self) -> None:
        self._english: bool | None = None

    def of(self, text: str) -> str:
        """ "chinese", "japanese", "english", or "" for what is none of these."""
        if _KANA.search(text):
            return "japanese"
        if _HAN.search(text):
            return "" if _HANGUL.search(text) else "chinese"
        others = sum(character >= "\u0370" and character.isalpha() for character in text)
        if others > sum(character.isascii() and character.isalpha() for character in text):
            return ""
        found = evidence(text)
        if found and (self._english is None or abs(found) > 1):
            self._english = found > 0
        return "" if self._english is False else "english"
