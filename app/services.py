"""What all connections of a daemon share.

Purpose: one record, so that a reload can put its parts in place and every connection sees them. Knows: the types of its
parts. Does not know: what is done with them.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from app.config import Config
from app.gate import Gate
from app.local_sink import LocalLoudspeaker
from app.messages import Limits
from app.metrics import Metrics
from app.pools import Pools
from app.security import Guard
from app.voices import OpenModel, VoiceTable


@dataclass(slots=True, kw_only=True)
class Services:
    """What all connections share. `config`, `guard` and `voices` are replaced as a whole by a reload."""

    config: Config
    guard: Guard
    voices: VoiceTable | None
    """None while they are being opened."""
    pools: Pools
    gate: Gate
    metrics: Metrics
    open_model: OpenModel
    loudspeaker: LocalLoudspeaker
    tls: ssl.SSLContext | None = None
    """Of the TCP port; one for as long as it is open."""


def bundles_of(config: Config) -> list[str]:
    """The directories of its voices, the default voice's first."""
    return list(dict.fromkeys((config.voice.bundle, *config.server.bundles)))


def limits_of(config: Config) -> Limits:
    """What a client is told about its bounds."""
    limits = config.limits
    return Limits(
        message_bytes=limits.message_bytes,
        contexts=limits.contexts,
        text_characters=limits.text_characters,
        flushes=limits.flushes,
        context_idle_s=limits.context_idle_s,
    )
