"""Bytes of a pipe become text as they come.

Purpose: incremental UTF-8 decoding with one clear error that says where the input is wrong.
Knows: UTF-8 and its byte order mark. Does not know: where the bytes come from, what the text means.
"""

from __future__ import annotations

import codecs

from engines.errors import SpeechError


class TextInputError(SpeechError):
    """The input is not text; the message names the place."""


class TextDecoder:
    """Decodes one stream; at most three bytes of an unfinished character are remembered."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._decoded_bytes = 0
        """Bytes of the stream that are behind us, without those the decoder still holds."""

    def feed(self, data: bytes) -> str:
        """Text of the next bytes. Raises `TextInputError`."""
        return self._decode(data, final=False)

    def finish(self) -> str:
        """The end of the stream. Raises `TextInputError` if it stops inside a character."""
        return self._decode(b"", final=True)

    def _decode(self, data: bytes, *, final: bool) -> str:
        held = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            place = self._decoded_bytes + error.start
            found = error.object[error.start]
            likely = "UTF-16" if place == 0 and found in {0xFE, 0xFF} else "WINDOWS-1252"  # its byte order mark
            raise TextInputError(
                f"the text is not valid UTF-8: byte 0x{found:02x} at offset {place} ({error.reason}); "
                f"convert it first, for instance with iconv -f {likely} -t UTF-8"
            ) from error
        first = self._decoded_bytes == 0
        self._decoded_bytes += held + len(data) - len(self._decoder.getstate()[0])
        return text.removeprefix("\ufeff") if first else text
