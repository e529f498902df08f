"""Whole lines, read as the front end reads them: a table that people can read over."""

from __future__ import annotations

import pytest

from tests.early_words import check_in_parts, read
from tests.spoken_answers import ANSWERS
from tests.spoken_lines import LINES
from tests.spoken_prose import PROSE
from tests.spoken_texts import TEXTS

TABLES = (*LINES.values(), *ANSWERS.values(), *TEXTS.values(), *PROSE.values())
CASES = [(written, spoken) for table in TABLES for written, spoken in table.items()]


@pytest.mark.parametrize(("written", "spoken"), CASES)
def test_reads(written: str, spoken: str) -> None:
    assert read(written) == spoken


@pytest.mark.parametrize("written", [written for written, _ in CASES])
def test_words_given_out_early_are_those_of_the_whole_line(written: str) -> None:
    check_in_parts(f"they said that {written} and so it went on with them")
