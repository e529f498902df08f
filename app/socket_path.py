"""Where the daemon's Unix socket is, and how a client knows that behind it is the voice it means.

Purpose: one rule for the daemon, which makes it, and for clients, which look for it. Knows: the environment, a bundle's
manifest as bytes. Does not know: sockets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "speakd.sock"
VARIABLE: Final = "SPEAKD_SOCKET"
"""Environment variable by which a client is told where to look."""
MODELS_HEADER: Final = "Speakd-Models"
"""Of the handshake's answer on the Unix socket: the fingerprints of the daemon's models, in their order."""
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
    own = Path(environment.get("XDG_RUNTIME_DIR", "") or f"/tmp/speakd-{os.getuid()}")
    return [directory / NAME for directory in (own, _SYSTEM) if directory != own or _is_ours(own)]


def _is_ours(directory: Path) -> bool:
    """Whether nobody else made this directory, to hear what we say; one that is not there is nobody's."""
    try:
        return directory.stat().st_uid == os.getuid()
    except OSError:
        return True


def fingerprint(bundle: Path) -> str:
    """Says which model a bundle is: its manifest names the hash of every file. Empty where there is none."""
    try:
        return hashlib.sha256((bundle / "manifest.json").read_bytes()).hexdigest()[:32]
    except OSError:
        return ""
