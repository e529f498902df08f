"""Dots that end no sentence in languages other than English: short forms and ordinals.

Purpose: `goes_on`, what the segmenter asks beside `app.abbreviations`, so that no voice takes a breath behind "sig." or
"am 3.". Knows: written German, French, Spanish, Portuguese, Italian and Russian. Does not know: streams, what the short
forms say.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - Russian letters look like Latin ones
import re
from typing import Final

_SHORT_FORMS: Final = {
    "german": (
        "abb abs abt allg aufl bd bearb bes bspw bzw ca dipl ehem einschl etw evtl exkl fam fr frl geb gem ggf hg hr "
        "hrn hrsg ing inkl insb jh jhd kap max min mind mio mrd mwst nr od sek sog std tab tel tsd vgl vorm zit zzgl"
    ),
    "french": (
        "adr apr av bd boul chap dir env ex hab janv juil me mgr mlle mlles mm mme mmes oct pr réf ste tél"
    ),
    "spanish": (
        "aprox arq atte av avd avda cap cía ctra dpto dra dras drs ed ee fco gral hnos ing lic máx mín núm núms pág "
        "págs profa prol pza sr sra sras sres srta sta sto tel trad"
    ),
    "portuguese": (
        "av cap cel cia dep dra dras drs ed eng exma exmo ilma ilmo máx mín núm pág págs pç pça profa rod sr sra sras "
        "srs srta sta sto tel trav"
    ),
    "italian": (
        "amm arch avv cap card cav comm dott ed egr geom gent ing mons on pag pagg prot rag sig sigg spett tel"
    ),
    "russian": (
        "акад бул вып гл гр доц им инж кв корп мкр наб напр обл оз пер пл пос пр проф просп разд рис св см ср ст стр "
        "табл тел тов тт ул"
    ),
}  # fmt: skip
"""By what stands before their dot. What as often ends a sentence (usw., etc., руб.) is not here."""
_IN: Final = {language: frozenset(words.split()) for language, words in _SHORT_FORMS.items()}
_ENGLISH_TOO: Final = frozenset((
    "arch", "cap", "card", "cia", "comm", "dep", "dir", "ed", "eng", "env", "ex", "fam", "fr", "gem", "gent", "ing",
    "lic", "max", "me", "min", "mind", "mm", "oct", "od", "on", "pr", "rag", "rod", "sr", "std", "tab", "tel",
    "zit",
))  # fmt: skip
"""English words or short forms: read otherwise only where the language was said."""
_IN_ANY: Final = frozenset().union(*_IN.values()) - _ENGLISH_TOO
_LAST_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?\Z")
_ORDINAL: Final = re.compile(
    r"(?:\(|(?<!\bI )\b(?:am|vom|zum|zur|beim|im|ins|d(?:er|es|em|en|ie|as)|ab|bis|seit|und|oder|(?:sonn|mon|diens"
    r"|donners|frei|sams)tag,?|mittwoch,?|(?:jed|dies|welch)e[mnrs]?"
    r"|(?:[mds]?ein|ihr|unser|kein)(?:e[mnrs]?)?) )\d{1,3}\Z",
    re.IGNORECASE,
)
"""A number behind a German word that is followed by a day, a century, a birthday."""
_STREET: Final = "str"
"""Of Goethestr. 5."""
_SIR: Final = re.compile(
    r"(?:^|[.!?:;(\n\"\u00ab\u00bf\u00a1] ?|(?i:\b(?:el|al|del|un|este|su|mi|o|ao|do|no|pelo|um|meu|seu)) )Sr\Z"
)
"""The English one stands behind a name."""


def goes_on(before: str, language: str) -> bool:
    """Whether the sentence goes on behind `before` and a dot, though a capital or a number follows.

    `before` is what stands before the dot, at least the last words. In `language` "auto" only what no English reader
    would take for an end.
    """
    if language in {"german", "auto"} and _ORDINAL.search(before):
        return True
    if language == "auto" and _SIR.search(before):
        return True
    forms = _IN_ANY if language == "auto" else _IN.get(language, frozenset())
    word = _LAST_WORD.search(before)
    if word is None or (language == "auto" and word.group().isupper()):  # HR, ABS: initials, in English at least
        return False
    return word.group().lower() in forms or (language in {"german", "auto"} and word.group().endswith(_STREET))
