"""Words that no rule takes together with what follows. Where they are read early is `test_word_pieces`'s."""

from __future__ import annotations

import pytest

from app.certain import certain_length


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("they went home again ", "they went home"),
        ("they went home again", "they went"),
        ("it took five million dollars ", "it took"),
        ("see [the page over there ", ""),
        ("they met on the 5th of may this year ", "they met on the 5th of may this"),
        ("they met on the 5th of may this", "they met"),
        ("5 km from here to there ", "5 km from"),
    ],
)
def test_what_is_certain(text: str, certain: str) -> None:
    assert text[: certain_length(text)] == certain


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("we (saw them) and then they went home", "we (saw them) and then they"),
        ("we ) saw them and then they went home", "we ) saw them and then they"),
        ("we (saw them and then they went home", ""),
        ("we ((saw) them and then they went home", ""),
    ],
)
def test_words_behind_a_bracket_are_certain_once_it_has_ended(text: str, certain: str) -> None:
    assert text[: certain_length(text)] == certain
