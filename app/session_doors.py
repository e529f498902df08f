"""What a session needs of its neighbours.

Purpose: the shapes of a front end and of the place where utterances begin. Knows: their methods. Does not know: who
has them.
"""

from __future__ import annotations

from typing import Protocol

from app.engine_client import Speech
from app.text_piece import TextPiece
from engines.contract import SpeechRequest, VoiceInfo


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

    def feed(self, text: str) -> list[TextPiece]:
        """Take text as it comes; returns the segments no later character can change."""
        ...

    def early(self) -> list[TextPiece]:
        """What may already be spoken of the unfinished segment, now that the writer pauses."""
        ...

    def finish(self) -> list[TextPiece]:
        """No more text; returns the rest."""
        ...
