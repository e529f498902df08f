"""The door of the text front end: text as it comes in, token ids of utterances out.

Purpose: hygiene, segmentation, markup, normalisation, pronunciation and tokenisation, one after the other, so that a
caller sees only pieces of ids with the text they speak and the place it came from.
What it remembers is bounded by one segment. Nothing but what later text cannot change is given out.
Knows: the order of the steps and what each kind of voice reads. Does not know: engines, sessions.

For one thread only (the tokenizer's law).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from app.east_asian import EAST_ASIAN, normalize_east_asian
from app.hygiene import Cleaner
from app.language import LanguageGuess
from app.markup import speak_addresses, strip_markup
from app.normalizer import normalize
from app.segmenter import Segment, SegmentBounds, Segmenter
from app.spans import SpannedText
from app.speakable import speakable
from app.tokenizer import TextTokenizer
from engines.errors import BundleError
from engines.voice_files import front_end_info

_SPACES: Final = re.compile(r"\s+")
_WRAPPED_HYPHEN: Final = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_BLOCK: Final = 16384
"""Characters worked on at a time, so that a large text needs no memory in proportion."""

TEXT_BOUNDS: Final = SegmentBounds()
PHONE_BOUNDS: Final = SegmentBounds(longest=120)
"""Voices that read phones are small and were trained on short sentences: about 8 s."""
UNTOUCHED_BOUNDS: Final = SegmentBounds(longest=600, shortest=600)
"""Text that is not normalised is spoken as it was given: sentences stay together up to about 40 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A piece of one utterance."""

    ids: tuple[int, ...]
    ends_segment: bool
    """Whether the utterance ends here; the next piece begins another."""
    text: str
    """What is spoken: normalised text, or phone symbols."""
    span: tuple[int, int]
    """Where it came from: characters [start, end) of all text fed so far."""


class Pronouncer(Protocol):
    """Words to phone symbols; `app.phones.PhoneFrontEnd` is one."""

    def pronounce(self, text: str) -> str:
        """Symbols of lower-case words and the marks `, . ? ! ; :`."""
        ...


class TextFrontEnd:
    """Turns one stream of text into pieces of ids."""

    def __init__(
        self,
        tokenizer: TextTokenizer,
        *,
        language: str = "auto",
        normalize: bool = True,
        pronouncer: Pronouncer | None = None,
        bounds: SegmentBounds | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._language = language.lower()
        self._guess = LanguageGuess()
        self._normalize = normalize
        self._pronouncer = pronouncer
        self._wished = bounds
        if bounds is None:
            bounds = PHONE_BOUNDS if pronouncer else TEXT_BOUNDS if normalize else UNTOUCHED_BOUNDS
        self._cleaner = Cleaner(tokenizer.control_strings)
        self._segmenter = Segmenter(bounds)

    @classmethod
    def open(
        cls, bundle: Path, *, language: str = "auto", normalize: bool = True, bounds: SegmentBounds | None = None
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
        return cls(tokenizer, language=language, normalize=normalize, pronouncer=pronouncer, bounds=bounds)

    def fresh(self, *, language: str = "auto", normalize: bool = True) -> TextFrontEnd:
        """One for another stream of text, sharing what this one has opened; both belong to the same thread."""
        return TextFrontEnd(
            self._tokenizer, language=language, normalize=normalize, pronouncer=self._pronouncer, bounds=self._wished
        )

    def feed(self, text: str) -> list[TextPiece]:
        """Take text as it comes, even parts of words; give the pieces that are now certain."""
        pieces: list[TextPiece] = []
        for start in range(0, len(text), _BLOCK):
            cleaned = self._cleaner.feed(text[start : start + _BLOCK])
            pieces += self._speak(self._segmenter.feed(cleaned))
        return pieces

    def finish(self) -> list[TextPiece]:
        """No more text, or speak now what is there: gives the rest. May be fed again; spans go on."""
        segments = self._segmenter.feed(self._cleaner.finish())
        return self._speak([*segments, *self._segmenter.finish()])

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of an instruct message; empty for none."""
        cleaner = Cleaner(self._tokenizer.control_strings)
        cleaned = cleaner.feed(instruct) + cleaner.finish()
        return self._tokenizer.instruct_ids(cleaned.text)

    def _speak(self, segments: list[Segment]) -> list[TextPiece]:
        return [piece for segment in segments if (piece := self._piece(segment)) is not None]

    def _piece(self, segment: Segment) -> TextPiece | None:
        """One segment is one piece; None where there is nothing to say."""
        span = segment.words.span()
        spoken = self._spoken(segment).text
        if not any(character.isalnum() for character in spoken):
            return None
        if self._pronouncer is not None:
            spoken = self._pronouncer.pronounce(spoken)
        ids = self._tokenizer.body_ids(spoken)
        return TextPiece(ids=ids, ends_segment=True, text=spoken, span=span) if ids else None

    def _spoken(self, segment: Segment) -> SpannedText:
        words = segment.words
        if self._normalize:
            words = strip_markup(words)
            language = self._language_of(words.text)
            if language == "english":
                words = normalize(speak_addresses(words))
            elif language in EAST_ASIAN:
                words = normalize_east_asian(words, language)
            words = words.sub(_WRAPPED_HYPHEN, "-").sub(_SPACES, " ").strip()
        return words if self._pronouncer is None else speakable(words, "," if segment.torn else ".")

    def _language_of(self, text: str) -> str:
        """What `text` is read as: a lexicon's language, else what the caller said, else what it looks like."""
        if self._pronouncer is not None:
            return "english"
        return self._guess.of(text) if self._language == "auto" else self._language
