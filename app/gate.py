"""Who may come in: sockets and contexts, counted and bounded.

Purpose: `Gate`: one place that says no, and why, before anything is spent on a newcomer. Knows: numbers. Does not know:
sockets themselves, voices, tokens. Belongs to the event loop.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from app.config import Config
from app.protocol_errors import ProtocolError

RESERVE: Final = 32
"""Connections beyond the bound on sockets, so that a full daemon can still say so, and answer /health."""


class Gate:
    """Bounds over all sockets."""

    def __init__(self, config: Config) -> None:
        self.configure(config)
        self._sockets: Counter[str] = Counter()
        self.contexts = 0
        self.connections = 0
        """Of any kind, from the first byte on."""
        self.closing = False
        """No new work: the daemon is about to end."""
        self._context_s = 1.0
        """Moving average of a context's life."""

    def configure(self, config: Config) -> None:
        """Take bounds from here on."""
        self._max_contexts = config.server.max_contexts
        self._max_sockets = config.limits.sockets
        self._max_per_address = config.limits.sockets_per_address

    @property
    def sockets(self) -> int:
        """Sockets inside."""
        return self._sockets.total()

    @property
    def most_connections(self) -> int:
        """Connections of any kind beyond which a newcomer is cut off unheard."""
        return self._max_sockets + RESERVE

    def enter_socket(self, address: str) -> str | None:
        """Count a socket in; or say why not."""
        if self.sockets >= self._max_sockets:
            return f"{self._max_sockets} sockets are open; try again in {self.retry_s():.1f} s"
        if self._sockets[address] >= self._max_per_address:
            return f"{self._max_per_address} sockets are open from your address; use one socket for many contexts"
        self._sockets[address] += 1
        return None

    def leave_socket(self, address: str) -> None:
        """Count a socket out."""
        self._sockets[address] -= 1
        if not self._sockets[address]:
            del self._sockets[address]

    def enter_context(self) -> None:
        """Count a context in. Raises `ProtocolError`."""
        if self.closing:
            raise ProtocolError("shutting_down", "the daemon is restarting; connect again in a moment")
        if self.contexts >= self._max_contexts:
            raise ProtocolError("busy", f"{self.contexts} contexts are open; try again in {self.retry_s():.1f} s")
        self.contexts += 1

    def leave_context(self, lived_s: float) -> None:
        """Count a context out."""
        self.contexts -= 1
        self._context_s += 0.1 * (lived_s - self._context_s)

    def retry_s(self) -> float:
        """When a place is likely to be free."""
        return max(0.1, self._context_s / self._max_contexts)
