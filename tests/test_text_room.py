"""A text that is longer than one context may have, or takes longer to come than one waits."""

from __future__ import annotations

import pytest

from app.text_room import Relay, cut


@pytest.mark.parametrize(
    ("text", "room", "place"),
    [
        ("One. Two.", 100, None),
        ("One. Two. Three", 12, 10),
        ("One.\n\nTwo. Three", 12, 6),
        ("One, two, three", 12, 10),
        ("One, two", 9, None),
        ("One two. ", 9, 9),
        ("One two", 7, None),
        ("One. Two.", 19, None),
        ("One. Two.", 18, 5),
        ("Donaudampfschiff", 7, 7),
        ("One.", 0, 0),
    ],
)
def test_cut(text: str, room: int, place: int | None) -> None:
    assert cut(text, room, 100) == place


def test_a_full_context_hands_the_text_on_and_one_that_was_left_alone_too() -> None:
    relay = Relay(20, 100)
    relay.begin()
    assert relay.put("One. Two.") == ("One. Two.", "", False)
    assert relay.put("Three. Four. Five.") == ("Three. ", "Four. Five.", True)
    relay.taken()
    relay.taken()
    assert relay.ending
    assert not relay.done(1)
    assert not relay.open
    assert not relay.again()
    relay.begin()
    assert relay.put("Four. Five.") == ("Four. Five.", "", False)
    relay.taken()
    relay.ending = True
    assert not relay.done(1)
    relay.begin()
    relay.written = True
    assert relay.done(1)


def test_what_a_context_did_not_take_begins_the_next() -> None:
    relay = Relay(20, 4)
    relay.begin()
    rest, put = "One. Two.", []
    while rest:
        piece, rest, _ = relay.put(rest)
        put.append(piece)
    assert put == ["One.", " Two", "."]
    relay.taken()
    relay.ending = relay.written = True
    assert not relay.done(1), "though all was written"
    assert relay.again() == [" Two", "."]
    assert relay.open
    relay.taken()
    relay.taken()
    assert relay.done(1)


@pytest.mark.parametrize(("text", "frames", "told"), [("One.", 0, True), ("One.", 1, False), ("...", 0, False)])
def test_words_of_which_nothing_came_are_told(text: str, frames: int, told: bool) -> None:
    relay = Relay(20, 4)
    relay.begin()
    relay.put(text)
    relay.done(frames)
    assert bool(relay.unreadable) is told
