"""How the voice of one bundle reads: its text front end, opened once.

Purpose: `Reader`, what contexts need of a voice's text side, and `BundleReader`, which has it in this process. Knows:
front ends. Does not know: contexts, pools, processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from app.text_piece import FrontEnd
from engines.voice_files import reads_while_speaking, voice_info

if TYPE_CHECKING:
    from app.front_end import TextFrontEnd


WARMING: Final = {
    "english": "On 3 May 2026 it cost $12.50 per kg and/or 7 km: in $, may I warm-up next, John?",
    "chinese": "2026\u5e745\u67083\u65e5",
    "japanese": "2026\u5e745\u67083\u65e5",
}
"""Texts for which everything is loaded that reading needs."""


class Reader(Protocol):
    """How a bundle's voice reads. To be used on the text pool only, except `release` and `close`."""

    def front_end(self, language: str) -> FrontEnd:
        """For one stream of text."""
        ...

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of an instruct message."""
        ...

    def release(self, front_end: FrontEnd) -> None:
        """A stream is over; idempotent. Never waits; from any thread."""
        ...

    def close(self) -> None:
        """All streams are over. Never waits; from any thread."""
        ...


class BundleReader:
    """The front end of one bundle, opened once; its tokenizer belongs to one thread."""

    def __init__(self, bundle: Path) -> None:
        """Opens and warms it up. Raises `BundleError`."""
        from app.front_end import TextFrontEnd  # a daemon whose text is read elsewhere never needs it

        self._opened = TextFrontEnd.open(bundle)
        self._words = reads_while_speaking(bundle)
        spoken = {"english", *map(str.lower, voice_info(bundle).languages)}
        for language in sorted(spoken & WARMING.keys()):  # the first text pays for tables that are built on first use
            warm = self.front_end(language)
            warm.feed(WARMING[language])
            warm.finish()

    def front_end(self, language: str) -> TextFrontEnd:
        """For one stream of text."""
        return self._opened.fresh(language=language, words=self._words)

    def instruct_ids(self, instruct: str) -> tuple[int, ...]:
        """Ids of an instruct message."""
        return self._opened.instruct_ids(instruct)

    def release(self, front_end: FrontEnd) -> None:
        """Nothing to do: a front end in this process ends with its last user."""

    def close(self) -> None:
        """Nothing to do: the same."""
