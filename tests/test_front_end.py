"""The front end as a whole: text in any pieces, ids of utterances out, nothing lost, nothing harmful."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.front_end import TextFrontEnd
from app.segmenter import SegmentBounds
from app.text_piece import TextPiece
from app.tokenizer import TextTokenizer
from engines.errors import BundleError
from engines.manifest import FrontEndKind, write_manifest
from tests import fake_voice
from tests.test_tokenizer import CONTROL_IDS, SPECIAL, TOKENIZER

TOKENS = TextTokenizer(TOKENIZER)
SPEAKABLE = re.compile(r"[A-Za-z']+(?:[,.?!;:]? [A-Za-z']+)*[,.?!;:]")
STORY = (
    "# Chapter IV\n\nDr. Smith left at 7:05 p.m. on Nov. 3rd, 1999; it cost $3.50. \u201cReally?\u201d she asked.\n"
    "He didn't answer\u2026 He was (as always) silent.\n\n- 5 km\n- 72\u00b0F\n\nSee "
    "https://example.com/x. Bye \U0001f44b!"
)
WILD = st.lists(
    st.one_of(
        st.sampled_from([*SPECIAL, "Dr. ", "$5 ", "12:30", ". ", "! "]),
        st.sampled_from(["\n\n", "\n- ", " ", "word ", "\u4f60\u3002", "\u00e9"]),
        st.text(max_size=4),
    ),
    max_size=30,
).map("".join)


class Spell:
    """Stands for the lexicon: a symbol string is the text itself in lower case."""

    def pronounce(self, text: str) -> str:
        return text.lower()


def open_front_end(
    kind: str = "text", *, normalize: bool = True, language: str = "auto", bounds: SegmentBounds | None = None
) -> TextFrontEnd:
    pronouncer = Spell() if kind == "phones" else None
    return TextFrontEnd(TOKENS, language=language, normalize=normalize, pronouncer=pronouncer, bounds=bounds)


def pieces(front_end: TextFrontEnd, *texts: str) -> list[TextPiece]:
    found = [piece for text in texts for piece in front_end.feed(text)]
    return found + front_end.finish()


def test_a_story_is_read() -> None:
    assert [piece.text for piece in pieces(open_front_end(), STORY)] == [
        "Chapter four",
        "Doctor Smith left at seven oh five PM on November third, nineteen ninety nine; "
        "it cost three dollars and fifty cents.",
        "\u201cReally?\u201d she asked. He didn't answer\u2026",
        "He was (as always) silent.",
        "five kilometers",
        "seventy two degrees Fahrenheit",
        "See example dot com slash x. Bye!",
    ]


def test_a_story_is_read_for_a_lexicon() -> None:
    assert [piece.text for piece in pieces(open_front_end("phones"), STORY)] == [
        "chapter four.",
        "doctor smith left at seven oh five pm on november third, nineteen ninety nine;",
        "it cost three dollars and fifty cents.",
        "really? she asked. he didn't answer.",
        "he was, as always, silent.",
        "five kilometers.",
        "seventy two degrees fahrenheit.",
        "see example dot com slash x. bye!",
    ]


def test_pieces_are_ids_of_the_text_and_end_their_segment() -> None:
    piece, *others = pieces(open_front_end(), "Hello world. ")
    assert piece.ids == TOKENS.body_ids("Hello world.")
    assert piece.ends_segment
    assert piece.span == (0, 13)
    assert not others


def test_text_that_is_not_to_be_normalised_stays_as_it_is() -> None:
    text = "Dr. Smith paid $5 *twice*. He left at 7:05. Why?"
    assert [piece.text for piece in pieces(open_front_end(normalize=False), text)] == [text]


def test_other_languages_pass() -> None:
    text = "Der Zug f\u00e4hrt um 7:05 und kostet 5 \u20ac, nicht mehr."
    for language in ("auto", "german"):
        assert [piece.text for piece in pieces(open_front_end(language=language), text)] == [text]


@pytest.mark.parametrize("language", ["auto", "chinese", "Beijing_Dialect", "sichuan_dialect"])
def test_a_chinese_dialect_is_read_as_chinese(language: str) -> None:
    (piece,) = pieces(open_front_end(language=language), "\u6da8\u4e8650%\u3002")
    assert piece.text == "\u6da8\u4e86\u767e\u5206\u4e4b\u4e94\u5341\u3002"


@pytest.mark.parametrize("kind", ["text", "phones"])
@pytest.mark.parametrize(
    "text", ["", " \n\n ", "\U0001f600\U0001f44b", "...", "\x00\x07", "<|im_end|>", "***", "\u200b", "!!!"]
)
def test_nothing_to_say_gives_nothing(kind: str, text: str) -> None:
    assert pieces(open_front_end(kind), text) == []


@pytest.mark.parametrize("kind", ["text", "phones"])
@given(text=WILD)
def test_laws_of_all_pieces(kind: str, text: str) -> None:
    found = pieces(open_front_end(kind), text)
    assert all(piece.ids and not CONTROL_IDS & set(piece.ids) for piece in found)
    assert all(piece.ends_segment for piece in found)
    bounds = [place for piece in found for place in piece.span]
    assert bounds == sorted(bounds)
    assert all(0 <= place <= len(text) for place in bounds)
    if kind == "phones":
        assert all(SPEAKABLE.fullmatch(piece.text) for piece in found), [piece.text for piece in found]


@pytest.mark.parametrize("kind", ["text", "phones"])
@given(text=WILD, cuts=st.lists(st.integers(0, 100), max_size=6))
def test_any_cutting_gives_the_same_pieces(kind: str, text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    parts = [text[a:b] for a, b in itertools.pairwise(places)]
    whole = pieces(open_front_end(kind), text)
    assert pieces(open_front_end(kind), *parts) == whole
    assert pieces(open_front_end(kind), *text) == whole


@given(
    st.lists(st.sampled_from(["sun", "and", "moon", "we", "went", "home"]), min_size=1, max_size=200),
    st.sampled_from(" \n,."),
)
def test_no_word_is_lost(words: list[str], mark: str) -> None:
    text = f"{mark} ".join(words)
    spoken = " ".join(piece.text for piece in pieces(open_front_end("phones"), text))
    assert re.findall(r"\w+", spoken) == words


def test_a_hyphen_at_the_end_of_a_line_joins() -> None:
    assert [piece.text for piece in pieces(open_front_end(), "a well-\nknown thing\nis here")] == [
        "a well-known thing is here"
    ]


def test_a_megabyte_without_a_space() -> None:
    front_end = open_front_end()
    count = letters = 0
    for _ in range(16):
        for piece in front_end.feed("a" * 65536):
            count, letters = count + 1, letters + len(piece.text)
            assert len(piece.text) <= 180
    letters += sum(len(piece.text) for piece in front_end.finish())
    assert letters == 1 << 20
    assert count == letters // 180


def test_speaking_goes_on_after_finish() -> None:
    front_end = open_front_end()
    first, second = pieces(front_end, "One thing"), pieces(front_end, "  Another")
    assert [(piece.text, piece.span) for piece in first + second] == [("One thing", (0, 9)), ("Another", (11, 18))]


@pytest.mark.parametrize(
    "line", ["Dinner is ready.", "Come!\u201d", "milk\nbread.", "See you at 9 p.m.", "Well\u2026 "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_sentence_whose_line_has_ended_waits_for_no_other(line: str, end: str) -> None:
    front_end = open_front_end()
    assert not front_end.feed(line + end)
    assert [piece.span for piece in front_end.early()] == [(0, len(line + end))]
    assert not front_end.early()
    assert [piece.text for piece in pieces(front_end, "- Now.")] == ["Now."]


@pytest.mark.parametrize("kind", ["text", "phones"])
def test_empty_lines_of_a_quotation_are_not_read(kind: str) -> None:
    found = pieces(open_front_end(kind), "> How are you?\n>\n> >\n>\n> - Well.\n>>\n>")
    assert [piece.text.lower() for piece in found] == ["how are you?", "well."]


@pytest.mark.parametrize("text", ["Dinner is ready.", "Dinner is ready. ", "Dinner\n", "Go and meet Dr.\n", "1.\n"])
def test_what_may_go_on_waits(text: str) -> None:
    front_end = open_front_end()
    assert not [*front_end.feed(text), *front_end.early()]


def test_an_instruct_is_cleaned_and_whole() -> None:
    front_end = open_front_end()
    assert front_end.instruct_ids("be\x00 calm<|im_end|>") == TOKENS.instruct_ids("be calm")
    assert front_end.instruct_ids("") == ()


def test_opens_from_a_bundle(tmp_path: Path) -> None:
    write_manifest(tmp_path, fake_voice.manifest())
    with pytest.raises(BundleError, match=r"tokenizer\.json"):
        TextFrontEnd.open(tmp_path)
    TOKENIZER.save(str(tmp_path / "tokenizer.json"))
    found = pieces(TextFrontEnd.open(tmp_path, language="English"), "It is 7:05.")
    assert [piece.text for piece in found] == ["It is seven oh five."]


def test_a_bundle_without_its_lexicon_is_refused_by_name(tmp_path: Path) -> None:
    manifest = fake_voice.manifest()
    front_end = msgspec.structs.replace(
        manifest.front_end, kind=FrontEndKind.PHONES, files=("phones.json", "lexicon.txt")
    )
    write_manifest(tmp_path, msgspec.structs.replace(manifest, front_end=front_end))
    TOKENIZER.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(BundleError, match=r"phones\.json"):
        TextFrontEnd.open(tmp_path)
