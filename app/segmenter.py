"""Cutting a stream of clean text into segments, each of which becomes one utterance.

Purpose: `feed` gives every segment that later text cannot change, `finish` gives the rest. Any cutting of the input
gives the same segments; joined, they are the input up to whitespace.
A segment ends at the end of a sentence. Short sentences wait for the next; a sentence too long for one utterance is cut
at a sentence end that was passed over, else at a clause, else between words, else where the bound falls.
What is remembered is less than two bounds of text; each character is looked at a fixed number of times.
Knows: sentence ends (Latin and CJK), abbreviations, list and heading marks, how long text takes to speak, roughly.
Does not know: normalisation, tokens, sound.

Expects what `hygiene.Cleaner` gives: no control characters, whitespace as one space, one line break or one empty line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.abbreviations import TIME_ZONES, ends_sentence
from app.certain import certain_length
from app.foreign_dots import goes_on
from app.lines import LIST_MARK
from app.spans import SpannedText

_ADDRESS: Final = 1000
"""Longest web address that is kept in one piece; its path is hardly spoken, so it weighs `_ADDRESS_WEIGHT` in all."""
_ADDRESS_WEIGHT: Final = 25
_CODE: Final = re.compile(r"(?<!\d)\d{4}-\d\d-\d\dT\Z|(?<![\w.-])[\da-f]{8}-[\da-f]{4}-\Z")
"""A timestamp, of whose time and zone little is spoken; or a UUID, which is spelled if it is in one piece."""
_LOOK_AHEAD: Final = 24
"""Characters after a dot that may decide about it; what is not decided by then goes on."""
_TERMINATORS: Final = frozenset(".!?\u2026")
_WIDE_TERMINATORS: Final = frozenset("\u3002\uff01\uff1f\uff61\uff0e")
_CLOSERS: Final = "\"'\u201d\u2019\u00bb\u203a)]}*_`\u300d\u300f\uff09\u3011\u300b\u3009\u3015"
_CLOSED: Final = rf"[{re.escape(_CLOSERS)}]|[\u201c\u2018\u00ab\u2039](?!\w)|[^\S\r\n][\u00bb\u203a](?!\w)"
"""Germans close a quotation with a mark that opens one elsewhere, the French put a space before theirs."""
_AFTER_END: Final = re.compile(rf"(?:[.!?\u2026\u3002\uff01\uff1f\uff61\uff0e]|{_CLOSED})*")
_LAST_OF_LINE: Final = re.compile(rf"[.!?\u2026\u3002\uff01\uff1f](?:{_CLOSED})*[^\S\r\n]*[\r\n]\s*\Z")
_OPENING: Final = re.compile(r"\s+[\"'\u201c\u2018\u00ab(\[{*_`\u00bf\u00a1\u2014\u2013-]*\s?")
_LAST_WORD: Final = re.compile(r"[^\W_\u2e80-\uffff]+(?:[.'\u2019][^\W_\u2e80-\uffff]+)*\Z")
"""No short form is written in Chinese, Japanese or Korean, but one may follow them without a space."""
_LIST_MARK: Final = re.compile(rf"(?:>|{LIST_MARK})\s|\|")
"""Behind a line break: an item of a list, a line of a quotation, a row of a table."""
_LIST_MARK_BEGINNING: Final = re.compile(r"(?:[-*+\u2022\u2013\u2014>]|#{1,6}|\d{1,3}[.)]?)?")
_HALF_DAY: Final = re.compile(r"(?<!\w)[ap]\.m\Z", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_ZONE: Final = max(map(len, TIME_ZONES))
_NUMBERED: Final = re.compile(r"(?:\A|\n)\d{1,3}\Z")
_PHRASE_WORDS: Final = frozenset((
    "and", "or", "but", "that", "which", "who", "whose", "when", "where", "while", "because", "if", "unless", "until",
    "after", "before", "since", "so", "for", "with", "without", "from", "into", "to", "in", "on", "at", "by", "through",
))  # fmt: skip
"""Before these a long English sentence takes a breath most naturally."""
_CLAUSE: Final = frozenset(",;:\u2014\u2013)\u2026")
_CLAUSE_END: Final = re.compile(r"(?!(?<=\d)[,)]\s\d|(?<=\d\s)\u2013).\s|[,;:][\u2e80-\uffff]")
"""Not where what is read together goes on: "May 5, 2012", "(415) 555", "Mar. 3 \u2013 Apr. 5"."""
_AFTER_NUMBER: Final = re.compile(r"\d[,)]?\Z")
_WIDE_CLAUSE: Final = frozenset("\uff0c\uff1b\uff1a\u3001")
_GOES_ON_UNSPACED: Final = re.compile(
    "[\uac00-\ud7ff\u3005\u30fc\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087\u308e\uff41-\uff5a\uff9e\uff9f]"
)
"""Hangul, whose words have spaces between them; small kana, and signs that lengthen or repeat."""
_KATAKANA: Final = re.compile("[\u30a1-\u30ff\uff66-\uff9f]")
_HIRAGANA: Final = re.compile("[\u3041-\u309f]")
_NAME_WITH_PARTICLE: Final = re.compile("[A-Za-z]\\.[\u3041-\u309f\uac00-\ud7a3]")
"""The end of a foreign short form, and what Japanese or Korean hangs on it."""


def spoken_weight(character: str) -> int:
    """About how many letters of English take as long to say as this character."""
    if character.isdigit() or character in "$%&@+=\u20ac\u00a3\u00b0":
        return 6
    return 1 if character < "\u1100" or "\u2000" <= character < "\u2e80" else 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentBounds:
    """Lengths of segments in letters; 15 letters are about a second of speech."""

    longest: int = 180
    """No segment is longer: about 12 s of speech."""
    shortest: int = 24
    """A shorter sentence is spoken together with the next one."""
    forward: bool = False
    """Never cut before words that were passed, so that they can be given out while the segment is open."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one utterance speaks."""

    words: SpannedText
    torn: bool = False
    """Whether it was cut between words or behind a bracket, because it had no better end: its voice should not fall
    there."""


class Segmenter:
    """Segments one stream."""

    def __init__(self, bounds: SegmentBounds | None = None, *, language: str = "auto") -> None:
        """`language` of the text, in small letters; "auto" where nobody said it."""
        self._bounds = bounds or SegmentBounds()
        self._language = language
        self._pending = SpannedText.of("")
        self._restart()

    def _restart(self) -> None:
        """Begin to look at the pending text as a new segment."""
        self._torn = False
        self._scan = self._weight = self._address = 0
        self._sentence = self._clause = self._joint = self._space = self._gap = 0
        """Last cuts so far (0: none): after a short sentence, after a clause, before a word that begins a phrase,
        between words, at any space."""

    def ends_with(self, more: str) -> bool:
        """Whether, with `more` behind the text under way, a sentence has ended and its line too."""
        text = self._pending.text[-_LOOK_AHEAD:] + more
        if not (found := _LAST_OF_LINE.search(text)):
            return False
        before = text[: found.start()]
        if found.group()[0] != "." or before[-1:] in _TERMINATORS:
            return True
        return self._ends_at_dot(before, "A")

    def open_text(self) -> SpannedText:
        """The segment under way as far as it was looked at. With `SegmentBounds.forward` all of it but its last word is
        certain to stay in it."""
        seen = self._pending.slice(0, self._scan)
        return seen.slice(len(seen) - len(seen.text.lstrip()), len(seen))

    def feed(self, piece: SpannedText) -> list[Segment]:
        """Take the next piece; give the segments that are now certain."""
        self._pending += piece
        return self._take(last=False)

    def finish(self) -> list[Segment]:
        """The text is complete: give the rest. The segmenter may be fed again, as at the start."""
        segments = self._take(last=True)
        rest = self._pending.strip()
        self._pending = self._pending.slice(len(self._pending), len(self._pending))
        self._restart()
        return [*segments, Segment(rest)] if rest.text else segments

    def _take(self, *, last: bool) -> list[Segment]:
        segments: list[Segment] = []
        start = 0
        text = self._pending.text
        while (cut := self._next_cut(text, start, last)) is not None:
            words = self._pending.slice(start, cut).strip()
            if words.text:
                segments.append(Segment(words, torn=self._torn))
            start = cut
            self._restart()
        self._pending = self._pending.slice(start, len(text))
        return segments

    def _next_cut(self, text: str, start: int, last: bool) -> int | None:
        """Where the segment that begins at `start` ends, or None while that is open; scanning goes on later."""
        for place in range(start + self._scan, len(text)):
            character = text[place]
            mark = not character.isalnum()
            if mark and not last and len(text) - place <= _LOOK_AHEAD and self._is_open(text, place):
                self._scan = place - start
                return None
            weight = self._weight + self._weigh(text, place)
            if weight > self._bounds.longest and not character.isspace() and self._weight:
                return start + self._best_cut(text, start, place - start)
            if mark:
                cut = self._judge(text, start, place)
                if cut is not None:
                    return cut
            elif character >= "\u2e80" and place > start:
                self._judge_unspaced(text, start, place)
            self._weight = weight
        self._scan = max(len(text) - start, 0)
        return None

    def _weigh(self, text: str, place: int) -> int:
        """Weight of the character at `place`, which is inside a web address until the next space."""
        character = text[place]
        if character.isspace():
            self._address = 0
        elif self._address:
            self._address -= 1
            return 0
        elif character == "/" and text[max(0, place - 2) : place] == ":/":
            self._address = _ADDRESS
            return _ADDRESS_WEIGHT
        elif character in "T-" and _CODE.search(text, max(0, place - 13), place + 1):
            self._address = _LOOK_AHEAD
            return _ADDRESS_WEIGHT
        return spoken_weight(character)

    def _is_open(self, text: str, place: int) -> bool:
        """Whether what follows `place` does not yet say what the character there means."""
        character = text[place]
        if character in _TERMINATORS or character in _WIDE_TERMINATORS:
            end = _end_of(_AFTER_END, text, place + 1)
            opening = _OPENING.match(text, end, place + _LOOK_AHEAD)
            shown = len(text) - (opening.end() if opening else end)
            return shown == 0 or (
                opening is not None and shown <= _ZONE and bool(_HALF_DAY.search(text[max(0, place - 4) : place]))
            )
        if character == "\n":
            return bool(_LIST_MARK_BEGINNING.fullmatch(text, place + 1))
        shown = len(text) - place - 1
        return character in _CLAUSE and (not shown or (shown == 1 and bool(_AFTER_NUMBER.search(text, 0, place + 1))))

    def _judge(self, text: str, start: int, place: int) -> int | None:
        """Remember the character at `place` as a possible cut, or give the cut if the segment ends there."""
        character = text[place]
        if character in _TERMINATORS or character in _WIDE_TERMINATORS:
            end = self._sentence_end(text, start, place)
            if end is None:
                return None
            if self._weight + 1 >= self._bounds.shortest:
                return end
            self._sentence = max(self._sentence, end - start)
        elif character == "\n":
            if text[start] == "#" or text.startswith("\n", place + 1) or self._lists(text, start, place):
                return place + 1
            self._space = self._gap = place - start
        elif character == " ":
            if text[start + self._gap + 1 : place] in _PHRASE_WORDS and not text[start + self._gap - 1].isdigit():
                self._joint = self._gap
            self._gap = place - start
            if not _AFTER_NUMBER.search(text, max(start, place - 2), place):
                self._space = place - start
        elif character in _WIDE_CLAUSE or (character in _CLAUSE and _CLAUSE_END.match(text, place)):
            self._clause = place + 1 - start
            if self._bounds.forward and self._weight + 1 >= self._bounds.longest * 2 // 3:
                self._torn = character == ")"
                return place + 1
        return None

    def _lists(self, text: str, start: int, place: int) -> bool:
        """Whether an item begins behind the break at `place`; a wrapped "am 3. Oktober" is none."""
        before = text[max(start, place - _LOOK_AHEAD) : place]
        counted = text[place + 1 : place + 2].isdigit() and goes_on(f"{before} 1", self._language)
        return not counted and _LIST_MARK.match(text, place + 1) is not None

    def _judge_unspaced(self, text: str, start: int, place: int) -> None:
        """Remember the place before a Chinese or Japanese character as a possible cut, if a word may begin there."""
        before, character = text[place - 1], text[place]
        if _GOES_ON_UNSPACED.match(character) or before.isdigit() or (before.isalnum() and before < "\u2e80"):
            return
        if _KATAKANA.match(before) and _KATAKANA.match(character):
            return
        self._space = place - start
        if _HIRAGANA.match(before) and not _HIRAGANA.match(character):
            self._joint = place - start

    def _sentence_end(self, text: str, start: int, place: int) -> int | None:
        """The end of the sentence (closing quotes included) if the terminator at `place` ends one."""
        end = _end_of(_AFTER_END, text, place + 1)
        opening = _OPENING.match(text, end, place + _LOOK_AHEAD)
        begins = opening.end() if opening else end
        follower = text[begins : begins + 1]
        if follower.isdigit() and begins == place + 1 > start + 1 and text[place - 1].isdigit():
            ends = False
        elif text[place] in _WIDE_TERMINATORS:
            ends = True
        elif opening is None and (not follower or follower < "\u2e80"):
            ends = not follower
        elif text[place] != "." or text[place + 1 : place + 2] in _TERMINATORS:
            ends = not follower.islower()
        else:
            ends = self._ends_at_dot(text[max(start, place - _LOOK_AHEAD) : place], text[begins : begins + _LOOK_AHEAD])
            ends = ends and not _NAME_WITH_PARTICLE.match(text, max(0, place - 1))
        return end if ends else None

    def _ends_at_dot(self, before: str, after: str) -> bool:
        """Whether the dot behind `before` ends a sentence."""
        zone = _LETTERS.match(after)
        if zone and zone.group() in TIME_ZONES and _HALF_DAY.search(before):
            return False
        word = _LAST_WORD.search(before)
        return not (_NUMBERED.search(before[-4:]) or goes_on(before, self._language)) and ends_sentence(
            word.group() if word else "", after[:1]
        )

    def _best_cut(self, text: str, start: int, reached: int) -> int:
        """Where to cut a segment that is full after `reached` characters."""
        self._torn = True
        if self._bounds.forward:
            whole = certain_length(text[start : start + reached])  # what is read together, like a date, stays together
            return next((cut for cut in (whole, self._space) if cut > reached // 4), self._gap or reached)
        for cut in (self._sentence, self._clause):
            if cut > reached // 4:  # a shorter one would leave a scrap
                self._torn = text[start + cut - 1] == ")"
                return cut
        return self._joint if self._joint > reached // 2 else self._space or self._gap or reached


def _end_of(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place, place + _LOOK_AHEAD)
    return found.end() if found else place
