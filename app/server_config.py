"""The parts of the configuration only the daemon reads.

Purpose: sections for the server, its limits, security and logs, with their bounds. Knows: names, units, bounds,
defaults. Does not know: what the settings do; `config.toml` gives the reasons.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(ge=0.05, le=86_400.0)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every part of the tree."""


class ServerConfig(Section, frozen=True):
    """Where the daemon listens, and how it serves."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8765
    socket: str = "auto"
    slots: Annotated[int, Meta(ge=1, le=64)] = 4
    max_contexts: Annotated[int, Meta(ge=1, le=1024)] = 64
    bundles: list[str] = []
    build_plans: Literal["wait", "background", "off"] = "wait"
    ahead_ms: Annotated[int, Meta(ge=100, le=60_000)] = 1000
    block_ms: Annotated[int, Meta(ge=10, le=1000)] = 160
    offload: bool = True
    grace_s: Annotated[float, Meta(ge=0.0, le=600.0)] = 10.0
    stall_s: Seconds = 20.0
    switch_interval_us: Annotated[int, Meta(ge=50, le=100_000)] = 500


class LimitsConfig(Section, frozen=True):
    """What a client may take."""

    message_bytes: Annotated[int, Meta(ge=1024, le=16_777_216)] = 65_536
    text_characters: Annotated[int, Meta(ge=100, le=10_000_000)] = 100_000
    contexts: Annotated[int, Meta(ge=1, le=1024)] = 16
    flushes: Annotated[int, Meta(ge=1, le=1024)] = 16
    sockets: Annotated[int, Meta(ge=1, le=10_000)] = 256
    sockets_per_address: Annotated[int, Meta(ge=1, le=10_000)] = 64
    handshake_s: Seconds = 5.0
    idle_s: Seconds = 300.0
    context_idle_s: Seconds = 60.0
    ping_s: Seconds = 20.0
    peer_timeout_s: Seconds = 60.0
    write_buffer_bytes: Annotated[int, Meta(ge=4096, le=16_777_216)] = 65_536


class SecurityConfig(Section, frozen=True):
    """Who may speak."""

    token_file: str = ""
    origins: list[str] = []
    tls_certificate: str = ""
    tls_key: str = ""
    loudspeaker_over_tcp: bool = False


class LogConfig(Section, frozen=True):
    """What is written about the work."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "json", "console"] = "auto"
    text: bool = False
