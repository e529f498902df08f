"""Numbers as English words.

Purpose: the few ways a number is read aloud: as a count, an order, a year, a decimal, digit by digit. The words come
from num2words, loaded at the first number; here is only what people say differently (no commas, hyphens or "and").
Knows: English number words. Does not know: where in a text a number stands or what it counts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_DIGITS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LONGEST: Final = 15
"""Digits of the longest number read as a count; longer ones are read digit by digit."""
_PLAIN: Final = re.compile(r", | and |-")
_FRACTIONS: Final = {2: ("half", "halves"), 4: ("quarter", "quarters")}


@lru_cache(maxsize=1024)
def _words(number: int, kind: str) -> str:
    from num2words import num2words

    return _PLAIN.sub(" ", str(num2words(number, lang="en", to=kind)))


def cardinal(number: str) -> str:
    """`1234` or `1,234` as a count; digit by digit where it is too long or begins with zeros."""
    digits = number.replace(",", "")
    if len(digits) > _LONGEST or (len(digits) > 1 and digits[0] == "0"):
        return spelled(digits)
    return _words(int(digits), "cardinal")


def ordinal(number: str) -> str:
    """`21` as twenty first."""
    digits = number.replace(",", "")
    if len(digits) > _LONGEST:
        return spelled(digits)
    return _words(int(digits), "ordinal").replace("one hundredth", "hundredth")


def spelled(digits: str) -> str:
    """Digit by digit."""
    return " ".join(_DIGITS[int(digit)] for digit in digits if digit.isdecimal())


def year(number: str) -> str:
    """`1905` as nineteen oh five; what is not a plausible year is a count."""
    return _words(int(number), "year") if is_year(number) else cardinal(number)


def is_year(number: str) -> bool:
    """Four digits that people read in pairs."""
    return len(number) == 4 and number.isdecimal() and "1100" <= number < "2100"


def decimal(number: str) -> str:
    """`1,234.50` with its point; without one, a count."""
    whole, point, part = number.partition(".")
    if not point:
        return cardinal(whole)
    before = f"{cardinal(whole)} " if whole else ""
    return f"{before}point {spelled(part)}"


def plain(number: str) -> str:
    """A number without context: years in pairs, long strings digit by digit in threes, else a count or a decimal."""
    if "." in number or "," in number:
        return decimal(number)
    if is_year(number):
        return year(number)
    if len(number) >= 9 and not number.endswith("000"):
        return grouped(number)
    return cardinal(number)


def grouped(digits: str) -> str:
    """Digit by digit, with a comma after every third but never before a last single one."""
    groups = [digits[start : start + 3] for start in range(0, len(digits), 3)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = ["".join(groups[-2:])]
    return ", ".join(map(spelled, groups))


def paired(number: str) -> str:
    """Digits two by two, as flights and rooms are read: `2490` as twenty four ninety, `101` as one oh one."""
    high, low = number[:-2], number[-2:]
    if not high or high[0] == "0" or number[1:] == "000":
        return cardinal(number)
    return f"{cardinal(high)} {'hundred' if low == '00' else pair(low)}"


def pair(digits: str) -> str:
    """Two digits behind others, as of a year or an hour: `42` as forty two, `05` as oh five."""
    return f"oh {spelled(digits[1])}" if digits[0] == "0" else cardinal(digits)


def decade(number: str) -> str:
    """`1990` as nineteen nineties, `80` as eighties, `00` as two thousands."""
    if number == "00":
        number = "2000"
    return plural(year(number))


def plural(words: str) -> str:
    """More than one of a number: twenties, sixteens, sixes."""
    return words[:-1] + "ies" if words.endswith("y") else words + ("es" if words.endswith("x") else "s")


def short_year(digits: str) -> str:
    """The last two digits of a year: `98` as ninety eight, `05` as oh five, `00` as two thousand."""
    return year("2000") if digits == "00" else pair(digits)


def fraction(numerator: str, denominator: str) -> str:
    """`3`, `4` as three quarters."""
    top, bottom = int(numerator), int(denominator)
    if not 0 < bottom <= 100:
        return f"{cardinal(numerator)} over {cardinal(denominator)}"
    one, many = _FRACTIONS.get(bottom, (ordinal(denominator), ordinal(denominator) + "s"))
    return f"{cardinal(numerator)} {one if top == 1 else many}"


def part_beyond(numerator: str, denominator: str) -> str:
    """A fraction behind a whole number: `1`, `2` as a half, `3`, `4` as three quarters."""
    return fraction(numerator, denominator).replace("one half", "a half").replace("one quarter", "a quarter")
