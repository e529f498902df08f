"""What a normalisation rule is, and the parts rules are made of.

Purpose: shared by the modules that hold the rules of English.
Knows: regular expressions, abbreviations at a sentence's end. Does not know: what is being normalised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from app.abbreviations import TIME_ZONES, ends_sentence
from app.spans import SpannedText

Match = re.Match[str]
NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
"""A count or a decimal, with or without commas between thousands."""
SIGN: Final = r"(?P<sign>(?<![\w.)])[-\u2212])?"
"""Of a number that may be below zero."""
_ARTICLE: Final = re.compile(r"\b[Aa]n? $")
_BETWEEN: Final = re.compile(r"\b[Bb]etween $")
_FOLLOWER: Final = re.compile(r"\w")
_GOES_ON: Final = re.compile(r"\s*[-\u2013\u2014,;:/&+=]")
_NEXT_WORD: Final = re.compile(r"[\"'\u201d\u2019)\s]*(\w+)")


@dataclass(frozen=True)
class Rule:
    """A way of writing and what is said for it. A function's None leaves the match as it is."""

    expression: str
    spoken: str | Callable[[Match], str | None]
    any_case: bool = False
    """Whether upper and lower case are the same."""
    needs: Collection[str] = ()
    """Signs or words one of which every match has in it or beside it: said of expressions that are slow to compile."""

    def apply(self, text: SpannedText) -> SpannedText:
        """Text with every match spoken; the same object where there is none."""
        if self.needs and not any(sign in text.text for sign in self.needs):
            return text
        return text.sub(self.pattern, self.spoken)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled at its first use."""
        return re.compile(self.expression, re.IGNORECASE if self.any_case else 0)


def alternatives(words: Iterable[str]) -> str:
    """Any of `words`, longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


def kept_dot(found: Match) -> str:
    """The dot at the end of a match if it ends the sentence too, else nothing."""
    written = found.group()
    if not written.endswith(".") or found.string.startswith(",", found.end()):
        return ""
    follower = _FOLLOWER.search(found.string, found.end())
    return "." if follower is None or ends_sentence(written[:-1], follower.group()) else ""


def last_dot(found: Match) -> str:
    """The dot of "p.m." or "Fri." is the sentence's own where nothing or a capital follows, but for a time zone."""
    follower = _NEXT_WORD.match(found.string, found.end())
    if not found.group().endswith(".") or (follower and follower.group(1) in TIME_ZONES):
        return ""
    if _GOES_ON.match(found.string, found.end()):
        return ""
    return "." if follower is None or follower.group(1)[0].isupper() else ""


def between(found: Match) -> str:
    """The word between the ends of a range: "and" after "between", else "to"."""
    return "and" if _BETWEEN.search(found.string, 0, found.start()) else "to"


def has_article(found: Match) -> bool:
    """Whether "a" stands before a measure, which may then describe a thing: a five kilometer run."""
    return _ARTICLE.search(found.string, 0, found.start()) is not None


def cased(words: str, model: str) -> str:
    """`words` with a capital if `model` has one."""
    return words[0].upper() + words[1:] if model[0].isupper() else words
