"""How one stream of text is read: which rules apply to its segments.

Purpose: markup, language, normalisation, and for voices with a lexicon the reduction to words and marks, in order.
Knows: the order of the steps. Does not know: segmentation, tokens, bundles.
"""

from __future__ import annotations

import re
from typing import Final

from app.addresses import speak_addresses
from app.east_asian import EAST_ASIAN, normalize_east_asian
from app.formulas import speak_formulas
from app.language import LanguageGuess
from app.markup import speak_hidden, strip_markup
from app.normalizer import normalize
from app.spans import SpannedText
from app.speakable import speakable

_DIALECT: Final = "_dialect"
"""What the names of Chinese dialects end with; all are written alike."""
_SPACES: Final = re.compile(r"\s+")
_WRAPPED_HYPHEN: Final = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")


class Reading:
    """The choices of one stream; remembers only which language it seemed to be in."""

    def __init__(self, *, language: str, normalize: bool, for_lexicon: bool) -> None:
        self._normalize = normalize
        self._for_lexicon = for_lexicon
        self.language = "english" if for_lexicon else language.lower()
        """What the caller said; "auto" where the text shows it."""
        if self.language.endswith(_DIALECT):
            self.language = "chinese"
        self._guess = LanguageGuess()

    @property
    def guesses(self) -> bool:
        """Whether the language is found from the text."""
        return self.language == "auto"

    def language_of(self, text: str) -> str:
        """What `text` is read as: what the caller said, else what it looks like; "" for a language without rules."""
        return self._guess.of(text) if self.guesses else self.language

    def read(
        self, words: SpannedText, language: str, *, torn: bool = False, whole: bool = True, opened: str = ""
    ) -> SpannedText:
        """A segment as it is spoken; or, not `whole`, a part of one that others follow.

        `opened`: marks of quotations that go on in these words (`app.lengths.open_quotations`).
        """
        if self._normalize:
            if language == "english":
                words = strip_markup(speak_hidden(speak_formulas(words)))
                words = _normalize(speak_addresses(words), opened)
            else:
                words = strip_markup(words)
                words = normalize_east_asian(words, language) if language in EAST_ASIAN else words
            words = words.sub(_WRAPPED_HYPHEN, "-").sub(_SPACES, " ").strip()
        return speakable(words, self.end_mark(torn=torn) if whole else "") if self._for_lexicon else words

    def end_mark(self, *, torn: bool) -> str:
        """What a segment ends with whose words end with no mark: nothing for voices that read text as it stands."""
        return ("," if torn else ".") if self._for_lexicon else ""


def _normalize(words: SpannedText, opened: str) -> SpannedText:
    """English words in which the quotations go on that were opened before them."""
    if not opened:
        return normalize(words)
    before = SpannedText(f"{opened} ", [words.offsets[0]] * (len(opened) + 2))
    return normalize(before + words).sub(re.compile(rf"\A{re.escape(opened)} ?"), "")
