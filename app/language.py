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
        "os da em um uma com na mais "
        "hallo guten heute gestern uhr wie geht kein keine ja danke bitte bei nach oder aber noch nur schon sehr habe "
        "haben wird werden wurde kann kostet mein meine dein sein ihr euch uns jahre vom zum beim montag dienstag "
        "mittwoch donnerstag freitag samstag sonntag januar februar juni juli oktober dezember kapitel zwei drei vier "
        "je cette ces aux bonjour bonsoir merci beaucoup oui avec mais donc sont suis ans jours demain hier chez deux "
        "trois quatre lundi mardi mercredi jeudi vendredi samedi dimanche janvier juin juillet octobre chapitre "
        "hola buenos buenas gracias tengo tiene pero muy cuando donde mide lunes martes jueves viernes enero febrero "
        "marzo junio agosto septiembre octubre noviembre diciembre hace hasta desde "
        "ciao grazie il gli nel nella dalla degli anche molto buongiorno oggi domani ieri quando questo questa "
        "alle anni ogni gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
        "tenho bom obrigado obrigada tudo bem isso ele ela eles seu sua meu minha fica daqui ontem hoje muito mas "
        "quero janeiro fevereiro abril maio junho julho setembro outubro novembro dezembro custa pagou anos"
    )
)
_ENGLISH_ONLY: Final = _ENGLISH - _FOREIGN
_FOREIGN_ONLY: Final = _FOREIGN - _ENGLISH
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HAN: Final = re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_FOREIGN_SIGN: Final = re.compile(
    "[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u00bf\u00a1\u201e]"
    "|\\b(?:[JLDCNSjldcns]|[Qq]u)['\u2019][aeiouh][a-z]"  # j'ai, l'eau, c'est
    "|(?<![\\d,])\\d[\\d.]*,\\d\\d?(?![\\d,])|\\d\\.\\d\\d?\\.\\d{4}|\\b\\d\\d?h\\d\\d\\b"  # 3,50, 17.05.2026, 14h30
)
_NAME: Final = re.compile(r"\b(?:Los|Las|El|La|Le|Les|Des|Du) (?=[A-Z])")
"""Los Angeles, El Paso: the article of a name."""
_INITIALS: Final = re.compile("[A-Z]{2,}")
"""Of a state, LA or IL."""
_CHINESE_ONLY: Final = re.compile("[你您她它们們这這吗嗎呢吧啊很说說时个对为发过开问间让从还两东车见长门是我他]")
"""In a text that was Japanese, these show that it is no longer."""


def evidence(text: str) -> int:
    """How much speaks for English (positive) or for another language written in Latin letters (negative)."""
    shouted = text.isupper()
    words = {word.lower() for word in _WORD.findall(_NAME.sub("", text)) if shouted or not _INITIALS.fullmatch(word)}
    return len(words & _ENGLISH_ONLY) - len(words & _FOREIGN_ONLY) - (1 if _FOREIGN_SIGN.search(text) else 0)


class LanguageGuess:
    """Guesses the language of one stream's segments; one that tells little is taken for what the last one was."""

    def __init__(self) -> None:
        self._english: bool | None = None
        self._japanese = False

    def of(self, text: str) -> str:
        """ "chinese", "japanese", "english", or "" for what is none of these."""
        if _KANA.search(text):
            self._japanese = True
            return "japanese"
        if _HAN.search(text):
            self._japanese = self._japanese and not _CHINESE_ONLY.search(text)
            return "" if _HANGUL.search(text) else "japanese" if self._japanese else "chinese"
        others = sum(character >= "\u0370" and character.isalpha() for character in text)
        if others > sum(character.isascii() and character.isalpha() for character in text):
            return ""
        found = evidence(text)
        if found and (self._english is None or abs(found) > 1):
            self._english = found > 0
        return "" if self._english is False else "english"
