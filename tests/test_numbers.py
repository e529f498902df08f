"""The few ways a number is said, at their edges. Numbers within a text are `test_normalizer`'s."""

from __future__ import annotations

import pytest

from app.numbers import decade, fraction, grouped, paired, short_year


@pytest.mark.parametrize(
    ("number", "spoken"),
    [
        ("5", "five"),
        ("05", "zero five"),
        ("66", "sixty six"),
        ("007", "zero zero seven"),
        ("101", "one oh one"),
        ("0930", "zero nine three zero"),
        ("1900", "nineteen hundred"),
        ("2000", "two thousand"),
        ("2490", "twenty four ninety"),
    ],
)
def test_two_by_two(number: str, spoken: str) -> None:
    assert paired(number) == spoken


@pytest.mark.parametrize(
    ("digits", "spoken"),
    [
        ("7", "seven"),
        ("12", "one two"),
        ("123456", "one two three, four five six"),
        ("1234567", "one two three, four five six seven"),
        ("12345678", "one two three, four five six, seven eight"),
    ],
)
def test_in_threes_without_a_last_one_alone(digits: str, spoken: str) -> None:
    assert grouped(digits) == spoken


@pytest.mark.parametrize(
    ("number", "spoken"),
    [("00", "two thousands"), ("2000", "two thousands"), ("1990", "nineteen nineties"), ("80", "eighties")],
)
def test_decades(number: str, spoken: str) -> None:
    assert decade(number) == spoken


@pytest.mark.parametrize(
    ("digits", "spoken"), [("00", "two thousand"), ("05", "oh five"), ("10", "ten"), ("98", "ninety eight")]
)
def test_years_of_two_digits(digits: str, spoken: str) -> None:
    assert short_year(digits) == spoken


@pytest.mark.parametrize(
    ("numerator", "denominator", "spoken"),
    [
        ("1", "2", "one half"),
        ("2", "2", "two halves"),
        ("3", "100", "three hundredths"),
        ("3", "101", "three over one hundred one"),
        ("5", "0", "five over zero"),
    ],
)
def test_parts(numerator: str, denominator: str, spoken: str) -> None:
    assert fraction(numerator, denominator) == spoken
