"""Text that remembers where it came from.

Purpose: every rewriting step of the front end (hygiene, markup, normalisation) changes text; this value carries, for
each character, its place in the text as it was given, so that what is spoken can be pointed at in the original.
Knows: characters and offsets. Does not know: what the rewriting is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Replacement = str | Callable[[re.Match[str]], str | None]
"""What a match becomes: a string as it is, or a function; a function's None leaves the match alone."""


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A text and, for each of its characters and for its end, the offset in the original.

    `offsets` has one item more than `text` and never falls. All characters of a replacement carry the start of what
    they replaced, so spans of neighbours tile the original: nothing that was removed falls between two spans.
    """

    text: str
    offsets: Sequence[int]

    @classmethod
    def of(cls, text: str, start: int = 0) -> SpannedText:
        """Original text that begins at `start`."""
        return cls(text, range(start, start + len(text) + 1))

    def __len__(self) -> int:
        return len(self.text)

    def slice(self, start: int, end: int) -> SpannedText:
        """Characters [start, end)."""
        return SpannedText(self.text[start:end], self.offsets[start : end + 1])

    def strip(self) -> SpannedText:
        """Without whitespace at both ends."""
        text = self.text
        start = len(text) - len(text.lstrip())
        return self.slice(start, max(start, len(text.rstrip())))

    def span(self, start: int = 0, end: int | None = None) -> tuple[int, int]:
        """Where characters [start, end) came from; a part of a replacement stands for the whole of what it replaced."""
        offsets, last = self.offsets, len(self.text)
        end = last if end is None else end
        stop = end
        while start < end and stop < last and offsets[stop] == offsets[end - 1]:
            stop += 1
        return offsets[start], offsets[stop]

    def __add__(self, other: SpannedText) -> SpannedText:
        """This text followed by `other`, which lies after it in the original."""
        if not self.text:
            return other
        return SpannedText(self.text + other.text, [*self.offsets[:-1], *other.offsets])

    def sub(self, pattern: re.Pattern[str], replacement: Replacement) -> SpannedText:
        """Every match of `pattern` replaced; the same object where nothing changed."""
        changes: list[tuple[int, int, str]] = []
        for match in pattern.finditer(self.text):
            new = replacement if isinstance(replacement, str) else replacement(match)
            if new is not None and new != match.group():
                changes.append((*match.span(), new))
        return self.replaced(changes)

    def replaced(self, changes: Sequence[tuple[int, int, str]]) -> SpannedText:
        """Characters [start, end) replaced by the text of each change; changes are in order and do not overlap."""
        if not changes:
            return self
        parts: list[str] = []
        places: list[int] = []
        done = 0
        for start, end, new in changes:
            parts += (self.text[done:start], new)
            places += self.offsets[done:start]
            places += [self.offsets[start]] * len(new)
            done = end
        parts.append(self.text[done:])
        places += self.offsets[done:]
        return SpannedText("".join(parts), places)
