"""Who goes first: every stream has a listener who will run dry at a known moment.

Purpose: order streams by that moment, let those rest who are far ahead while others are not, and give streams nobody
listens to in real time (`fast`) what is left, without forgetting them. Pure functions of numbers. Knows: milliseconds
of sound ahead of a listener. Does not know: clocks, threads, models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

PATIENCE_MS: Final = 500.0
"""How long a fast stream can do without a frame beyond what makes a real-time stream comfortable."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stream that could have its next frame now."""

    slot: int
    ahead_ms: float
    """Sound made and not yet played; a stream that has not sounded yet is not ahead at all."""


def ahead_of_listener_ms(
    made_ms: float, heard_from: float | None, now: float, *, realtime: bool, last_at: float, comfortable_ms: float
) -> float:
    """How far a stream is ahead of its listener.

    `made_ms`: sound made so far; `heard_from`, `now`, `last_at` (when it last got something): seconds of one clock. A
    fast stream counts as comfortable, and less so the longer it has had nothing.
    """
    if not realtime:
        return comfortable_ms + PATIENCE_MS - 1000.0 * (now - last_at)
    return 0.0 if heard_from is None else made_ms - 1000.0 * (now - heard_from)


def who_steps(candidates: Sequence[Candidate], comfortable_ms: float) -> list[int]:
    """The slots to step, ascending, of `candidates`, who are in the order of their slots.

    All of them where nobody needs a frame more than another. Otherwise those who are less than `comfortable_ms` ahead,
    and whoever sits between them: a step runs that part of the memory in any case.
    """
    hungry = [candidate.slot for candidate in candidates if candidate.ahead_ms < comfortable_ms]
    if not hungry:
        return [candidate.slot for candidate in candidates]
    return [candidate.slot for candidate in candidates if hungry[0] <= candidate.slot <= hungry[-1]]


def slack_ms(ahead_ms: Iterable[float], call_ms: float) -> float:
    """How long the codec can do something else before it must serve streams that are so far ahead, one after another.

    `call_ms`: the least that serving one takes. Infinite where there is nobody to serve.
    """
    served_ms, slack = 0.0, inf
    for ahead in sorted(ahead_ms):
        served_ms += call_ms
        slack = min(slack, ahead - served_ms)
    return slack
