"""Words of a segment given out while the segment is still open.

Purpose: a voice that reads one token per frame can begin with the first words of a sentence. Only words are given that
neither normalisation nor tokenisation would change with what follows: joined, the ids of a segment's pieces are the ids
of the whole segment.
Knows: what was given out of the open segment. Does not know: which words are certain (`certain`), where segments end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from app.certain import certain_length
from app.lengths import open_quotations
from app.reading import Reading
from app.spans import SpannedText
from app.text_piece import TextPiece

Symbols = Callable[[str], tuple[str, tuple[int, ...]]]
"""`app.front_end`'s: a read text to what the voice reads of it, and its ids."""

_ENOUGH_TO_GUESS: Final = 32
"""Characters of a segment that show its language; before them nothing is given out."""


class WordPieces:
    """Gives out the segments of one stream word by word."""

    def __init__(self, symbols: Symbols, reading: Reading) -> None:
        self._symbols = symbols
        self._reading = reading
        self._restart()

    def _restart(self) -> None:
        self._given = 0
        """Characters of the segment's own text that were given out."""
        self._opened = ""
        """Marks of quotations in them that have not ended: a number before such a mark is no length."""
        self._read = ""
        """What was given out, as words; then as the voice's symbols, then as ids."""
        self._text = ""
        self._ids: tuple[int, ...] = ()
        self._language: str | None = None

    def more(self, segment: SpannedText) -> TextPiece | None:
        """The words of the open segment that have become certain, if any. `segment` is all of it so far."""
        certain = certain_length(segment.text)
        if certain <= self._given or not self._know_language(segment.text, whole=False):
            return None
        return self._piece(segment.slice(self._given, certain), ends=False)

    def close(self, segment: SpannedText, *, torn: bool) -> TextPiece | None:
        """The rest of the segment; None if there was nothing to say in all of it."""
        self._know_language(segment.text, whole=True)
        piece = self._piece(segment.slice(self._given, len(segment)), ends=True, torn=torn)
        self._restart()
        return piece

    def _know_language(self, text: str, *, whole: bool) -> bool:
        """The language is judged once, by the same characters however the text was cut."""
        if self._language is None and (whole or not self._reading.guesses or len(text) >= _ENOUGH_TO_GUESS):
            self._language = self._reading.language_of(text[:_ENOUGH_TO_GUESS])
        return self._language is not None

    def _piece(self, part: SpannedText, *, ends: bool, torn: bool = False) -> TextPiece | None:
        spoken = self._reading.read(part, self._language or "", torn=torn, whole=ends, opened=self._opened).text
        gap = " " if self._read and spoken and not spoken[0].isspace() else ""
        read = f"{self._read}{gap}{spoken}"
        if ends and self._read and not spoken:
            read += self._reading.end_mark(torn=torn)
        text, ids = self._symbols(read)
        if ids[: len(self._ids)] == self._ids:
            new, text = ids[len(self._ids) :], text[len(self._text) :]
        elif ends:
            text, new = self._symbols(spoken)
        else:
            return None
        if not ends:
            self._given += len(part)
            self._opened = open_quotations(self._opened + part.text)
            self._read, self._text, self._ids = read, self._text + text, ids
        if not new and not (ends and self._ids):
            return None
        return TextPiece(ids=new, ends_segment=ends, text=text.lstrip(), span=part.span())
