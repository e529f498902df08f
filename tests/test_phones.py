"""The phone front end of the default voice: which words become which sounds, with the files that ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.phones import PhoneFrontEnd

CHECKPOINT = Path(__file__).parent.parent / "engines" / "voices" / "default" / "checkpoint"
SYMBOLS: dict[str, str] = json.loads((CHECKPOINT / "phones.json").read_text(encoding="utf-8"))["symbols"]


@pytest.fixture(scope="module")
def front_end() -> PhoneFrontEnd:
    return PhoneFrontEnd(CHECKPOINT)


def spell(phones: str) -> str:
    """`hh ax0 | w er1 l d` as letters; a bar is a space."""
    return "".join(" " if phone == "|" else SYMBOLS.get(phone, phone) for phone in phones.split())


@pytest.mark.parametrize(
    ("text", "phones"),
    [
        ("Hello world.", "hh ax0 l ow1 | w er1 l d ."),
        ("hello, WORLD!", "hh ax0 l ow1 , | w er1 l d !"),
        ("cat's", "k ae1 t s ."),
        ("dog's", "d ao1 g z ."),
        ("the USA", "dh ax0 | y uw1 | eh1 s | ey1 ."),
        ("CDs", "s iy1 | d iy1 z ."),
        ("don\u2019t", "d ow1 n t ."),
        ("café", "k ax0 f ey1 ."),
        ("4", "f ao1 r ."),
        ("websocket", "w eh1 b s aa1 k ax0 t ."),
    ],
)
def test_words_become_phones(front_end: PhoneFrontEnd, text: str, phones: str) -> None:
    assert front_end.pronounce(text) == spell(phones)


@pytest.mark.parametrize("text", ["", " ", "...", "—", '"?!"'])
def test_nothing_to_say_is_nothing(front_end: PhoneFrontEnd, text: str) -> None:
    assert front_end.pronounce(text) == ""


def test_marks_merge_into_the_strongest_pause(front_end: PhoneFrontEnd) -> None:
    assert front_end.pronounce("yes, ... no?!").count("?") == 1
    assert front_end.pronounce("(yes); no").count(",") == 1


def test_every_line_of_the_lexicon_is_found(front_end: PhoneFrontEnd) -> None:
    lines = (CHECKPOINT / "lexicon.txt").read_text(encoding="utf-8").splitlines()
    for line in [*lines[:3], *lines[:: len(lines) // 500], lines[-1]]:
        word, letters = line.split("\t")
        assert front_end.look_up(word) == letters
    for absent in ("", "'", "qqqq", "zzzzzzzz"):
        assert front_end.look_up(absent) is None


def test_unknown_words_get_letters_of_the_alphabet(front_end: PhoneFrontEnd) -> None:
    letters = set(SYMBOLS.values()) | set(" ,.?!")
    said = front_end.pronounce("Zyxtrapol blorfed kubernetes xqzt GitHub's")
    assert said.endswith(".")
    assert set(said) <= letters
