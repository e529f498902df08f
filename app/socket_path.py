"""Where the daemon's Unix socket is.

Purpose: one rule for the daemon, which makes it, and for clients, which look for it. Knows: the environment, paths.
Does not know: sockets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from app.client_places import NAME, client_sockets, own_directory


def server_path(setting: str, environment: Mapping[str, str] | None = None) -> Path | None:
    """The socket a daemon with this setting opens; None for none."""
    environment = os.environ if environment is None else environment
    if setting != "auto":
        return Path(setting).expanduser() if setting else None
    return Path(environment.get("RUNTIME_DIRECTORY", "").split(":")[0] or own_directory(environment)) / NAME


def client_paths(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Where a client looks, in order."""
    return [Path(path) for path in client_sockets(environment)]
