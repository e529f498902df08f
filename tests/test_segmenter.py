"""The segmenter: where sentences end, how long ones are cut, and that neither cutting nor size of the input matters."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hygiene import Cleaner
from app.segmenter import Segment, SegmentBounds, Segmenter, spoken_weight

EAGER = SegmentBounds(shortest=1)
WRITING = st.lists(
    st.one_of(
        st.sampled_from(
            ["Mr.", "e.g.", "p.m.", "J.", "U.S.", "No.", "3.5", "1,000", "etc.", "\n", "\n\n", "\n- ", "\n1. "]
        ),
        st.sampled_from(
            [
                ". ",
                "! ",
                "? ",
                "... ",
                ".\u201d ",
                '."',
                "?!",
                "\u3002",
                "\uff0c",
                ", ",
                "; ",
                " ",
                "\u4f60\u597d",
                "#",
                "(",
            ]
        ),
        st.text(st.sampled_from("abcXYZ.!,\"' \n19\u201c\u201e\u00ab\u00bb"), max_size=12),
        st.integers(1, 60).map(lambda n: "w" * n),
    ),
    max_size=40,
).map("".join)


def segments(*pieces: str, bounds: SegmentBounds = EAGER) -> list[str]:
    return [found.words.text for found in spanned(*pieces, bounds=bounds)]


def spanned(*pieces: str, bounds: SegmentBounds = EAGER) -> list[Segment]:
    cleaner, segmenter = Cleaner(), Segmenter(bounds)
    found = [segment for piece in pieces for segment in segmenter.feed(cleaner.feed(piece))]
    return [*found, *segmenter.feed(cleaner.finish()), *segmenter.finish()]


def facts(segment: Segment) -> tuple[str, list[int], bool]:
    return segment.words.text, list(segment.words.offsets), segment.torn


@pytest.mark.parametrize(
    "text",
    [
        "Hello there.|How are you?|Fine!",
        "Dr. Smith met Mrs. Jones on St. James Street.|They talked.",
        "We left at 7 p.m.|Nobody saw us.",
        "We left at 7 p.m. and nobody saw us.",
        "The meeting is at 9 a.m. on Monday.|Do come.",
        "J. R. R. Tolkien wrote it.|I read it.",
        "It starts at 5 p.m. EST today.|It ends at 6 p.m.|Everyone goes.",
        "It grew (vs. $3 in May) to approx. 5.|Well.",
        "It was I.|Then he left.",
        "The U.S. Army came.|It left.",
        "Pi is 3.14159 or so.|Good.",
        "It costs $3.50.|Cheap!",
        "Take it at 8 a.m. & 8 p.m. + noon.|Then at 9 p.m.|$5 is due.",
        "Read cl. 7 and qty. 2 of sch. 3 today, Matt. 5:3 and 1 Cor. 13:4 too.|We watch a play.|2 of us.",
        "See example.com or www.example.org/a.b for more.|Thanks.",
        "Wait... what is that?|Nothing.",
        "Wait...|Then he came.",
        "Well\u2026 perhaps.|Yes\u2026|No.",
        '"Stop!" he cried.|"Why?" she asked.',
        "He said, \u201cGo home.\u201d|Then he left.",
        "(It rained.)|[They stayed.]",
        "Bring apples, pears, etc.|We shall eat.",
        "Bring apples, pears, etc. to the party.|We shall eat.",
        "See No. 5 and Fig. 3 on p. 7.|No.|That is all.",
        "On Nov. 3rd, 1999 it began.|It ended in Dec.|Then came Jan. 2000.",
        "Really?!|Yes!!|Good.",
        "He was born in 1999.|20 people came.",
        "A first paragraph without a dot||A second one",
        "Things to buy:|- milk|- two eggs|* bread",
        "Steps:|1. Open it.|2. Close it.|3) Leave.",
        "# A heading|Then text that goes on.",
        "Hard wrapped lines of one\nsentence stay together.|A new one begins.",
        "\u4f60\u597d\u3002|\u4eca\u5929\u5929\u6c14\u5f88\u597d\uff01|\u771f\u7684\u5417\uff1f\u300d|\u5bf9\u3002",
        "Version 2.0.1 is out.|Get v1.2.",
        "Smith et al. found it.|Fine.",
        "E.g. this one, i.e. that one.|Done.",
        "Use **bold.**|Next.",
        "Acme Inc. sold it.|Acme Inc.|The firm closed.",
        "He lives at 5 Main St. in town.|Good.",
        "\u201eIch komme.\u201c|Dann ging er.|\u201eSchade!\u201c sagte sie.|\u201eJa.\u201c|\u201eNein.\u201c",
        "\u00bbIch komme.\u00ab|Dann ging er.|\u00bbSchade!\u00ab sagte sie.|\u00bbJa.\u00ab",
        "\u00ab Je viens. \u00bb|Il partit.|\u00ab Jamais ! \u00bb dit-il.|\u00ab Non. \u00bb|\u00ab Si. \u00bb",
    ],
)
def test_sentences(text: str) -> None:
    whole = (
        text.replace("||", "\n\n").replace("|-", "\n-").replace("|*", "\n*").replace("# A heading|", "# A heading\n")
    )
    for number in "123":
        whole = whole.replace(f"|{number}. ", f"\n{number}. ").replace(f"|{number}) ", f"\n{number}) ")
    whole = (
        whole.replace("\u3002|", "\u3002").replace("\uff01|", "\uff01").replace("\u300d|", "\u300d").replace("|", " ")
    )
    assert segments(whole) == [part for part in text.split("|") if part]


@pytest.mark.parametrize("said", ["\u201eIch komme.\u201c", "\u00bbIch komme.\u00ab", "\u00ab Je viens. \u00bb"])
def test_a_quotation_that_ends_with_its_line_is_spoken(said: str) -> None:
    cleaner, segmenter = Cleaner(), Segmenter(EAGER)
    segmenter.feed(cleaner.feed(f"{said}\n"))
    assert segmenter.ends_with(cleaner.held)


def test_short_sentences_wait_for_the_next() -> None:
    text = "Yes. No. Perhaps it is so, I said. Then we went home together. Bye."
    bounds = SegmentBounds()
    assert segments(text, bounds=bounds) == [
        "Yes. No. Perhaps it is so, I said.",
        "Then we went home together.",
        "Bye.",
    ]


def test_an_empty_line_ends_even_a_short_one() -> None:
    assert segments("Title\n\nText.", bounds=SegmentBounds()) == ["Title", "Text."]


@pytest.mark.parametrize("step", [1, 100])
def test_each_row_of_a_table_is_one_segment(step: int) -> None:
    rows = ["| Name | Age |", "|---|--:|", "| Ann | 34 |", "|Bob|28|"]
    text = "\n".join(rows)
    pieces = [text[place : place + step] for place in range(0, len(text), step)]
    assert segments(*pieces, bounds=SegmentBounds()) == rows


def test_long_sentences_are_cut_at_clauses_then_at_words() -> None:
    clause = "one two three four five six seven eight nine ten, "
    bounds = SegmentBounds(longest=120)
    assert segments(clause * 4, bounds=bounds) == [(clause * 2).strip()] * 2
    words = "word " * 60
    found = segments(words, bounds=bounds)
    assert " ".join(found) == words.strip()
    assert max(map(len, found)) == 119


def test_a_cut_between_words_goes_before_a_phrase_and_is_told() -> None:
    text = "the licenses for most other practical works are designed to take away your freedom, and more"
    found = spanned(text, bounds=SegmentBounds(longest=70))
    assert [(segment.words.text, segment.torn) for segment in found] == [
        ("the licenses for most other practical works are designed", True),
        ("to take away your freedom, and more", False),
    ]


@pytest.mark.parametrize(
    ("longest", "text"),
    [
        (60, "회의에서는 새로운 제품의| 출시하였으며 모두"),
        (72, "一緒に旅行に行きましたが|コンピューターを買った"),
        (60, "新しい部屋には何も無い|コンピューターだけがある"),
        (50, "今天天气很好,|我们去公园玩吧"),
        (58, "人民币同比增长|了2026万美元左右"),
    ],
)
def test_a_cut_spares_words_where_no_space_tells_them_apart(longest: int, text: str) -> None:
    assert segments(text.replace("|", ""), bounds=SegmentBounds(longest=longest)) == [
        part.strip() for part in text.split("|")
    ]


@pytest.mark.parametrize("forward", [False, True])
def test_a_cut_behind_a_bracket_is_told(forward: bool) -> None:
    text = "the practical works (of which there are many in the house) are designed to take away your freedom (all)"
    found = spanned(text, bounds=SegmentBounds(longest=75, forward=forward))
    assert [(segment.words.text, segment.torn) for segment in found] == [
        ("the practical works (of which there are many in the house)", True),
        ("are designed to take away your freedom (all)", False),
    ]


def test_a_web_address_stays_whole() -> None:
    text = f"Look at https://example.com/{'a/' * 200} and at nothing else."
    assert segments(text) == [text]
    assert max(map(len, segments("http://" + "a" * 5000))) <= 1000 + 180


@pytest.mark.parametrize("step", [1, 100])
@pytest.mark.parametrize("forward", [False, True])
def test_a_uuid_stays_whole(step: int, forward: bool) -> None:
    text = "The request with the id 550e8400-e29b-41d4-a716-446655440000 failed for two reasons."
    found = segments(
        *(text[start : start + step] for start in range(0, len(text), step)),
        bounds=SegmentBounds(longest=120, forward=forward),
    )
    assert any("550e8400-e29b-41d4-a716-446655440000" in segment for segment in found), found


def test_a_number_is_not_cut_off_its_unit() -> None:
    text = "aaaa bbbb cccc dddd 25 kilometres and more"
    assert segments(text, bounds=SegmentBounds(longest=36)) == ["aaaa bbbb cccc dddd", "25 kilometres and more"]


@pytest.mark.parametrize(
    "unit", ["a", ".", "1", "\u4f60", "a.", ".\u201d", "1 ", "! ", "\n- ", "A. ", "x, ", "(\u201c"]
)
def test_a_long_text_without_an_end_is_given_in_bounded_pieces(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    cleaner, segmenter, kept = Cleaner(), Segmenter(), 0
    found: list[str] = []
    for start in range(0, len(text), 1000):
        found += [segment.words.text for segment in segmenter.feed(cleaner.feed(text[start : start + 1000]))]
        kept = max(kept, len(segmenter._pending))
    found += [segment.words.text for segment in (*segmenter.feed(cleaner.finish()), *segmenter.finish())]
    assert kept <= 500
    assert all(sum(map(spoken_weight, segment)) <= 180 + 24 * 6 for segment in found)
    cleaner = Cleaner()
    whole = cleaner.feed(text).text + cleaner.finish().text
    assert "".join("".join(found).split()) == "".join(whole.split())


def test_work_is_linear_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(character: str) -> int:
        nonlocal calls
        calls += 1
        return spoken_weight(character)

    monkeypatch.setattr("app.segmenter.spoken_weight", counted)
    text = ("Yes. " + "many words without an end, " * 3 + "w" * 400 + " and 1 2 3 4 so on ") * 40
    segments(text, bounds=SegmentBounds())
    assert calls <= 6 * len(text)


@given(WRITING)
def test_nothing_is_lost(text: str) -> None:
    cleaner = Cleaner()
    whole = cleaner.feed(text).text + cleaner.finish().text
    for bounds in (EAGER, SegmentBounds(), SegmentBounds(longest=30, shortest=8, forward=True)):
        found = segments(text, bounds=bounds)
        assert "".join("".join(found).split()) == "".join(whole.split())
        assert all(part == part.strip() != "" for part in found)


@given(WRITING, st.lists(st.integers(0, 300), max_size=8))
def test_any_cutting_gives_the_same_segments(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    for bounds in (EAGER, SegmentBounds(), SegmentBounds(longest=30, shortest=8, forward=True)):
        whole = spanned(text, bounds=bounds)
        assert [facts(found) for found in spanned(*pieces, bounds=bounds)] == [facts(found) for found in whole]
        assert segments(*text, bounds=bounds) == [s.words.text for s in whole]


def test_a_segment_comes_as_soon_as_it_is_certain() -> None:
    cleaner, segmenter = Cleaner(), Segmenter()
    assert not segmenter.feed(cleaner.feed("This is a whole sentence."))
    assert not segmenter.feed(cleaner.feed(" "))
    assert [s.words.text for s in segmenter.feed(cleaner.feed("An"))] == ["This is a whole sentence."]


def test_segments_know_where_they_came_from() -> None:
    text = "  One  sentence \x00here now.   Another one follows it. "
    assert [text[slice(*s.words.span())].strip() for s in spanned(text)] == [
        "One  sentence \x00here now.",
        "Another one follows it.",
    ]


def test_feeding_goes_on_after_finish() -> None:
    cleaner, segmenter = Cleaner(), Segmenter()
    first = [*segmenter.feed(cleaner.feed("One")), *segmenter.feed(cleaner.finish()), *segmenter.finish()]
    second = [*segmenter.feed(cleaner.feed(" two")), *segmenter.feed(cleaner.finish()), *segmenter.finish()]
    assert [(s.words.text, s.words.span()) for s in first + second] == [("One", (0, 3)), ("two", (4, 7))]


@pytest.mark.parametrize("size", range(1, 30))
def test_a_time_zone_that_comes_in_pieces_stays_with_its_hour(size: int) -> None:
    text = "It ends at 5 p.m. EST today. We go."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert segments(*pieces) == ["It ends at 5 p.m. EST today.", "We go."]
