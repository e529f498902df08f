"""What comes in by raw framing: a stream of lines, one JSON message each, so that a shell can pipe into it.

Purpose: `RawLines` finds the lines in text or binary messages that are cut anywhere. Knows: line ends, a bound, what a
whole JSON object is. Does not know: what is in a message.
"""

from __future__ import annotations

import msgspec


class RawLines:
    """The lines of one socket."""

    def __init__(self, most_bytes: int) -> None:
        """A line that grows beyond `most_bytes` is given as it is, to be refused."""
        self._most_bytes = most_bytes
        self._begun = b""
        """The beginning of a line."""

    def feed(self, data: str | bytes) -> list[bytes]:
        """The lines that are whole with this, without those that are empty."""
        self._begun += data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        *lines, self._begun = self._begun.split(b"\n")
        over = len(self._begun) > self._most_bytes or (isinstance(data, str) and not lines)
        if self._begun and (over or _is_whole(self._begun)):
            lines, self._begun = [*lines, self._begun], b""  # too long to go on, or a whole message without a line end
        return [line for line in lines if line.strip()]


def _is_whole(line: bytes) -> bool:
    """Whether no more of a line is needed: the last one of a file often has no end, and no part of an object is one."""
    try:
        return line.endswith((b"}", b"}\r")) and msgspec.json.decode(line) is not None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
