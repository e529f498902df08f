"""Written Chinese and Japanese become spoken: numbers, dates, times, money, units.

Purpose: the grammars of wetext behind the same door as our English rules, with their alignment kept as spans. They are
loaded (0.2 s) when the first text with something to read comes, and work offline.
Knows: wetext. Does not know: other languages, markup, streams. Segments are short: the grammars' time grows faster than
the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from app.spans import SpannedText

if TYPE_CHECKING:
    from wetext import Normalizer

EAST_ASIAN: Final = {"chinese": "zh", "japanese": "ja"}
"""Languages that are read here, and the grammars' names for them."""
_NEEDED: Final = re.compile(r"\d|[%\u2030\u2103\u2109\u00b0$\uffe5\u00a5\u20ac\u00a3+=\u00d7\u00f7<>]")


@lru_cache(maxsize=len(EAST_ASIAN))
def _grammar(language: str) -> Normalizer:
    from wetext import Normalizer

    return Normalizer(lang=EAST_ASIAN[language], operator="tn")


def normalize_east_asian(text: SpannedText, language: str) -> SpannedText:
    """Text as it is spoken in `language`; the same object where nothing is to be done."""
    if not _NEEDED.search(text.text):
        return text
    grammar = _grammar(language)
    try:
        found = grammar.normalize_with_mapping(text.text)
    except (
        RuntimeError,
        ValueError,
        AssertionError,
        LookupError,
    ):  # the library's ways to say that it cannot read or align a text
        return text
    if found.input_text != text.text:
        return text.replaced([(0, len(text), str(found.output_text))])
    changes = [(m.input_start, m.input_end, m.output_text) for m in found.mappings if m.input_text != m.output_text]
    return text.replaced(changes)
