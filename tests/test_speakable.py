"""Text for a lexicon: words and marks only, whatever came in, in bounded time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.spans import SpannedText
from app.speakable import speakable

ALLOWED = re.compile(r"(?:[A-Za-z']+(?:[,.?!;:]? [A-Za-z']+)*[,.?!;:])?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello there", "hello there."),
        ("Hello, it's me!", "Hello, it's me!"),
        ("wait... what", "wait, what."),
        ("so he left\u2026", "so he left."),
        ("\u201cYes,\u201d he said", "Yes, he said."),
        ("it\u2019s the dogs\u2019 bowl", "it's the dogs bowl."),
        ("'quoted' and 'n' roll", "quoted and n roll."),
        ("a well-known fact - really \u2014 yes", "a well known fact, really, yes."),
        ("he (as always) slept", "he, as always, slept."),
        ("what?! no!", "what? no!"),
        ("na\u00efve caf\u00e9 \u0152uvre \u0141\u00f3d\u017a stra\u00dfe", "naive cafe Oeuvre Lodz strasse."),
        ("\u03c0 and \u0394 and \u00b5", "pi and delta and mu."),
        ("\u041f\u0440\u0438\u0432\u0435\u0442, world", "world."),
        ("\u4f60\u597d\u3002", ""),
        ("Plan A, vitamin A pills. A dog", "Plan ay, vitamin ay pills. A dog."),
        ("at nine AM and I AM here", "at nine ay em and I AM here."),
        ("one; two: three", "one; two: three."),
        (", . leading", "leading."),
        ("--- !", ""),
        ("", ""),
        ("cut at a clause,", "cut at a clause,"),
        ("Hawai\u02bbi, Hawai\u2018i", "Hawai'i, Hawai'i."),
        ("eggs (a dozen)", "eggs, a dozen."),
        ("call foo()", "call foo."),
        ("the last Fl., New York", "the last Fl, New York."),
        ("he said (\u201cyes\u201d).", "he said, yes."),
        ("fine (really?)", "fine, really?"),
        ("cut behind (a bracket),", "cut behind, a bracket,"),
        ("I have 4 cats in room 20", "I have four cats in room two zero."),
    ],
)
def test_becomes(text: str, expected: str) -> None:
    assert speakable(SpannedText.of(text)).text == expected


@given(st.text(st.one_of(st.sampled_from("aA' ,.?!;:-\u2014()\u2026\u00e9"), st.characters()), max_size=50))
def test_only_words_and_marks(text: str) -> None:
    found = speakable(SpannedText.of(" ".join(text.split())))
    assert ALLOWED.fullmatch(found.text)
    assert len(found.offsets) == len(found.text) + 1
    assert list(found.offsets) == sorted(found.offsets)


@pytest.mark.parametrize(
    "unit", ["a", "a ", "a, ", "it's ", "' ", "- ", ", ", "(", "a'", "\u2026 ", "A ", '."', "\u00e9\u0301"]
)
@pytest.mark.parametrize("end", ["", "\u00e9", "@"])
def test_the_longest_segment_of_anything(unit: str, end: str) -> None:
    text = (unit * 600)[:600] + end
    assert ALLOWED.fullmatch(speakable(SpannedText.of(text)).text)


def test_a_long_sentence_with_a_strange_end() -> None:
    """A pattern that tries every way to cut a sentence would never come back from this."""
    text = "he came and went, and came again, and it's said that he slept there " * 8 + "\u2603"
    assert speakable(SpannedText.of(text)).text.endswith("slept there.")
