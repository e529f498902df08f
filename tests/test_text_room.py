"""Where a text is cut that is longer than one context may have."""

from __future__ import annotations

import pytest

from app.text_room import cut


@pytest.mark.parametrize(
    ("text", "room", "place"),
    [
        ("One. Two.", 100, None),
        ("One. Two. Three", 12, 10),
        ("One.\n\nTwo. Three", 12, 6),
        ("One, two, three", 12, 10),
        ("One, two", 9, None),
        ("One two. ", 9, 9),
        ("Donaudampfschiff", 7, 7),
        ("One.", 0, 0),
    ],
)
def test_cut(text: str, room: int, place: int | None) -> None:
    assert cut(text, room, 100) == place
