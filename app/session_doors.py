"""What a session needs of its neighbours.

Purpose: the shapes of a front end, of its pieces, and of the place where utterances begin. Knows: their methods. Does
not know: who has them.
"""

from __future__ import annotations

from typing import Any, Protocol

from app.engine_client import Speech
from engines.contract import SpeechRequest, VoiceInfo


class Piece(Protocol):
    """A piece of text as the front end cuts it; `app.text_piece.TextPiece` is one."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Token ids."""
        ...

    @property
    def ends_segment(self) -> bool:
        """Whether the utterance ends here."""
        ...


class SpeechDoor(Protocol):
    """Where utterances begin; `EngineClient` is one."""

    @property
    def info(self) -> VoiceInfo:
        """What the voice can do."""
        ...

    async def start(self, request: SpeechRequest) -> Speech:
        """Wait for a place and begin an utterance."""
        ...


class FrontEnd(Protocol):
    """What turns text into pieces; `app.front_end.TextFrontEnd` does."""

    def feed(self, text: str) -> list[Any]:
        """Take text as it comes; returns the segments no later character can change."""
        ...

    def early(self) -> list[Any]:
        """What may already be spoken of the unfinished segment, now that the writer pauses."""
        ...

    def finish(self) -> list[Any]:
        """No more text; returns the rest."""
        ...
