"""What bundles and plans say of themselves: JSON files of strict records, with a version.

Purpose: read one or say by file what is wrong with it; write one for people. Knows: JSON, the field `format_version`.
Does not know: what else the records say.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from engines.errors import SpeechError


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every part of such a file: immutable, and an unknown field is an error."""


R = TypeVar("R", bound=Record)


def read_record(path: Path, kind: type[R], version: int, *, what: str, wrong: type[SpeechError], remedy: str) -> R:
    """The file `path` of a directory that is a `what`. Raises `wrong` naming the file, the fault and the `remedy`.

    The version is looked at first: a file of another one says so, and not which of its fields are strange.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise wrong(f"{path.parent} is not a {what}: cannot read {path.name} ({error.strerror})") from error
    try:
        if (said := _version(raw)) != version:
            raise wrong(f"{path}: format version {said!r}, this program reads version {version}; {remedy}")
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise wrong(f"{path} is damaged: {error}; {remedy}") from error


def record_version(path: Path) -> object:
    """The format version that a record of any version names; `None` where none can be read."""
    try:
        return _version(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _version(raw: bytes) -> object:
    found = msgspec.json.decode(raw)
    return found.get("format_version") if isinstance(found, dict) else None


def write_record(path: Path, record: Record) -> None:
    """Write it, indented."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
