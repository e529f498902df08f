"""Who goes first: every stream has a listener who will run dry at a known moment.

Purpose: order streams by that moment, let those rest who are far ahead while others are not, give streams nobody
listens to in real time (`fast`) what is left, without forgetting them, and tell how much of the codec everyone can
have. Pure functions of numbers. Knows: milliseconds of sound ahead of a listener, what codec calls cost. Does not know:
clocks, threads, models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final

from engines.chunk_policy import Costs

PATIENCE_MS: Final = 500.0
"""How long a fast stream can do without a frame beyond what makes a real-time stream comfortable."""


def in_hand_ms(made_ms: float, heard_from: float | None, now: float) -> float:
    """Sound made and not yet played by a listener who plays all he fetches; 0 before the first, below 0: it ran out.

    `made_ms`: sound made so far; `heard_from`, `now`: seconds of one clock.
    """
    return 0.0 if heard_from is None else made_ms - 1000.0 * (now - heard_from)


def who_steps(ahead_ms: Mapping[int, float], comfortable_ms: float) -> list[int]:
    """The slots to step, ascending, of streams that could have a frame now: how far each is ahead, by ascending slot.

    All of them where nobody needs a frame more than another. Otherwise those who are less than `comfortable_ms` ahead,
    and whoever sits between them: a step runs that part of the memory in any case.
    """
    hungry = [slot for slot, ms in ahead_ms.items() if ms < comfortable_ms]
    if not hungry:
        return list(ahead_ms)
    return [slot for slot in ahead_ms if hungry[0] <= slot <= hungry[-1]]


def slack_ms(ahead_ms: Mapping[int, float], costs: Costs, *, batching: bool) -> float:
    """How long the codec can do something else before it must serve streams, by slot, that are so far ahead.

    It serves each with a frame: one after another, or, if `batching`, all that sit side by side in one call, whichever
    leaves it more time. Infinite where there is nobody to serve.
    """
    one_by_one = _spare_ms(((ahead, 1) for ahead in ahead_ms.values()), costs)
    if not batching:
        return one_by_one
    together = ((min(ahead_ms[slot] for slot in run), len(run)) for run in runs(ahead_ms))
    return max(one_by_one, _spare_ms(together, costs))


def runs(slots: Iterable[int]) -> list[list[int]]:
    """The slots in ascending order, those side by side together: each could be one call of the codec."""
    found: list[list[int]] = []
    for slot in sorted(slots):
        if found and found[-1][-1] == slot - 1:
            found[-1].append(slot)
        else:
            found.append([slot])
    return found


def frames_for_all(together_ms: Sequence[float], others_ms: Sequence[float], joined: int, costs: Costs) -> float:
    """How many frames each stream can be given in one round of the codec, so that nobody's sound runs out.

    First one call for `joined` streams, of whom those who are heard already have `together_ms` in hand, then the others
    one by one, least (`others_ms` is ascending) first. Below 1: somebody will run dry. Infinite without anybody heard.
    """
    most = min(((ms - costs.codec_call_ms) / joined for ms in together_ms), default=inf)
    for later, ms in enumerate(others_ms, start=1):
        most = min(most, (ms - (later + 1) * costs.codec_call_ms) / (joined + later))
    return most / max(costs.codec_frame_ms, 1e-9)


def _spare_ms(calls: Iterable[tuple[float, int]], costs: Costs) -> float:
    """What calls, each due in so many milliseconds and of so many frames, leave before the first of them."""
    served_ms, slack = 0.0, inf
    for due_ms, frames in sorted(calls):
        served_ms += costs.codec_ms(frames)
        slack = min(slack, due_ms - served_ms)
    return slack
