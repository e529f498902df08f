"""How an export tells what it is doing.

Purpose: the door between the work and whoever shows it. Knows: stages and bytes. Does not know: terminals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Told what the export is doing."""

    def stage(self, name: str, total_bytes: int) -> Callable[[int], None]:
        """A stage begins; call the result with the bytes just finished."""
        ...


class Silent:
    """Progress for nobody."""

    def stage(self, name: str, total_bytes: int) -> Callable[[int], None]:
        """Nothing to show."""
        return lambda _: None
