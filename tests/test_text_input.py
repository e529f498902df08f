"""Decoding a stream of bytes: any cutting gives the same text, and errors name the byte."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text_input import TextDecoder, TextInputError


def decode(data: bytes, size: int) -> str:
    decoder = TextDecoder()
    pieces = [decoder.feed(data[start : start + size]) for start in range(0, len(data), size)]
    return "".join(pieces) + decoder.finish()


@given(st.text(), st.integers(1, 7))
def test_any_cutting_gives_the_text(text: str, size: int) -> None:
    assert decode(text.encode(), size) == text.removeprefix("\ufeff")


@given(st.binary(max_size=40), st.integers(1, 7))
def test_an_error_names_the_byte_however_the_input_is_cut(data: bytes, size: int) -> None:
    try:
        expected = data.decode()
    except UnicodeDecodeError as error:
        with pytest.raises(TextInputError, match=f"0x{data[error.start]:02x} at offset {error.start} "):
            decode(data, size)
    else:
        assert decode(data, size) == expected.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("encoding", "place", "source"),
    [
        ("cp1252", "byte 0xe9 at offset 3 (invalid continuation byte)", "WINDOWS-1252"),
        ("utf-16", "byte 0xff at offset 0 (invalid start byte)", "UTF-16"),
    ],
)
def test_the_message_is_one_line_with_a_remedy(encoding: str, place: str, source: str) -> None:
    written = "caf\xe9 au lait"
    with pytest.raises(TextInputError) as caught:
        decode(written.encode(encoding), 1)
    remedy = f"iconv -f {source} -t UTF-8"
    assert str(caught.value) == (f"the text is not valid UTF-8: {place}; convert it first, for instance with {remedy}")
    done = subprocess.run(remedy.split(), input=written.encode(encoding), capture_output=True, check=True, timeout=60)
    assert done.stdout.decode() == written
