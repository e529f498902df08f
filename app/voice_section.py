"""The `[voice]` section of a configuration, read without a TOML parser, or not at all.

Purpose: tell the quick path of `speak` which voice is meant, in a tenth of a millisecond instead of thirty. It reads
plain lines (`key = "value"`) and gives up on everything else that TOML allows, so it is never wrong, only shy. It also
owns the section's defaults. It imports nothing. Knows: that section. Does not know: files, what the settings do.
"""

from __future__ import annotations

BUNDLE = "engines/voices/default/bundle"
SPEAKER = ""
LANGUAGE = "auto"


def read_voice_section(text: str) -> dict[str, str] | None:
    """`bundle`, `speaker` and `language` as the configuration says; None where that takes a parser to know."""
    found = {"bundle": BUNDLE, "speaker": SPEAKER, "language": LANGUAGE}
    if "'''" in text or '"""' in text:
        return None  # what looks like a line may be the inside of a string
    inside = False
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            inside = line == "[voice]"
            if not inside and ("voice" in line or not line.endswith("]")):
                return None
        elif not line or line.startswith("#"):
            continue
        elif inside:
            key, _, value = line.partition("=")
            key, value = key.strip(), value.strip()
            if key not in found or not _is_plain(value):
                return None
            found[key] = value[1:-1]
        elif line.lstrip("'\"").startswith("voice"):
            return None  # `voice.speaker = ...` or `voice = {...}`, before any section
    return found


def _is_plain(value: str) -> bool:
    """A basic string without anything that means something else."""
    inner = value[1:-1]
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return False
    return '"' not in inner and "\\" not in inner and inner.isprintable()
