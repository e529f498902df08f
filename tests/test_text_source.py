"""Text that comes while it is being spoken, through a real pipe."""

from __future__ import annotations

import asyncio
import os

import pytest

from app.text_input import TextInputError
from app.text_source import TextSourceError, from_descriptor, from_words
from tests.daemon_rig import play


@pytest.mark.parametrize("waits", [True, False])
def test_a_pipe_is_read_as_it_fills(waits: bool) -> None:
    """A pipe that does not wait is what a program leaves behind that reads the same standard input by an event loop."""

    async def scenario() -> None:
        ours, theirs = os.pipe()
        os.set_blocking(ours, waits)
        texts = from_descriptor(ours, "the pipe")
        for piece in ("gr\u00e4", "y"):
            coming = asyncio.ensure_future(anext(texts))
            assert not (await asyncio.wait((coming,), timeout=0.05))[0]
            os.write(theirs, piece.encode())
            assert await coming == piece
        os.close(theirs)
        assert [text async for text in texts] == []
        os.close(ours)

    play(scenario())


def test_words_that_are_no_text_are_refused() -> None:
    async def scenario() -> None:
        assert [text async for text in from_words(("two", "words"))] == ["two words"]
        with pytest.raises(TextSourceError, match=r"not valid UTF-8 \(at character 4\)"):
            await anext(from_words(("two", "\udcff")))

    play(scenario())


def test_a_pipe_that_ends_inside_a_character_is_not_taken_for_whole() -> None:
    async def scenario() -> None:
        ours, theirs = os.pipe()
        os.write(theirs, "grä".encode()[:-1])
        os.close(theirs)
        texts = from_descriptor(ours, "the pipe")
        assert await anext(texts) == "gr"
        with pytest.raises(TextInputError, match="byte 0xc3 at offset 2"):
            await anext(texts)
        os.close(ours)

    play(scenario())


def test_what_cannot_be_read_is_named() -> None:
    async def scenario() -> None:
        folder = os.open("/", os.O_RDONLY)
        with pytest.raises(TextSourceError, match="cannot read the folder: Is a directory"):
            await anext(from_descriptor(folder, "the folder"))
        os.close(folder)

    play(scenario())
