"""How an export tells what it is doing.

Purpose: the door between the work and whoever shows it. Knows: stages and how much each has to do. Does not know:
terminals.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol


class Unit(Enum):
    """What a stage counts."""

    BYTES = "bytes"
    RUNS = "runs"
    """Of a graph."""


class Progress(Protocol):
    """Told what the export is doing."""

    def stage(self, name: str, total: int, unit: Unit = Unit.BYTES) -> Callable[[int], None]:
        """A stage begins; call the result with what was just finished of it."""
        ...


class Silent:
    """Progress for nobody."""

    def stage(self, name: str, total: int, unit: Unit = Unit.BYTES) -> Callable[[int], None]:
        """Nothing to show."""
        return lambda _: None
