"""Sentences made of our own templates: replies, numbers, times, money, names, questions, single words, lists.

Knows: `data/templates.txt` (words for the slots, then one template a line) and how numbers are said.
Does not know: where other text comes from. Seeded: the same draw, the same sentence.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

_DIGITS: list[str] = re.findall("[a-z]+", "zero one two three four five six seven eight nine")
_TEENS: list[str] = re.findall(
    "[a-z]+", "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS: list[str] = re.findall("[a-z]+", "twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS: list[str] = re.findall(
    "[a-z]+",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth",
)
_SOURCE = Path(__file__).parent / "data" / "templates.txt"
_SLOTS, _SHAPES = _SOURCE.read_text(encoding="utf-8").split("---\n")
_LISTS = {line.split(": ", 1)[0]: line.split(": ", 1)[1].split("|") for line in _SLOTS.splitlines()}
_CHOICES = _SHAPES.splitlines()


def number(value: int) -> str:
    """A number below ten thousand in words."""
    if value < 10:
        return _DIGITS[value]
    if value < 20:
        return _TEENS[value - 10]
    if value < 100:
        return _TENS[value // 10 - 2] + (f" {_DIGITS[value % 10]}" if value % 10 else "")
    if value < 1000:
        return f"{_DIGITS[value // 100]} hundred" + (f" and {number(value % 100)}" if value % 100 else "")
    return f"{number(value // 1000)} thousand" + (f" {number(value % 1000)}" if value % 1000 else "")


def _clock(draw: random.Random) -> str:
    hour, minute = number(draw.randint(1, 12)), draw.choice([0, 5, 10, 15, 20, 30, 40, 45, 50, 55, 12, 23, 37])
    plain = f"{hour} o'clock" if minute == 0 else f"{hour} {'oh ' if minute < 10 else ''}{number(minute)}"
    return draw.choice([plain, plain, f"half past {hour}", f"a quarter to {hour}", f"{hour} in the morning"])


def _money(draw: random.Random) -> str:
    amount, cents = number(int(10 ** draw.uniform(0.4, 3.6))), number(draw.randint(2, 99))
    ways = [f"{amount} dollars", f"{amount} dollars and {cents} cents", f"{amount} euros", f"{cents} cents"]
    return draw.choice(ways)


_COMPUTED: dict[str, Callable[[random.Random], str]] = {
    "digit": lambda draw: _DIGITS[draw.randint(1, 9)],
    "number": lambda draw: number(int(10 ** draw.uniform(0.3, 3.7))),
    "ordinal": lambda draw: draw.choice(_ORDINALS),
    "year": lambda draw: f"{draw.choice(['eighteen', 'nineteen', 'twenty'])} {number(draw.randint(10, 99))}",
    "clock": _clock,
    "money": _money,
}


def sentence(draw: random.Random, words: list[str]) -> str:
    """One sentence; `words` fills the slots for any word."""
    out = ""
    for part in draw.choice(_CHOICES).replace("}", "{").split("{"):
        if part == "word":
            out += draw.choice(words).capitalize()
        elif part in _COMPUTED:
            out += _COMPUTED[part](draw)
        else:
            out += draw.choice(_LISTS[part]) if part in _LISTS else part
    return out[0].upper() + out[1:]
