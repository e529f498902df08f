"""Whole lines, read as the front end reads them: a table that people can read over."""

from __future__ import annotations

import pytest

from app.certain import certain_length
from app.reading import Reading
from app.spans import SpannedText
from tests.spoken_answers import ANSWERS
from tests.spoken_lines import LINES
from tests.spoken_prose import PROSE
from tests.spoken_texts import TEXTS

TABLES = (*LINES.values(), *ANSWERS.values(), *TEXTS.values(), *PROSE.values())
CASES = [(written, spoken) for table in TABLES for written, spoken in table.items()]


def read(written: str) -> str:
    reading = Reading(language="english", normalize=True, for_lexicon=False)
    return reading.read(SpannedText.of(written), "english").text


@pytest.mark.parametrize(("written", "spoken"), CASES)
def test_reads(written: str, spoken: str) -> None:
    assert read(written) == spoken


@pytest.mark.parametrize("written", [written for written, _ in CASES])
def test_words_given_out_early_are_those_of_the_whole_line(written: str) -> None:
    whole = f"they said that {written} and so it went on with them"
    for end in range(len(whole)):
        if cut := certain_length(whole[:end]):
            assert f"{read(whole[:cut])} {read(whole[cut:])}" == read(whole)
