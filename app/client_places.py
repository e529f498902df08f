"""Where clients look for a daemon, and how they know its voice: for those who cannot afford an import.

Purpose: the names and rules that the daemon, `speak` and its quick path share. It imports nothing that a bare
interpreter has not loaded already, beyond its like; so no `typing`, no `pathlib`. Knows: the environment, the
configuration's voice, a bundle's manifest as bytes. Does not know: sockets.
"""

from __future__ import annotations

import os

from app.voice_section import read_voice_section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "speakd.sock"
VARIABLE = "SPEAKD_SOCKET"
"""Environment variable by which a client is told where to look."""
MODELS_HEADER = "Speakd-Models"
"""Of the handshake's answer on the Unix socket: the fingerprints of the daemon's models, in their order."""
SPEAK_PATH = "/v1/speak"
PROTOCOL = "speakd.v1"
_SYSTEM = "/run/speakd"


def client_sockets(environment: Mapping[str, str] | None = None) -> list[str]:
    """Where a client looks, in order: the user's own daemon before the system's."""
    environment = os.environ if environment is None else environment
    if VARIABLE in environment:
        return [environment[VARIABLE]] if environment[VARIABLE] else []
    own = own_directory(environment)
    return [f"{directory}/{NAME}" for directory in (own, _SYSTEM) if directory != own or _is_ours(own)]


def own_directory(environment: Mapping[str, str]) -> str:
    """Where a user's own daemon has its socket."""
    return environment.get("XDG_RUNTIME_DIR", "") or f"/tmp/speakd-{os.getuid()}"


def configured_voice(file: str, root: str) -> dict[str, str] | None:
    """The `[voice]` that the whole command would find, with its model's fingerprint; None where that takes more."""
    text = ""
    try:
        with open(file, encoding="utf-8") as lines:  # noqa: PTH123
            text = lines.read()
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError):
        return None
    voice = read_voice_section(text)
    if voice is None or not voice["bundle"] or voice["bundle"].startswith("~"):
        return None
    place = os.path.dirname(os.path.realpath(file)) if text else root  # noqa: PTH120
    voice["fingerprint"] = fingerprint(os.path.join(place, voice["bundle"]))  # noqa: PTH118
    return voice if voice["fingerprint"] else None


def fingerprint(bundle: str) -> str:
    """Says which model a bundle is: its manifest names the hash of every file. Empty where there is none."""
    try:
        with open(bundle + "/manifest.json", "rb") as file:  # noqa: PTH123
            return _sha256(file.read())[:32]
    except OSError:
        return ""


def has_model(headers: Mapping[str, str], mark: str) -> bool:
    """Whether a daemon's default model is the one with this fingerprint, by its answer to the handshake."""
    return headers.get(MODELS_HEADER.lower(), "").split(",")[0] == mark


def _is_ours(directory: str) -> bool:
    """Whether nobody else made this directory, to hear what we say; one that is not there is nobody's."""
    try:
        return os.stat(directory).st_uid == os.getuid()  # noqa: PTH116
    except OSError:
        return True


def _sha256(data: bytes) -> str:
    """By the interpreter's own module where it has one: `hashlib` loads OpenSSL, which takes 3 ms."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256
    return str(sha256(data).hexdigest())
