"""Text read in another process: the same pieces and ids as here, in order, and streams that do not mix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.bundle_reader import BundleReader, Reader
from app.executor import BoundedExecutor
from app.remote_reader import RemoteReader
from app.text_piece import FrontEnd, TextPiece
from app.text_process import TextProcess

STORY = "Dr. Smith left at 7:05 p.m. on Nov. 3rd, 1999; it cost $3.50. Was it far? It was 12 km.\n\nSee chapter IV."
WORDS = ("Dr. ", "$5 ", "12:30", ". ", "! ", "\n\n", "\n- ", " ", "word ", "\u4f60\u597d\u3002", "<|im_end|>", "1,024 ")
WILD = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=30).map("".join)
LANGUAGES = ("auto", "english", "chinese")


@pytest.fixture(scope="module")
def pair(tiny_bundle: Path) -> Iterator[tuple[Reader, Reader]]:
    """A reader here and one in another process."""
    executor = BoundedExecutor("text", workers=1, max_waiting=8)
    running = TextProcess(executor, patience_s=30.0)
    yield BundleReader(tiny_bundle), RemoteReader(running, tiny_bundle)
    running.end()
    executor.shutdown()


def read(front_end: FrontEnd, *texts: str) -> list[TextPiece]:
    return [piece for text in texts for piece in front_end.feed(text)] + front_end.finish()


@settings(max_examples=60)
@given(WILD, st.lists(st.integers(0, 150), max_size=6), st.sampled_from(LANGUAGES))
def test_the_pieces_are_those_of_the_front_end(
    pair: tuple[Reader, Reader], text: str, cuts: list[int], language: str
) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    parts = [text[start:end] for start, end in itertools.pairwise(places)]
    here, there = (reader.front_end(language) for reader in pair)
    for part in parts:
        assert there.feed(part) == here.feed(part)
        assert there.early() == here.early()
    assert there.finish() == here.finish()
    pair[1].release(there)


@given(st.text(max_size=60))
def test_instruct_ids_are_the_same(pair: tuple[Reader, Reader], text: str) -> None:
    here, there = pair
    assert there.instruct_ids(text) == here.instruct_ids(text)


def test_streams_do_not_mix(pair: tuple[Reader, Reader]) -> None:
    here, there = pair
    streams = [there.front_end("english") for _ in range(5)]
    found: list[list[TextPiece]] = [[] for _ in streams]
    texts = [f"Number {index}. {STORY}" for index in range(5)]
    for start in range(0, 200, 7):
        for stream, pieces, text in zip(streams, found, texts, strict=True):
            pieces.extend(stream.feed(text[start : start + 7]))
    for stream, pieces, text in zip(streams, found, texts, strict=True):
        assert pieces + stream.finish() == read(here.front_end("english"), text)
