"""Line breaks: which lines end and which go on, whatever the cutting."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.front_end import TextFrontEnd
from app.hygiene import Cleaner
from app.lines import Lines
from app.spans import SpannedText
from tests.test_tokenizer import TEXT

PROSE = (
    "When somebody wraps prose to a width, each line is as full as the next\nword allows, also where that word is "
    "longer than most, as in the case of\nconstitutionally, and also where it is a name, as in the case of\n"
    "Constantinople, which is long. Then came\nhttps://example.com/an/address/that/no/line/could/take\nand the end."
)
WRITING = st.lists(
    st.sampled_from(
        [
            "milk",
            " of ",
            "Bread",
            "\n",
            "\n",
            "\n\n",
            "\n- ",
            "> ",
            "\n> ",
            "12",
            ", ",
            ". ",
            "-",
            "``` ",
            "===",
            "|",
            "w" * 30,
            "\u65e5",
            "\u3042" * 16,
        ]
    ),
    max_size=30,
).map("".join)


class Loud:
    """Pronounces by spelling as it is written."""

    def pronounce(self, text: str) -> str:
        return text


def read(*pieces: str, closes: bool = False) -> SpannedText:
    cleaner, lines = Cleaner(), Lines(closes=closes)
    found = SpannedText.of("")
    for piece in pieces:
        found += lines.feed(cleaner.feed(piece))
    return found + (lines.feed(cleaner.finish()) + lines.finish())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Shopping list:\nmilk\ntwo eggs\nbread", "Shopping list:\nmilk,\ntwo eggs,\nbread"),
        ("milk\na bag of brown basmati rice\noil", "milk,\na bag of brown basmati rice,\noil"),
        (
            "Whose woods these are I think I know\nHis house is in the village though",
            "Whose woods these are I think I know,\nHis house is in the village though",
        ),
        ("Best regards,\nJohn Miller\n+1 415 555 0132", "Best regards,\nJohn Miller\n+1 415 555 0132"),
        ("12 Main St\nSpringfield\n62704", "12 Main St,\nSpringfield,\n62704"),
        ("**Name**\n(John)\nhere", "**Name**,\n(John),\nhere"),
        ("a well-\nknown thing\nis here", "a well-\nknown thing\nis here"),
        ("\u201eFaust\u201c\n\u00bbHamlet\u00ab\n\u00bfpan?", "\u201eFaust\u201c,\n\u00bbHamlet\u00ab,\n\u00bfpan?"),
        ("# Title\ntext", "# Title\ntext"),
        ("one\n- two\n3. three", "one\n- two\n3. three"),
        ("Title\n=====\ntext", "Title.\n===\ntext"),
        ("now run\n```sh\nls\n```\ndone", "now run.\n```sh\nls.\n```\ndone"),
        ("Call me at 415\n555 0132", "Call me at 415\n555 0132"),
        ("100\n200", "100,\n200"),
        ("Rome: 72\u00b0\nOslo: 50%\nBern: 3 \u20ac\nthat", "Rome: 72\u00b0,\nOslo: 50%,\nBern: 3 \u20ac,\nthat"),
        ("From: Bob <bob@x.org>\nTo: Amy", "From: Bob <bob@x.org>,\nTo: Amy"),
        ("<ul>\n<li>milk</li>\nBob", "<ul>\n<li>milk</li>\nBob"),
        ("| a | b |\n| c | d |", "| a | b |\n| c | d |"),
        ("one two\n\nthree", "one two\n\nthree"),
        ("\u4f60\u597d\n\u4f60", "\u4f60\u597d\n\u4f60"),
        ("사과\n바나나 2개\n딸기", "사과,\n바나나 2개,\n딸기"),
        ("오늘 회의에서는 새로운\n제품의 출시 일정을", "오늘 회의에서는 새로운\n제품의 출시 일정을"),
        (16 * "\u65e5" + "\n\u672c", 16 * "\u65e5" + "\u672c"),
        (15 * "\u3042" + "\u3001\n\u300c\u6211", 15 * "\u3042" + "\u3001\u300c\u6211"),
        (16 * "\u65e5" + "\n12\u672c", 16 * "\u65e5" + "12\u672c"),
        (16 * "\u65e5" + "12\n\u672c", 16 * "\u65e5" + "12\u672c"),
        (15 * "\u65e5" + "\n\u672c", 15 * "\u65e5" + "\n\u672c"),
        (16 * "\u65e5" + "\u3002\n\u672c", 16 * "\u65e5" + "\u3002\n\u672c"),
        (16 * "\u65e5" + "\nspeakd", 16 * "\u65e5" + "\nspeakd"),
        ("> " + 16 * "\u65e5" + "\n> \u672c", "> " + 16 * "\u65e5" + "\u672c"),
        (PROSE, PROSE),
        (
            "> this was written by somebody whose program wraps\n> quoted lines. It\n> goes on.\nMy answer.",
            "> this was written by somebody whose program wraps\nquoted lines. It,\ngoes on.\n\nMy answer.",
        ),
        ("> one\n> - two\n>\n> three", "> one\n> - two\n>\nthree"),
    ],
)
def test_lines(written: str, meant: str) -> None:
    assert read(written).text == meant
    assert read(*written).text == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Hi Anna,\n\nthank you.", "Hi Anna,.\n\nthank you."),
        ("To buy:\n- milk,\n- bread;\n\nDone.", "To buy:.\n- milk,.\n- bread;.\n\nDone."),
        ("John wrote:\n> I come,\n> she said:\nNo.", "John wrote:.\n> I come,\nshe said:.\n\nNo."),
        ("One, two,\nthree, four:\nfive,", "One, two,\nthree, four:\nfive,"),
    ],
)
def test_a_paragraph_or_item_that_ends_with_a_comma_is_closed(written: str, meant: str) -> None:
    assert read(written, closes=True).text == read(*written, closes=True).text == meant


def test_a_voice_that_reads_phones_closes_a_salutation() -> None:
    front_end = TextFrontEnd(TEXT, pronouncer=Loud())
    pieces = [*front_end.feed("Hi Anna,\n\nthank you for all of it, Bob"), *front_end.finish()]
    assert [piece.text for piece in pieces] == ["Hi Anna.", "thank you for all of it, Bob."]


@given(WRITING, st.lists(st.integers(0, 120), max_size=6), st.booleans())
def test_any_cutting_gives_the_same_lines(text: str, cuts: list[int], closes: bool) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    whole = read(text, closes=closes)
    parts = read(*(text[a:b] for a, b in itertools.pairwise(places)), closes=closes)
    assert (parts.text, list(parts.offsets)) == (whole.text, list(whole.offsets))
    assert read(*text, closes=closes).text == whole.text
    assert list(whole.offsets) == sorted(whole.offsets)


def test_a_break_costs_no_more_than_a_word() -> None:
    cleaner, lines = Cleaner(), Lines()
    said = [lines.feed(cleaner.feed(piece)).text for piece in ("milk and honey\n", "br", "ead", " an")]
    assert said == ["milk and honey", "", "", ",\nbread a"]


def test_what_is_flushed_begins_a_line() -> None:
    cleaner, lines = Cleaner(), Lines()
    lines.feed(cleaner.feed("a first line that is much too long to be one of a list of things") + cleaner.finish())
    lines.finish()
    assert (lines.feed(cleaner.feed("milk\nbread") + cleaner.finish()) + lines.finish()).text == "milk,\nbread"


@pytest.mark.parametrize("words", [False, True])
def test_a_list_is_read_with_pauses(words: bool) -> None:
    front_end = TextFrontEnd(TEXT, words=words)
    pieces = [*front_end.feed("milk\ntwo eggs\nbread"), *front_end.finish()]
    assert [piece.text for piece in pieces] == ["milk, two eggs, bread"]


def test_text_that_is_spoken_as_it_stands_keeps_its_breaks() -> None:
    front_end = TextFrontEnd(TEXT, normalize=False)
    assert [piece.text for piece in [*front_end.feed("milk\nbread"), *front_end.finish()]] == ["milk\nbread"]


def test_of_a_line_that_never_ends_little_is_remembered() -> None:
    lines = Lines()
    for _ in range(100):
        lines.feed(SpannedText.of("word " * 10))
        lines.feed(SpannedText.of("w" * 100))
    assert len(lines._line) + len(lines.held) <= 200
