"""The two pools for work that is not the event loop's.

Purpose: open them as the configuration sizes them. Knows: their sizes. Does not know: what they work on.
"""

from __future__ import annotations

from typing import NamedTuple

from app.config import Config
from app.executor import BoundedExecutor


class Pools(NamedTuple):
    """Threads that read text, and threads that encode and write sound."""

    text: BoundedExecutor
    audio: BoundedExecutor


def open_pools(config: Config, kind: type[BoundedExecutor] = BoundedExecutor) -> Pools:
    """Both pools; to be shut down by the caller."""
    return Pools(
        text=kind("text", workers=config.text.workers, max_waiting=config.text.max_waiting),
        audio=kind("audio", workers=config.audio.workers, max_waiting=config.audio.max_waiting),
    )
