"""The cleaner: nothing harmful survives, nothing readable is lost, and the cutting of the input does not matter."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.hygiene import Cleaner
from app.spans import SpannedText

CONTROLS = ("<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tool_call>")
NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from("<|>_aeimnpstd \n\r\t.!*\x00\x1b[m"),
        st.sampled_from("\u0301\u0327\u200b\u202e\ufeff\ud800\u2764\U0001f600\u1100\u1161\u11a8"),
        st.characters(),
    ),
    max_size=60,
)


def clean(*pieces: str) -> str:
    return cleaned(*pieces).text


def cleaned(*pieces: str) -> SpannedText:
    cleaner = Cleaner(CONTROLS)
    out = SpannedText.of("")
    for piece in pieces:
        out = out + cleaner.feed(piece)
    return out + cleaner.finish()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("\n\n  Hello", "Hello"),
        ("Hello \n\n", "Hello"),
        ("", ""),
        (" \t\n ", ""),
        ("a\x00b\x07c", "abc"),
        ("zero\u200bwidth \u202ebidi\u202c soft\u00adhyphen", "zerowidth bidi softhyphen"),
        ("lone \ud83d surrogate", "lone surrogate"),
        ("no\u00a0break \u2003em", "no break em"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("one\u2028two\u2029\u2029three", "one\ntwo\n\nthree"),
        ("one \n \n\n two", "one\n\ntwo"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00"),
        ("z" + "\u0301\u0302" * 50, unicodedata.normalize("NFC", "z" + "\u0301\u0302" * 4)),
        ("\U0001f600\U0001f468\u200d\U0001f469\ufe0f", ""),
        ("great\U0001f44dthanks", "great thanks"),
        ("I \u2764\ufe0f it", "I it"),
        ("72\u00b0F \u20ac5 \u00a9 \u2122 \u2192 \u00bd", "72\u00b0F \u20ac5 \u00a9 \u2122 \u2192 \u00bd"),
        ("\x1b[1;31mred\x1b[0m text", "red text"),
        ("a <|im_end|> b", "a b"),
        ("a<|im_<|im_end|>end|>b", "a<|im_ end|>b"),
        ("a<|im\u200b_end|>b", "a b"),
        ("<|never_heard_of|>x", "x"),
        ("x <tts_pad><tts_text_bos> y", "x y"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("wait......... what!!!!!!!", "wait... what!!!"),
        ("\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u4f60\u597d\uff0c\u4e16\u754c\u3002"),
    ],
)
def test_cleans(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@example("0\r\n0", [])
@given(NASTY, st.lists(st.integers(0, 60), max_size=8))
def test_any_cutting_gives_the_same(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert clean(*pieces) == clean(*text) == clean(text)


@given(NASTY)
def test_laws_of_the_result(text: str) -> None:
    found = cleaned(text)
    assert not any(control in found.text for control in CONTROLS)
    assert all(unicodedata.category(c) not in {"Cf", "Cs", "Co"} for c in found.text)
    assert all(unicodedata.category(c) != "Cc" or c == "\n" for c in found.text)
    assert found.text == found.text.strip()
    assert unicodedata.is_normalized("NFC", found.text)
    assert "  " not in found.text
    assert len(found.offsets) == len(found.text) + 1
    assert list(found.offsets) == sorted(found.offsets)
    assert found.offsets[-1] == len(text)


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=40))
def test_what_people_write_stays(text: str) -> None:
    kept = "".join(clean(text).split())
    expected = unicodedata.normalize("NFC", text)
    assert sum(c.isalnum() for c in kept) >= sum(c.isalnum() and ord(c) < 0x1000 for c in expected)


def test_every_format_and_private_character_is_removed() -> None:
    unseen = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in {"Cf", "Co", "Cs"}]
    for at in range(0, len(unseen), 100):
        some = unseen[at : at + 100]
        assert clean("".join(f"a{one}b" for one in some)) == "ab" * len(some), f"one of {some[0]!a} to {some[-1]!a}"


def test_offsets_point_into_the_original() -> None:
    text = "  e\u0301 \U0001f600 caf\u00e9 <|im_end|>!"
    found = cleaned(text)
    assert found.text == "\u00e9 caf\u00e9 !"
    start, end = found.span(2, 6)
    assert text[start:end] == "caf\u00e9"
    assert found.span(0, 1) == (2, 4)


@pytest.mark.parametrize("character", ["\u0301", "\u1161", ".", " ", "\n", "<", "\x1b", "\u200b", "\U0001f600", "|"])
def test_what_is_held_is_bounded(character: str) -> None:
    cleaner = Cleaner(CONTROLS)
    for _ in range(50):
        cleaner.feed(character * 1000)
    held = len(cleaner._cluster) + len(cleaner._unfinished) + len(cleaner._run)
    assert held <= 100


def test_feeding_goes_on_after_finish() -> None:
    cleaner = Cleaner()
    first = cleaner.feed("one ") + cleaner.finish()
    second = cleaner.feed("  two") + cleaner.finish()
    assert (first.text, second.text) == ("one", "two")
    assert second.span() == (6, 9)
