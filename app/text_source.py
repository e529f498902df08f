"""Text as it comes: from the command line, or from standard input while it is still being written.

Purpose: async iterators of text for a session. Standard input is read by a thread of its own, one piece at a time and
no faster than the session takes it. Knows: file descriptors. Does not know: encodings, what the text says, or what
becomes of it.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Final

from app.text_input import TextDecoder
from engines.errors import SpeechError

_READ_BYTES: Final = 65536


class TextSourceError(SpeechError):
    """The text could not be read."""


async def from_words(words: Sequence[str]) -> AsyncIterator[str]:
    """The words of a command line, as one text. Raises `TextSourceError` where they are not text."""
    text = " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextSourceError(f"the text is not valid UTF-8 (at character {error.start})") from error
    yield text


async def from_descriptor(descriptor: int, name: str) -> AsyncIterator[str]:
    """Text from a file descriptor, as it arrives. Raises `TextSourceError`; `TextInputError` where it is not text."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes | OSError] = asyncio.Queue(1)
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)

    def read() -> None:
        """The reading thread: each piece waits until the last one was taken."""
        try:
            while True:
                try:
                    piece: bytes | OSError = os.read(descriptor, _READ_BYTES)
                except BlockingIOError:  # somebody who has the same end of the pipe open told it not to wait
                    readable.poll()
                    continue
                except OSError as error:
                    piece = error
                asyncio.run_coroutine_threadsafe(arrived.put(piece), loop).result()
                if not piece or isinstance(piece, OSError):
                    return
        except BaseException:
            return  # the loop has gone, and with it whoever wanted the text

    threading.Thread(target=read, name="speakd-stdin", daemon=True).start()
    decoder = TextDecoder()
    while True:
        piece = await arrived.get()
        if isinstance(piece, OSError):
            raise TextSourceError(f"cannot read {name}: {piece.strerror}") from piece
        text = decoder.feed(piece) if piece else decoder.finish()
        if text:
            yield text
        if not piece:
            return
