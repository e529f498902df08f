"""The door of the text front end: text as it comes in, token ids of utterances out.

Purpose: hygiene, lines, segmentation, reading, pronunciation and tokenisation, one after the other, so that a caller
sees only pieces of ids with the text they speak and the place it came from.
What it remembers is bounded by one segment. Nothing but what later text cannot change is given out.
Knows: the order of the steps and what each kind of voice reads. Does not know: engines, sessions.

For one thread only (the tokenizer's law).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from app.hygiene import Cleaner
from app.lines import Lines
from app.reading import Reading
from app.segmenter import Segment, SegmentBounds, Segmenter
from app.text_piece import TextPiece
from app.tokenizer import TextTokenizer
from app.word_pieces import WordPieces
from engines.errors import BundleError
from engines.voice_files import front_end_info

_BLOCK: Final = 16384
"""Characters worked on at a time, so that a large text needs no memory in proportion."""

_TEXT_BOUNDS: Final = SegmentBounds()
PHONE_BOUNDS: Final = SegmentBounds(longest=120)
"""Voices that read phones are small and were trained on short sentences: about 8 s."""
_UNTOUCHED_BOUNDS: Final = SegmentBounds(longest=600, shortest=600)
"""Text that is not normalised is spoken as it was given: sentences stay together up to about 40 s."""


class Pronouncer(Protocol):
    """Words to phone symbols; `app.phones.PhoneFrontEnd` is one."""

    def pronounce(self, text: str) -> str:
        """Symbols of words and the marks `, . ? ! ; :`."""
        ...


class TextFrontEnd:
    """Turns one stream of text into pieces of ids.

    With `words` a segment may come in several pieces, for voices that take text while they speak: `early` gives what is
    certain of an unfinished one. Without, a segment is one piece.
    """

    def __init__(
        self,
        tokenizer: TextTokenizer,
        *,
        language: str = "auto",
        normalize: bool = True,
        words: bool = False,
        pronouncer: Pronouncer | None = None,
        bounds: SegmentBounds | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._pronouncer = pronouncer
        self._wished = bounds
        if bounds is None:
            bounds = PHONE_BOUNDS if pronouncer else _TEXT_BOUNDS if normalize else _UNTOUCHED_BOUNDS
        self._reading = Reading(language=language, normalize=normalize, for_lexicon=pronouncer is not None)
        self._words = WordPieces(self._symbols, self._reading) if words else None
        self._cleaner = Cleaner(tokenizer.control_strings)
        self._lines = Lines(closes=pronouncer is not None) if normalize else None
        self._segmenter = Segmenter(replace(bounds, forward=self._words is not None), language=self._reading.language)

    @classmethod
    def open(
        cls,
        bundle: Path,
        *,
        language: str = "auto",
        normalize: bool = True,
        words: bool = False,
        bounds: SegmentBounds | None = None,
    ) -> TextFrontEnd:
        """The front end a bundle's voice needs. Raises `BundleError`."""
        info = front_end_info(bundle)
        pronouncer: Pronouncer | None = None
        if info.kind == "phones":
            from app.phones import PhoneFrontEnd

            try:
                pronouncer = PhoneFrontEnd(info.files[0].parent if info.files else bundle)
            except (OSError, ValueError, KeyError) as error:
                raise BundleError(f"cannot read the lexicon of {bundle}: {error}; export the bundle again") from error
        tokenizer = TextTokenizer.open(info.tokenizer)
        return cls(tokenizer, language=language, normalize=normalize, words=words, pronouncer=pronouncer, bounds=bounds)

    def fresh(self, *, language: str = "auto", normalize: bool = True, words: bool = False) -> TextFrontEnd:
        """One for another stream of text, sharing what this one has opened; both belong to the same thread."""
        return TextFrontEnd(
            self._tokenizer,
            language=language,
            normalize=normalize,
            words=words,
            pronouncer=self._pronouncer,
            bounds=self._wished,
        )

    def feed(self, text: str) -> list[TextPiece]:
        """Take text as it comes, even parts of words; give the segments that are now certain."""
        pieces: list[TextPiece] = []
        for start in range(0, len(text), _BLOCK):
            cleaned = self._cleaner.feed(text[start : start + _BLOCK])
            lines = self._lines.feed(cleaned) if self._lines else cleaned
            pieces += self._speak(self._segmenter.feed(lines))
        return pieces

    def early(self) -> list[TextPiece]:
        """What is to be spoken now that no more text is at hand.

        All of it where a sentence has ended and its line too; else, for a voice that can begin with them, the words of
        the unfinished segment that are certain by now and were not given yet.
        """
        if self._segmenter.ends_with((self._lines.held if self._lines else "") + self._cleaner.held):
            return self.finish()
        piece = self._words.more(self._segmenter.open_text()) if self._words is not None else None
        return [] if piece is None else [piece]

    def finish(self) -> list[TextPiece]:
        """No more text, or speak now what is there: gives the rest. May be fed again; spans go on."""
        rest = self._cleaner.finish()
        if self._lines:
            rest = self._lines.feed(rest) + self._lines.finish()
        segments = self._segmenter.feed(rest)
        return self._speak([*segments, *self._segmenter.finish()])

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of an instruct message; empty for none."""
        cleaner = Cleaner(self._tokenizer.control_strings)
        cleaned = cleaner.feed(instruct) + cleaner.finish()
        return self._tokenizer.instruct_ids(cleaned.text)

    def _speak(self, segments: list[Segment]) -> list[TextPiece]:
        return [piece for segment in segments if (piece := self._last_piece(segment)) is not None]

    def _last_piece(self, segment: Segment) -> TextPiece | None:
        """The whole segment, or what of it was not given yet; None where there is nothing to say."""
        words = segment.words
        if self._words is not None:
            return self._words.close(words, torn=segment.torn)
        spoken = self._reading.read(words, self._reading.language_of(words.text), torn=segment.torn).text
        symbols, ids = self._symbols(spoken)
        return TextPiece(ids=ids, ends_segment=True, text=symbols, span=words.span()) if ids else None

    def _symbols(self, spoken: str) -> tuple[str, tuple[int, ...]]:
        """What the voice reads of a read text, and its ids; nothing where there is nothing to say."""
        if not any(character.isalnum() for character in spoken):
            return "", ()
        symbols = self._pronouncer.pronounce(spoken) if self._pronouncer is not None else spoken
        return symbols, self._tokenizer.body_ids(symbols)
