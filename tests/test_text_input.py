"""Decoding a stream of bytes: any cutting gives the same text, and errors name the byte."""

from __future__ import annotations

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


def test_the_message_is_one_line_with_a_remedy() -> None:
    with pytest.raises(TextInputError) as caught:
        decode(b"caf\xe9 au lait", 100)
    assert str(caught.value) == (
        "the text is not valid UTF-8: byte 0xe9 at offset 3 (invalid continuation byte); "
        "convert it first, for instance with iconv -t UTF-8"
    )
