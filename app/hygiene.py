"""Cleaning of raw text, piece by piece, before anything else looks at it.

Purpose: what comes out holds only letters, digits, marks, punctuation, symbols a reader would speak, and single spaces
or line breaks; no control string of the tokenizer survives. Any cutting of the input into pieces gives the same text.
What it remembers between pieces is bounded: one character with its marks, the beginning of a control string, one run of
whitespace or of one punctuation character (kept in its collapsed form).
Knows: Unicode, terminal escapes, chat markers. Does not know: languages, sentences, numbers.

Kept out: control characters, NUL, zero-width and bidi characters, lone surrogates, private use, terminal escapes,
control strings, emoji and dingbats (dropped silently: spoken names of emoji disturb more than they tell).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from app.spans import SpannedText

_MAX_MARKS: Final = 8
"""Combining marks kept on one base character; more is a prank, not writing."""

_ESCAPE: Final = r"\x1b\[[0-9;:?]{0,32}[@-~]|\x1b[@-Z\\^_]"
_MARKER: Final = r"<\|[^|<>\s]{1,48}\|>"
_UNFINISHED: Final = re.compile(r"<(?:\|(?:[^|<>\s]{1,48}\|?)?)?|\x1b(?:\[[0-9;:?]{0,32})?")
"""Beginnings of `_ESCAPE` and `_MARKER` that the next characters may complete."""

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1a\x7f-\x84\x86-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bcaf"
    "\U0001d173-\U0001d17a\U000e0000-\U0010ffff]+"
)
_PICTURE: Final = re.compile(
    "[\x1b\u20e3\u20e0\u20dd-\u20df\u2195-\u21cf\u21d5-\u21ff\u2300-\u23ff\u2400-\u245f\u2500-\u266c\u2670-\u27bf\u2800-\u28ff\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f0ff\U0001f16c-\U0001f1ff\U0001f200-\U0001faff]+"
)
"""Emoji, dingbats, box drawing, technical signs, and an escape character that began nothing."""
_RUN: Final = re.compile(r"[\s\x1c-\x1f]+|([^\w\s])\1{3,}")
_LAST_RUN: Final = re.compile(r"(?:\s+|([^\w\s])\1*)\Z")
_RETURN_AND_FEED: Final = re.compile("\r\n")
_BREAKS: Final = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Cleaner:
    """Cleans one stream of text. `control_strings` are the control tokens of the tokenizer."""

    def __init__(self, control_strings: Iterable[str] = ()) -> None:
        listed = sorted({word for word in control_strings if word.strip()}, key=len, reverse=True)
        self._listed = tuple(listed)
        self._controls = re.compile("|".join([_ESCAPE, *map(re.escape, listed), _MARKER]))
        self._openers = re.compile(f"[\x1b<{''.join(re.escape(word[0]) for word in listed)}]")
        self._reach = max([64, *map(len, listed)])
        self._given = 0
        self._cluster = self._unfinished = self._run = SpannedText.of("")
        self._started = self._returned = False

    def feed(self, text: str) -> SpannedText:
        """Clean the next piece; the result continues what earlier calls gave."""
        raw = SpannedText.of(text, self._given)
        self._given += len(text)
        return self._spaced(self._uncontrolled(self._composed(self._one_break(raw.sub(_INVISIBLE, "")))))

    @property
    def held(self) -> str:
        """What was not given yet, nearly as it will be."""
        return self._run.text + self._unfinished.text + self._cluster.text

    def finish(self) -> SpannedText:
        """What is left at the end of the stream. The cleaner may be fed again: offsets go on."""
        end = SpannedText.of("", self._given)
        composed = _compose(self._cluster + end)
        cleared = (self._unfinished + composed).sub(self._controls, " ")
        spaced = self._spaced(cleared)
        rest = self._run if self._run.text.strip() else end
        self._cluster = self._unfinished = self._run = end
        self._started = self._returned = False
        return spaced + rest

    def _one_break(self, piece: SpannedText) -> SpannedText:
        """A carriage return and its line feed are one line break, also where a cut falls between them."""
        if not piece.text:
            return piece
        continued = self._returned and piece.text[0] == "\n"
        self._returned = piece.text[-1] == "\r"
        return piece.slice(1 if continued else 0, len(piece)).sub(_RETURN_AND_FEED, "\r")

    def _composed(self, piece: SpannedText) -> SpannedText:
        """NFC, holding back the last character: a mark may follow."""
        joined = self._cluster + piece
        start = len(joined) - 1
        while start > 0 and _extends(joined.text[start]):
            start -= 1
        start = max(start, 0)
        self._cluster = joined.slice(start, min(len(joined), start + 1 + _MAX_MARKS))
        return _compose(joined.slice(0, start))

    def _uncontrolled(self, piece: SpannedText) -> SpannedText:
        """Control strings become a space (so that removing one cannot make another), holding back beginnings of one."""
        joined = self._unfinished + piece
        text = joined.text
        place = max(0, len(text) - self._reach)
        while opener := self._openers.search(text, place):
            place = opener.start()
            if self._may_grow(text[place:]):
                break
            whole = self._controls.match(text, place)
            place = whole.end() if whole else place + 1
        else:
            place = len(text)
        self._unfinished = joined.slice(place, len(joined))
        return joined.slice(0, place).sub(self._controls, " ")

    def _may_grow(self, tail: str) -> bool:
        if _UNFINISHED.fullmatch(tail):
            return True
        return any(len(tail) < len(word) and word.startswith(tail) for word in self._listed)

    def _spaced(self, piece: SpannedText) -> SpannedText:
        """Pictures out, runs collapsed, holding back the last run: its length and kind show at the next character."""
        joined = (self._run + piece.sub(_PICTURE, " ")).sub(_RUN, _collapse)
        if not self._started:
            joined = joined.slice(len(joined) - len(joined.text.lstrip()), len(joined))
            self._started = bool(joined.text)
        last = _LAST_RUN.search(joined.text, max(0, len(joined) - 4))
        cut = last.start() if last else len(joined)
        self._run = joined.slice(cut, len(joined))
        return joined.slice(0, cut)


def _collapse(run: re.Match[str]) -> str:
    """At most three of one sign; whitespace as a space, a line break, or an empty line."""
    if run.group(1):
        return run.group(1) * 3
    breaks = len(_BREAKS.findall(run.group()))
    return "\n\n" if breaks > 1 else "\n" if breaks else " "


def _extends(character: str) -> bool:
    """Whether a character belongs to the one before it: combining marks, Hangul vowels and tails."""
    if character < "\u0300":
        return False
    return "\u1160" <= character <= "\u11ff" or unicodedata.category(character)[0] == "M"


def _compose(piece: SpannedText) -> SpannedText:
    """NFC, at most `_MAX_MARKS` marks to a character."""
    text = piece.text
    if text.isascii():
        return piece
    parts: list[str] = []
    offsets: list[int] = []
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text) and _extends(text[place]):
            continue
        cluster = text[start:place]
        if len(cluster) > 1 or not unicodedata.is_normalized("NFC", cluster):
            cluster = unicodedata.normalize("NFC", cluster[: 1 + _MAX_MARKS])
        parts.append(cluster)
        offsets += [piece.offsets[start]] * len(cluster)
        start = place
    offsets.append(piece.offsets[len(text)])
    return SpannedText("".join(parts), offsets)
