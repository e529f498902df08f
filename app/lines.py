"""What a single line break means: that a line goes on, or that it ends.

Purpose: prose that was wrapped to a width is read on across its line breaks; a line of a list, a verse, an address or a
signature gets a comma behind it, and a quotation in a mail is read like the text it quotes. Any cutting of the input
gives the same text; what is held back is a break and one word.
Knows: who wraps prose fills a line as far as the next word allows; marks of quotations and lists. Does not know:
sentences, segments, languages.

Expects what `hygiene.Cleaner` gives: whitespace as one space, one line break or one empty line.
"""

from __future__ import annotations

import re
from typing import Final

from app.spans import SpannedText

_NARROWEST: Final = 28
"""Prose is not wrapped to fewer characters; where the next word would have fitted, the line ended of itself."""
_NARROW: Final = 48
"""The same where more speaks for it: the next line begins with a capital or a number, or the last line ended too."""
_KEPT: Final = 64
"""Characters of a line that are remembered."""
_NARROWEST_UNSPACED: Final = 32
"""Columns of Chinese or Japanese, where each line is filled to its last character; verses are shorter."""
_QUOTED: Final = re.compile(r"(?:> ?)*")
_UNSPACED: Final = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
"""Chinese and Japanese characters."""
_WIDE_MARKS: Final = "\u3001-\u301f\uff01-\uff60"
_BEGINS_UNSPACED: Final = re.compile(rf"[\u201c\u300c\u300e\u300a\uff08]?[{_UNSPACED}]")
_ENDS_UNSPACED: Final = re.compile(
    rf"(?:[{_UNSPACED}]|[{_WIDE_MARKS}{_UNSPACED}]\d+|[\u3001\uff0c\uff1b]"
    r"|(?<![\u3002\uff01\uff1f\u2026])[\u201d\u300d\u300f\u300b\uff09])\Z"
)
_WORD: Final = re.compile(rf"{_BEGINS_UNSPACED.pattern}|\S*")
_NO_LINE_OF_WORDS: Final = re.compile(r"#|```|~~~|\|")
"""A heading ends anyhow, and no comma may follow a fence."""
LIST_MARK: Final = r"[-*+\u2022\u2013\u2014]|#{1,6}|\d{1,3}[.)]"
"""What an item of a list, or a heading, begins with; a space follows."""
_LISTED: Final = re.compile(rf"(?:{LIST_MARK})\Z")
_RULE_OR_FENCE: Final = re.compile(r"[-=*_~]{3,}\Z|```|~~~")
_HYPHENED: Final = re.compile(r"[^\W\d_]-\Z")
_NUMBER_GOES_ON: Final = re.compile(r"\s\S*\d\Z")
"""A telephone number may be cut at a break; a line of one number is an item."""
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
"""Korean has spaces between its words."""
_WIDE: Final = re.compile(rf"[\uac00-\ud7a3{_WIDE_MARKS}{_UNSPACED}]")
"""What takes the place of two letters."""
_OPEN_ENDS: Final = frozenset(",;:")
_MAILED: Final = re.compile(r"@[\w.-]+>\Z")
_SPOKEN_SIGNS: Final = frozenset("%\u00b0\u20ac\u00a3\u00a2\u00b2\u00b3\u2032\u2033")
"""At the end of a line these are words: 72\u00b0."""
_CLOSERS: Final = "\"'\u201d\u2019\u00bb\u203a\u201c\u2018\u00ab\u2039)]*_`"
_OPENERS: Final = "\"'\u201c\u2018\u00ab\u2039\u201e\u201a\u00bb\u203a\u00bf\u00a1([*_`"
"""Of all languages: the mark that opens a quotation in one closes it in another."""


class Lines:
    """Looks at the line breaks of one stream."""

    def __init__(self, *, closes: bool = False) -> None:
        """`closes`: where an utterance ends behind a comma or a colon because a paragraph does, or a list begins, it
        gets a full stop, for voices to which a comma is the pause within a sentence."""
        self._closes = closes
        self._restart()

    def _restart(self) -> None:
        self._line = ""
        """The line under way: its beginning, its last characters, and how long it is if that matters."""
        self._ended = self._wrapped = False
        """Whether the line before it ended; whether a word was cut in two at a break above."""
        self._held = SpannedText.of("")
        """From a break on, while it is not known what that means."""

    def feed(self, piece: SpannedText) -> SpannedText:
        """Take the next piece; the result continues what earlier calls gave."""
        return self._read(self._held + piece, last=False)

    @property
    def held(self) -> str:
        """What was not given yet."""
        return self._held.text

    def finish(self) -> SpannedText:
        """What was held back. Lines may be fed again, as at the start."""
        rest = self._read(self._held, last=True)
        self._restart()
        return rest

    def _read(self, joined: SpannedText, *, last: bool) -> SpannedText:
        text, changes, done = joined.text, list[tuple[int, int, str]](), 0
        while (place := text.find("\n", done)) >= 0:
            self._line = _shortened(self._line + text[done:place])
            if text.startswith("\n", place + 1):
                changes += self._closed(place)
                done = place + 2
                self._line, self._ended, self._wrapped = "", False, False
                continue
            begins = _end(_QUOTED, text, place + 1)
            end = _end(_WORD, text, begins)
            if not last and end == len(text) and end - begins < _KEPT and self._matters():
                self._held = joined.slice(place, len(joined))
                return joined.slice(0, place).replaced(changes)
            changes += self._change(place, begins, text[begins:end])
            self._line, done = "", place + 1
        self._line = _shortened(self._line + text[done:])
        self._held = joined.slice(len(joined), len(joined))
        return joined.replaced(changes)

    def _change(self, place: int, begins: int, word: str) -> list[tuple[int, int, str]]:
        """What is to be changed at the break at `place`; the next line's words begin at `begins`, with `word`."""
        depth, next_depth = _depth(self._line), begins - place - 1
        if depth and not next_depth:
            return [*self._closed(place), (place, place, "\n")]
        if _LISTED.match(word) or not word or (next_depth and not depth):
            return self._closed(place)
        if self._is_full() and (_BEGINS_UNSPACED.match(word) or word[:1].isdigit()):
            return [(place, begins, "")]
        changes = []
        if self._may_end():
            self._ended = self._ends_before(word)
            changes += [(place, place, "." if _RULE_OR_FENCE.match(word) else ",")] * self._ended
        if next_depth:
            changes.append((place + 1, begins, ""))
        return changes

    def _matters(self) -> bool:
        """Whether the next word decides about the line's break."""
        return self._line.startswith(">") or bool(self._closed(0)) or self._may_end() or self._is_full()

    def _closed(self, place: int) -> list[tuple[int, int, str]]:
        """The full stop at `place`, where the line's end is the end of its utterance."""
        return [(place, place, ".")] * (self._closes and self._line[-1:] in _OPEN_ENDS)

    def _may_end(self) -> bool:
        """Whether the line is one of words, without a mark at its end."""
        words = self._line[_depth(self._line) :]
        last = words.rstrip(">" if _MAILED.search(words) else _CLOSERS)[-1:]
        self._wrapped = self._wrapped or bool(_HYPHENED.search(words))
        return (
            (last.isalnum() or last in _SPOKEN_SIGNS)
            and (last < "\u2e80" or _HANGUL.match(last) is not None)
            and not self._wrapped
            and not _NO_LINE_OF_WORDS.match(words)
        )

    def _is_full(self) -> bool:
        """Whether the line is one of a script without spaces that was wrapped."""
        return bool(_ENDS_UNSPACED.search(self._line)) and _columns(self._line) >= _NARROWEST_UNSPACED

    def _ends_before(self, word: str) -> bool:
        first = word.lstrip(_OPENERS)[:1]
        if _RULE_OR_FENCE.match(word):
            return True
        if first.isdigit() and _NUMBER_GOES_ON.search(self._line):
            return False
        strong = self._ended or first.isupper() or first.isdigit()
        length = _columns(self._line) - _depth(self._line) + 1 + _columns(word)
        return first.isalnum() and length <= (_NARROW if strong else _NARROWEST)


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Where a match at `place` ends; none is longer than what is remembered of a line."""
    found = pattern.match(text, place, place + _KEPT)
    return found.end() if found else place


def _columns(text: str) -> int:
    """How wide a text is."""
    return len(text) + len(_WIDE.findall(text))


def _depth(line: str) -> int:
    """How many characters at the beginning of a line mark it as quoted."""
    return _end(_QUOTED, line, 0)


def _shortened(line: str) -> str:
    """The beginning and the end of a line; too long to matter if it was too long."""
    return line if len(line) <= _KEPT else line[:8] + line[8 - _KEPT :]
