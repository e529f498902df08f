"""Words given out early: joined they are the whole segment, whatever the cutting, and what is said early stays said."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.front_end import TextFrontEnd
from app.phones import PhoneFrontEnd
from app.reading import Reading
from app.segmenter import SegmentBounds
from app.spans import SpannedText
from app.text_piece import TextPiece
from app.word_pieces import WordPieces
from tests.early_words import check_in_parts
from tests.spoken_english import SPOKEN
from tests.test_phones import CHECKPOINT
from tests.test_tokenizer import CONTROL_IDS, SPECIAL, TEXT

CASES = [written for table in SPOKEN.values() for written in table]
STREAM = st.lists(
    st.one_of(
        st.sampled_from(CASES),
        st.sampled_from(
            ["and then they went away", "it is said that", "[a link", "](http://a.b)", "**bold", "words**", *SPECIAL]
        ),
        st.sampled_from(
            [".", "!", "\n\n", "\n- ", ",", "\u4f60\u597d\u3002", "<b>", "und das ist nicht", "('", "\x00"]
        ),
        st.text(st.characters(max_codepoint=0x2FF), max_size=6),
    ),
    max_size=14,
).map(" ".join)


def open_words(*, normalize: bool = True, language: str = "english", longest: int = 180) -> TextFrontEnd:
    bounds = SegmentBounds(longest=longest) if normalize else None
    return TextFrontEnd(TEXT, language=language, normalize=normalize, words=True, bounds=bounds)


def utterances(pieces: list[TextPiece]) -> list[tuple[int, ...]]:
    """The ids of each utterance, as a session feeds them."""
    found: list[tuple[int, ...]] = []
    ids: tuple[int, ...] = ()
    for piece in pieces:
        ids += piece.ids
        if piece.ends_segment:
            found.append(ids)
            ids = ()
    assert not ids
    return found


def early(front_end: TextFrontEnd, text: str) -> list[TextPiece]:
    return [*front_end.feed(text), *front_end.early()]


def feed(front_end: TextFrontEnd, *texts: str) -> list[TextPiece]:
    found = [piece for text in texts for piece in early(front_end, text)]
    return found + front_end.finish()


def test_a_sentence_begins_with_its_first_words() -> None:
    front_end = open_words()
    words = ("It is", " said that", " he", " never", " paid", " $3.50", " for", " it", ". An")
    said = [[(piece.text, piece.ends_segment) for piece in early(front_end, word)] for word in words]
    assert said == [
        [], [("It is", False)], [("said", False)], [("that", False)], [("he", False)], [("never", False)], [], [],
        [("paid three dollars and fifty cents for it.", True)],
    ]  # fmt: skip


@pytest.mark.parametrize("written", CASES)
def test_reading_in_parts_is_reading_the_whole(written: str) -> None:
    check_in_parts(f"they said {written} and so it went on with them")


@example("I have 3 cats. and then they went away . I have 3 cats.", "english", True)
@example('he said "give them all of number 5" and then they left', "english", True)
@example('he said \u201cgive them all of number 5\u201d and a 27" one', "english", True)
@given(STREAM, st.sampled_from(["english", "auto"]), st.booleans())
def test_joined_pieces_are_the_segment(text: str, language: str, normalized: bool) -> None:
    by_letters = feed(open_words(language=language, normalize=normalized), *text)
    at_once = feed(open_words(language=language, normalize=normalized), text)
    assert utterances(by_letters) == utterances(at_once)
    assert all(not CONTROL_IDS & set(piece.ids) for piece in by_letters)
    places = [place for piece in by_letters for place in piece.span]
    assert places == sorted(places)


@pytest.fixture(scope="module")
def phones() -> TextFrontEnd:
    """With the default voice's lexicon; any tokenizer will do."""
    return TextFrontEnd(TEXT, words=True, pronouncer=PhoneFrontEnd(CHECKPOINT))


def test_a_voice_that_reads_phones_begins_early_too(phones: TextFrontEnd) -> None:
    front_end = phones.fresh(words=True)
    said = [piece for word in ("we", " saw", " an", " old,", " dog", " run") for piece in early(front_end, word)]
    said += front_end.finish()
    assert len(said) == 3
    assert " ".join(piece.text for piece in said) == feed(phones.fresh(), "we saw an old, dog run.")[0].text
    assert [piece.ends_segment for piece in said] == [False] * (len(said) - 1) + [True]


def test_words_of_a_text_that_is_not_normalised_stay_apart(phones: TextFrontEnd) -> None:
    words = ("they went", " home again", " and then", " slept.")
    front_end = phones.fresh(words=True, normalize=False)
    said = [piece.text for word in words for piece in early(front_end, word)]
    said += [piece.text for piece in front_end.finish()]
    assert len(said) > 2
    assert " ".join(said) == feed(phones.fresh(), "".join(words))[0].text


@example("and then they went away ' . agent 007")
@example("](http://a.b) [a link on 9/11 ](http://a.b)")
@given(STREAM)
def test_joined_phones_are_the_segment(phones: TextFrontEnd, text: str) -> None:
    by_letters = feed(phones.fresh(words=True), *text)
    at_once = [*(front_end := phones.fresh(words=True)).feed(text), *front_end.finish()]
    assert utterances(by_letters) == utterances(at_once)


@given(STREAM, st.lists(st.integers(0, 200), max_size=6))
def test_any_cutting_gives_the_same_utterances(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    parts = [text[a:b] for a, b in itertools.pairwise(places)]
    assert utterances(feed(open_words(longest=60), *parts)) == utterances(feed(open_words(longest=60), text))


@given(st.lists(st.sampled_from(["sun", "moon", "went", "home", "they", "saw"]), min_size=1, max_size=120))
def test_long_text_without_marks_flows(words: list[str]) -> None:
    front_end = open_words(longest=60)
    text = " ".join(words)
    pieces = feed(front_end, *text)
    assert " ".join(piece.text for piece in pieces if piece.text) == text
    assert all(len(piece.text) <= 60 for piece in pieces)


def test_nothing_to_say_ends_nothing() -> None:
    assert feed(open_words(), "... !!! \U0001f600 --- ...") == []


def test_words_whose_ids_more_words_would_change_are_given_at_the_end_and_not_lost() -> None:
    def symbols(text: str) -> tuple[str, tuple[int, ...]]:
        return text, (len(text),)

    pieces = WordPieces(symbols, Reading(language="english", normalize=True, for_lexicon=False))
    words = [pieces.more(SpannedText.of(text)) for text in ("we saw them and", "we saw them and then they went")]
    rest = pieces.close(SpannedText.of("we saw them and then they went home."), torn=False)
    assert [piece.text if piece else None for piece in words] == ["we saw", None]
    assert rest == TextPiece(ids=(29,), ends_segment=True, text="them and then they went home.", span=(6, 36))
