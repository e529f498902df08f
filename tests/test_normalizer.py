"""The normaliser: a table of written and spoken English, spans, and hostile input."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.addresses import speak_addresses
from app.language import LanguageGuess
from app.markup import strip_markup
from app.normalizer import normalize
from app.spans import SpannedText
from tests.spoken_english import SPOKEN

CASES = [(written, spoken) for table in SPOKEN.values() for written, spoken in table.items()]
BRICKS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "$",
                "5",
                "1,000",
                ".",
                "-",
                "km",
                "7:05",
                "p.m.",
                "Dr.",
                "1/2",
                "2026-11-20",
                "IV",
                "%",
                "\u00b0",
                "@",
                "#",
            ]
        ),
        st.sampled_from(
            [" ", "  ", ", ", "(", "555", "0", "No.", "\u00bd", "'90s", "v2", "Jan.", "I", "x", "T", "\u0660", "\u4e00"]
        ),
        st.text(max_size=3),
    ),
    max_size=20,
).map("".join)


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 150


@pytest.mark.parametrize(("written", "spoken"), CASES)
def test_reads(written: str, spoken: str) -> None:
    assert normalize(SpannedText.of(written)).text == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("# A heading", "A heading"),
        ("- an *item* with **strong** words", "an item with strong words"),
        ("* [ ] a task", "a task"),
        ("> quoted", "quoted"),
        ("run `make all` now", "run make all now"),
        ("see [the page](https://example.com/a_b?c=d) for more", "see the page for more"),
        ("![a cat](cat.png)", "a cat"),
        ("| a | b |", "a, b"),
        ("a<br>b <b>bold</b>", "a b  bold "),
        ("as shown [1] and [^2]", "as shown  and "),
        ("snake_case and _emphasis_", "snake_case and emphasis"),
        ("see <https://a.b/c> and <mailto:x@y.z>", "see https://a.b/c and x@y.z"),
        ("2 * 3", "2 \u00d7 3"),
        ("```python", ""),
        ("---", ""),
        ("5 < 6 > 4", "5 < 6 > 4"),
        ("plain text - really", "plain text - really"),
    ],
)
def test_marks_for_the_eye_go(written: str, spoken: str) -> None:
    assert strip_markup(SpannedText.of(written)).text == spoken


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("mail a.b@example.com now", "mail a dot b at example dot com now"),
        ("see https://www.example.com/x/y?q=1#z.", "see example dot com slash x slash y."),
        ("see http://example.org/" + "a" * 48, "see example dot org slash " + "a" * 48),
        ("see http://example.org/" + "a" * 49, "see example dot org"),
        ("open my.Data.csv", "open my dot Data dot csv"),
        ("go to example.com, or www.test.io/a", "go to example dot com, or test dot io slash a"),
        ("open main.py and README.md", "open main dot py and README dot md"),
        ("in /usr/bin/env", "in slash usr slash bin slash env"),
        ("snake_case", "snake case"),
        ("read docs/the-log.md", "read docs slash the dash log dot md"),
        ("e.g. this i.e. that at 5 p.m. sharp", "e.g. this i.e. that at 5 p.m. sharp"),
        ("The end.Next one", "The end.Next one"),
        ("km/h and he/she", "km/h and he/she"),
        ("3.5 and 1/2", "3.5 and 1/2"),
    ],
)
def test_addresses_are_spoken(written: str, spoken: str) -> None:
    assert speak_addresses(SpannedText.of(written)).text == spoken


def test_words_are_left_alone_without_loading_the_rules() -> None:
    code = (
        "import sys\nfrom app.normalizer import normalize\nfrom app.spans import SpannedText\n"
        "text = SpannedText.of('Hello there, my friend. It is \"fine\" - really (I think)!')\n"
        "assert normalize(text) is text\n"
        "assert not {'app.english', 'num2words', 'wetext', 'tokenizers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_spoken_words_point_at_what_was_written() -> None:
    written = "It cost $3.50 on 2026-11-20."
    spoken = normalize(SpannedText.of(written))
    words = ((found.group(), spoken.span(*found.span())) for found in re.finditer(r"\S+", spoken.text))
    assert [(word, written[start:end]) for word, (start, end) in words] == [
        ("It", "It"),
        ("cost", "cost"),
        *((word, "$3.50") for word in ("three", "dollars", "and", "fifty", "cents")),
        ("on", "on"),
        *((word, "2026-11-20") for word in ("November", "twentieth,", "twenty", "twenty")),
        ("six.", "2026-11-20."),
    ]


@given(BRICKS)
def test_anything_is_read_without_failing(text: str) -> None:
    found = speak_addresses(strip_markup(SpannedText.of(text)))
    found = normalize(found)
    assert not any(c.isascii() and c.isdigit() for c in found.text)
    assert len(found.offsets) == len(found.text) + 1
    assert list(found.offsets) == sorted(found.offsets)
    assert all(0 <= offset <= len(text) for offset in found.offsets)


@pytest.mark.parametrize(
    "unit", ["1", "1,", "1-", "1.", "$", "a.", "1/", "1:", "A.", "I", "(", "[", "[a](", "<b", "a@", "a.b/", "_", " 1"]
)
def test_the_longest_segment_of_anything_is_read(unit: str) -> None:
    text = SpannedText.of((unit * 600)[:600])
    found = normalize(speak_addresses(strip_markup(text)))
    assert len(found) <= 600 * 12


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Das Paket ist 5 km entfernt", False),
        ("Le train part \u00e0 7:05", False),
        ("Cuesta 5 euros por la noche", False),
        ("The parcel is 5 km away", True),
        ("7:05", True),
        ("\u4eca\u5929\u662f 2026 \u5e74", False),
        ("Wi-Fi 6 and Bluetooth", True),
        ("caf\u00e9 at the corner", True),
        ("Chicago, IL 60601", True),
        ("Meet me in Las Vegas on Nov. 3", True),
        ("Los Angeles, CA 90210", True),
        ("Heute kostet Milch 2 Euro.", False),
        ("Treffen um 8:30 Uhr.", False),
        ("Milch 1,50 EUR", False),
        ("Termin: 17.05.2026", False),
        ("J'ai 25 ans.", False),
        ("Rendez-vous 14h30", False),
        ("Tengo 25 euros.", False),
        ("Ci vediamo alle 8:30.", False),
        ("O Sr. Silva pagou R$ 1.234,56", False),
        ("Tenho 25 amigos.", False),
    ],
)
def test_auto_reads_only_english(text: str, english: bool) -> None:
    assert (LanguageGuess().of(text) == "english") is english


def test_a_text_that_tells_nothing_is_taken_for_what_came_before() -> None:
    guess = LanguageGuess()
    texts = ("7:05", "Das ist nicht viel.", "7:05", "For 7:05", "That is all.", "7:05", "und")
    assert [guess.of(text) for text in texts] == ["english", "", "", "", "english", "english", "english"]
