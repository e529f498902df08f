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
        "the of and to is it that was for on are with as his they at be this from have or by had not but what all were "
        "we when your can said there use each which she do how their if will up about out many then them these so her "
        "would make him into has two more go see no way could people my than been who its now find you i"
    )
)
_FOREIGN: Final = frozenset(
    _WORD.findall(
        "der die das und ist nicht ein eine mit den dem von zu auf ich sie wir auch le la les des est et une un dans "
        "pour que qui pas il elle nous vous el los las y es por con para una del se su di che e della per non sono o "
        "os da em um uma com na mais"
    )
)
_COMMON: Final = _ENGLISH & _FOREIGN
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_ACCENTED: Final = re.compile("[\u00c0-\u024f]")


def looks_english(text: str) -> bool:
    """True unless the text speaks against it: other scripts, or more small words of another language."""
    if any(
        character >= "\u0370" and character.isalpha() and not "\u2000" <= character <= "\u2bff" for character in text
    ):
        return sum(c.isascii() and c.isalpha() for c in text) > sum(c >= "\u0370" and c.isalpha() for c in text)
    words = {word.lower() for word in _WORD.findall(text)}
    english = len(words & _ENGLISH - _COMMON)
    foreign = len(words & _FOREIGN - _COMMON) + (1 if _ACCENTED.search(text) else 0)
    return english >= foreign


def spoken_language(text: str) -> str:
    """ "chinese", "japanese", "english", or "" for what is none of these."""
    if _KANA.search(text):
        return "japanese"
    if _HAN.search(text):
        return "" if _HANGUL.search(text) else "chinese"
    return "english" if looks_english(text) else ""
