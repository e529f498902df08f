"""How whole lines are spoken: what language models answer, news and sports say, people write in messages."""

from __future__ import annotations

from typing import Final

ANSWERS: Final[dict[str, dict[str, str]]] = {
    "persons and letters that are no numerals": {
        "No. I have 3 cats.": "No. I have three cats.",
        "The number I gave you has 3 digits.": "The number I gave you has three digits.",
        "the part I like is on page 5": "the part I like is on page five",
        "A Type C charger costs $5.": "A Type C charger costs five dollars.",
        "Part C and Part D cost $185.": "Part C and Part D cost one hundred eighty five dollars.",
        "Vol. I, Part I, level V and No. II": "Volume one, Part one, level five and Number two",
    },
}
