"""Where the daemon's Unix socket is, and how a client knows that behind it is the voice it means.

Purpose: one rule for the daemon, which makes it, and for clients, which look for it. Knows: the environment, paths.
Does not know: sockets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from app import client_places
from app.client_places import MODELS_HEADER, NAME, VARIABLE

__all__ = ["MODELS_HEADER", "NAME", "VARIABLE", "client_paths", "fingerprint", "server_path"]


def server_path(setting: str, environment: Mapping[str, str] | None = None) -> Path | None:
    """The socket a daemon with this setting opens; None for none."""
    environment = os.environ if environment is None else environment
    if setting != "auto":
        return Path(setting).expanduser() if setting else None
    runtime = environment.get("RUNTIME_DIRECTORY", "").split(":")[0] or environment.get("XDG_RUNTIME_DIR", "")
    return Path(runtime or f"/tmp/speakd-{os.getuid()}") / NAME


def client_paths(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Where a client looks, in order."""
    return [Path(path) for path in client_places.client_sockets(environment)]


def fingerprint(bundle: Path) -> str:
    """Says which model a bundle is; empty where there is none."""
    return client_places.fingerprint(str(bundle))
