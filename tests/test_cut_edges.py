"""What is read together is not torn apart where a long sentence is cut into utterances."""

from __future__ import annotations

import re

import pytest

from app.front_end import PHONE_BOUNDS
from app.hygiene import Cleaner
from app.reading import Reading
from app.segmenter import Segment, SegmentBounds, Segmenter
from app.spans import SpannedText

WAY = (
    "we went along the river and over the old bridge while the evening sun was shining on the roofs of all the houses "
    "in our little town near the northern sea"
)
TOGETHER = (
    "it opened on 17 may 2010",
    "book a table on 17 may",
    "the invoice of march 5, 2012 is paid",
    "on March 5, 2012 it began",
    "it cost about 5 million dollars then",
    "We expect 3 in of snow.",
    "Call (415) 555-0132.",
    "Call 415 555 0132 for help.",
    "Go and meet Dr Watson.",
    "Then we met Dr. Watson.",
    "The shelf is 12 in wide.",
    "Timer set for 1 h 30 min.",
    "Highs in the low 70s, lows around 50\u00b0.",
    "from Mar. 3 \u2013 Apr. 5",
    "A reunion for the class of 05",
)


def segments(text: str, bounds: SegmentBounds) -> list[Segment]:
    cleaner, segmenter = Cleaner(), Segmenter(bounds)
    return [*segmenter.feed(cleaner.feed(text) + cleaner.finish()), *segmenter.finish()]


def spoken(words: SpannedText) -> list[str]:
    reading = Reading(language="english", normalize=True, for_lexicon=True)
    return re.findall(r"[a-z']+", reading.read(words, "english").text.lower())


@pytest.mark.parametrize("line", TOGETHER)
def test_a_long_sentence_is_not_cut_within_what_is_read_together(line: str) -> None:
    bounds = SegmentBounds(longest=PHONE_BOUNDS.longest, forward=True)
    cut = 0
    for gap in re.finditer(" ", WAY):
        text = f"{WAY[: gap.start()]} {line}"
        found = segments(text, bounds)
        cut += len(found) > 1
        assert [word for one in found for word in spoken(one.words)] == spoken(SpannedText.of(text)), found
    assert cut


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("stamp", ["2024-03-15T14:30:00+02:00", "2024-03-15T14:30:00.123456+02:00"])
def test_a_timestamp_stays_whole(stamp: str, forward: bool) -> None:
    found = segments(f"Copied {stamp} it says.", SegmentBounds(longest=120, forward=forward))
    assert any(stamp in one.words.text for one in found)


def test_an_amount_of_rupees_stays_in_its_sentence() -> None:
    text = "The ticket for the ferry costs Rs. 500 today."
    assert [one.words.text for one in segments(text, SegmentBounds())] == [text]
