"""What may happen to a context, and when: the whole law of order in `speakd.v1`.

Purpose: states, steps, and one table of transitions. Knows: nothing else. Does not know: messages, sockets, sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from app.protocol_errors import Code


class State(Enum):
    """Where a context is."""

    NEW = "new"
    """Asked for; the server has not said yes."""
    OPEN = "open"
    ENDED = "ended"
    """No more text will come."""
    CANCELLED = "cancelled"
    DONE = "done"


class Step(Enum):
    """What can happen to a context."""

    TEXT = "text"
    FLUSH = "flush"
    END = "end"
    CANCEL = "cancel"
    STARTED = "context.started"
    ACK = "text.ack"
    AUDIO = "audio"
    FLUSHED = "flushed"
    PLAYBACK = "playback"
    DONE = "context.done"


TRANSITIONS: Final[dict[State, dict[Step, State]]] = {
    State.NEW: {
        Step.STARTED: State.OPEN,
    },
    State.OPEN: {
        Step.TEXT: State.OPEN,
        Step.FLUSH: State.OPEN,
        Step.END: State.ENDED,
        Step.CANCEL: State.CANCELLED,
        Step.ACK: State.OPEN,
        Step.AUDIO: State.OPEN,
        Step.FLUSHED: State.OPEN,
        Step.PLAYBACK: State.OPEN,
        Step.DONE: State.DONE,
    },
    State.ENDED: {
        Step.END: State.ENDED,
        Step.CANCEL: State.CANCELLED,
        Step.ACK: State.ENDED,
        Step.AUDIO: State.ENDED,
        Step.FLUSHED: State.ENDED,
        Step.PLAYBACK: State.ENDED,
        Step.DONE: State.DONE,
    },
    State.CANCELLED: {
        Step.END: State.CANCELLED,
        Step.CANCEL: State.CANCELLED,
        Step.DONE: State.DONE,
    },
    State.DONE: {},
}
"""Every transition there is. A client's step that is missing is refused; a server's is not sent."""

REFUSALS: Final[dict[State, tuple[Code, str]]] = {
    State.NEW: ("unknown_context", "wait for context.started"),
    State.ENDED: ("context_ended", "no text can follow 'end'; start another context"),
    State.CANCELLED: ("context_cancelled", "the context was cancelled; start another"),
}
"""What a client hears whose step is missing."""


@dataclass(slots=True)
class Context:
    """One context as the conversation sees it."""

    id: str
    number: int
    state: State = State.NEW
    characters: int = 0
    flushes: int = 0
    """Not yet answered."""
    blocks: int = 0
    samples: int = 0
