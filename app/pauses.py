"""Notices when the writer of a text pauses.

Purpose: what is already written should be read as a whole; only when nothing follows at once is it worth beginning with
an unfinished sentence. Knows: asyncio. Does not know: text, speech.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from enum import Enum
from typing import Final, TypeVar

T = TypeVar("T")

SOON_S: Final = 0.005
"""What was sent together arrives together within this, even as several messages; a language model's next token does
not."""


class Pause(Enum):
    """Stands among the items where nothing followed soon."""

    PAUSE = "pause"


async def with_pauses(items: AsyncIterator[T], soon_s: float = SOON_S) -> AsyncIterator[T | Pause]:
    """The items as they come, and `Pause.PAUSE` after each one that neither another nor the end followed soon."""
    source = items.__aiter__()
    coming = asyncio.ensure_future(_next(source))
    try:
        while (found := await coming) is not Pause.PAUSE:
            coming = asyncio.ensure_future(_next(source))
            yield found
            if not (await asyncio.wait((coming,), timeout=soon_s))[0]:
                yield Pause.PAUSE
    finally:
        coming.cancel()


async def _next(source: AsyncIterator[T]) -> T | Pause:
    """The next item; `Pause.PAUSE` at the end."""
    async for item in source:
        return item
    return Pause.PAUSE
