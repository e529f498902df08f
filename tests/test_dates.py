"""What is a date and what is not, at the calendar's edges. Dates within a text are `test_normalizer`'s."""

from __future__ import annotations

import pytest

from app.normalizer import normalize
from app.spans import SpannedText


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("2026-01-01", "January first, twenty twenty six"),
        ("2026-12-31", "December thirty first, twenty twenty six"),
        ("2026-01-32", "two zero two six, zero one, three two"),
        ("2026-01-00", "two zero two six, zero one, zero zero"),
        ("2026-13-01", "two zero two six, one three, zero one"),
        ("1/1/2026", "January first, twenty twenty six"),
        ("12/31/2026", "December thirty first, twenty twenty six"),
        ("31/1/2026", "the thirty first of January, twenty twenty six"),
        ("13/12/2026", "the thirteenth of December, twenty twenty six"),
        ("13/13/2026", "thirteen or thirteen or twenty twenty six"),
        ("32/1/2026", "thirty two or one or twenty twenty six"),
        ("1/32/2026", "one or thirty two or twenty twenty six"),
        ("0/5/2026", "zero or five or twenty twenty six"),
        ("14/0/2026", "fourteen or zero or twenty twenty six"),
        ("1/2/49", "January second, twenty forty nine"),
        ("1/2/50", "January second, nineteen fifty"),
    ],
)
def test_only_days_that_can_be_are_dates(written: str, spoken: str) -> None:
    assert normalize(SpannedText.of(written)).text == spoken
