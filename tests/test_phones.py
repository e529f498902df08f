"""The phone front end of the default voice: which words become which sounds, with the files that ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.phones import PhoneFrontEnd
from app.reading import Reading
from app.spans import SpannedText
from app.young_words import SAID

CHECKPOINT = Path(__file__).parent.parent / "engines" / "voices" / "default" / "checkpoint"
SYMBOLS: dict[str, str] = json.loads((CHECKPOINT / "phones.json").read_text(encoding="utf-8"))["symbols"]


@pytest.fixture(scope="module")
def front_end() -> PhoneFrontEnd:
    return PhoneFrontEnd(CHECKPOINT)


def pronounced(front_end: PhoneFrontEnd, text: str) -> str:
    """As the voice reads it: words and marks are all that reaches the lexicon."""
    reading = Reading(language="english", normalize=True, for_lexicon=True)
    return front_end.pronounce(reading.read(SpannedText.of(text), "english").text)


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
        ("the US army", "dh ax0 | y uw1 | eh1 s | aa1 r m iy0 ."),
        ("tell us", "t eh1 l | ah1 s ."),
        ("JOIN US NOW", "jh oy1 n | ah1 s | n aw1 ."),
        ("the IT team", "dh ax0 | ay1 | t iy1 | t iy1 m ."),
        ("the WHO says", "dh ax0 | d ah1 b ax0 l y uw0 | ey1 ch | ow1 | s eh1 z ."),
        ("the WHO's", "dh ax0 | d ah1 b ax0 l y uw0 | ey1 ch | ow1 z ."),
        ("WHO says", "hh uw1 | s eh1 z ."),
        ("the UK's and the FBI's", "dh ax0 | y uw1 | k ey1 z | ae1 n d | dh ax0 | eh1 f | b iy1 | ay1 z ."),
        ("APIs' URLs, urls", "ey1 | p iy1 | ay1 z | y uw1 | aa1 r | eh1 l z , | y uw1 | aa1 r | eh1 l z ."),
        ("all lights OFF", "ao1 l | l ay1 t s | ao1 f ."),
        ("I'M in", "ay1 m | ih0 n ."),
        ("Hmm, Google", "hh m , | g uw1 g ax0 l ."),
        ("Wi Fi", "w ay1 | f ay1 ."),
        ("COVID's", "k ow1 v ih0 d z ."),
        ("a SIM card", "ax0 | s ih1 m | k aa1 r d ."),
    ],
)
def test_words_become_phones(front_end: PhoneFrontEnd, text: str, phones: str) -> None:
    assert pronounced(front_end, text) == spell(phones)


@pytest.mark.parametrize("text", ["", " ", "...", "—", '"?!"'])
def test_nothing_to_say_is_nothing(front_end: PhoneFrontEnd, text: str) -> None:
    assert pronounced(front_end, text) == ""


def test_marks_merge_into_the_strongest_pause(front_end: PhoneFrontEnd) -> None:
    assert pronounced(front_end, "yes, ... no?!").count("?") == 1
    assert pronounced(front_end, "(yes); no").count(",") == 1


def test_every_line_of_the_lexicon_is_found(front_end: PhoneFrontEnd) -> None:
    lines = (CHECKPOINT / "lexicon.txt").read_text(encoding="utf-8").splitlines()
    for line in [*lines[:3], *lines[:: len(lines) // 500], lines[-1]]:
        word, letters = line.split("\t")
        assert front_end.look_up(word) == letters
    for absent in ("", "'", "qqqq", "zzzzzzzz"):
        assert front_end.look_up(absent) is None


def test_young_words_are_not_in_the_lexicon_and_have_sounds_of_the_voice(front_end: PhoneFrontEnd) -> None:
    assert not [word for word in SAID if front_end.look_up(word)]
    assert {phone for phones in SAID.values() for phone in phones.split()} <= SYMBOLS.keys()


def test_unknown_words_get_letters_of_the_alphabet(front_end: PhoneFrontEnd) -> None:
    letters = set(SYMBOLS.values()) | set(" ,.?!")
    said = pronounced(front_end, "Zyxtrapol blorfed kubernetes xqzt GitHub's")
    assert said.endswith(".")
    assert set(said) <= letters
