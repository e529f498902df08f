"""What a person asks of one run of `speak`, as plain values.

Purpose: carry the command line to where speech is made. Knows: names and types. Does not know: how they are parsed, or
what is done about them; it is cheap to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from engines.contract import Layout, Sampling


class FileFormat(str, Enum):
    """Containers a file can have; all hold mono, 16 bits a sample."""

    WAV = "wav"
    FLAC = "flac"
    RAW = "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """One run."""

    words: list[str] | None
    """Text from the command line; None reads standard input."""
    output: str | None
    """File name, "-" for standard output; None plays."""
    file_format: FileFormat | None
    device: str | None
    bundle: Path
    voice: str | None
    language: str
    instruct: str
    layout: Layout
    seed: int | None
    sampling: Sampling
    max_frames: int | None
    """For each segment."""
    save_codes: Path | None
    normalize: bool
    stats: bool
    daemon: bool = True
    """Speak through the daemon where one runs that can do all this."""
    now: bool = False
    """Interrupt whoever plays on the same device, rather than wait."""
