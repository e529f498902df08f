"""Chinese and Japanese: what is read, where it came from, and what is left alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.east_asian import normalize_east_asian
from app.language import LanguageGuess
from app.spans import SpannedText


@pytest.mark.parametrize(
    ("language", "written", "spoken"),
    [
        (
            "chinese",
            "\u4eca\u5929\u662f2026\u5e7411\u670820\u65e5\u3002",
            "\u4eca\u5929\u662f\u4e8c\u96f6\u4e8c\u516d\u5e74\u5341\u4e00\u6708\u4e8c\u5341\u65e5\u3002",
        ),
        ("chinese", "1\u6b21", "\u4e00\u6b21"),
        ("chinese", "\u6da8\u4e8650%", "\u6da8\u4e86\u767e\u5206\u4e4b\u4e94\u5341"),
        ("chinese", "\u8dd1\u4e865km", "\u8dd1\u4e86\u4e94\u516c\u91cc"),
        (
            "japanese",
            "3\u664230\u5206\u306b5\u4eba\u6765\u305f\u3002",
            "\u4e09\u6642\u4e09\u5341\u5206\u306b\u4e94\u4eba\u6765\u305f\u3002",
        ),
    ],
)
def test_reads(language: str, written: str, spoken: str) -> None:
    found = normalize_east_asian(SpannedText.of(written), language)
    assert found.text == spoken
    assert found.span() == (0, len(written))


def test_spans_point_at_what_was_written() -> None:
    written = "\u6c14\u6e29-5\u00b0C\uff0c\u6da8\u4e8650%\u3002"
    found = normalize_east_asian(SpannedText.of(written), "chinese")
    start = found.text.index("\u767e\u5206")
    assert written[slice(*found.span(start, start + 5))] == "50%"


@settings(max_examples=40)
@given(st.text(st.sampled_from("\u4f60\u597d\uff0c\u3002\u5e74\u6708\u65e50123456789.:-/%\u00a5 kmA"), max_size=30))
def test_anything_is_read_without_failing(text: str) -> None:
    for language in ("chinese", "japanese"):
        found = normalize_east_asian(SpannedText.of(text), language)
        assert len(found.offsets) == len(found.text) + 1
        assert list(found.offsets) == sorted(found.offsets)


def test_words_are_left_alone_without_loading_the_grammars() -> None:
    code = (
        "import sys\nfrom app.east_asian import normalize_east_asian\nfrom app.spans import SpannedText\n"
        "text = SpannedText.of('\u4f60\u597d\uff0c\u4e16\u754c\u3002')\n"
        "assert normalize_east_asian(text, 'chinese') is text\nassert 'wetext' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("\u4eca\u5929\u662f2026\u5e74", "chinese"),
        ("5\u4eba\u304c\u6765\u305f", "japanese"),
        ("\u4e00 \uc548\ub155", ""),
        ("It is 5 km", "english"),
        ("Das ist nicht 5 km", ""),
    ],
)
def test_the_language_is_guessed_by_script(text: str, language: str) -> None:
    assert LanguageGuess().of(text) == language
