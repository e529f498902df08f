"""Where the daemon's Unix socket is.

Purpose: one rule for the daemon, which makes it, and for clients, which look for it. Knows: the environment. Does not
know: sockets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "speakd.sock"
VARIABLE: Final = "SPEAKD_SOCKET"
"""Environment variable by which a client is told where to look."""
_SYSTEM: Final = Path("/run/speakd")


def server_path(setting: str, environment: Mapping[str, str] | None = None) -> Path | None:
    """The socket a daemon with this setting opens; None for none."""
    environment = os.environ if environment is None else environment
    if setting != "auto":
        return Path(setting).expanduser() if setting else None
    runtime = environment.get("RUNTIME_DIRECTORY", "").split(":")[0] or environment.get("XDG_RUNTIME_DIR", "")
    return Path(runtime or f"/tmp/speakd-{os.getuid()}") / NAME


def client_paths(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Where a client looks, in order: the user's own daemon before the system's."""
    environment = os.environ if environment is None else environment
    if VARIABLE in environment:
        return [Path(environment[VARIABLE])] if environment[VARIABLE] else []
    own = environment.get("XDG_RUNTIME_DIR", "") or f"/tmp/speakd-{os.getuid()}"
    return [Path(own) / NAME, _SYSTEM / NAME]
