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
    "scores, votes and spans of units": {
        "They lead 4-3 in the bottom of the 9th.": "They lead four to three in the bottom of the ninth.",
        "We lost 5\u20134 in overtime, 3-0 in sets.": "We lost five to four in overtime, three to zero in sets.",
        "Between 2010-2015 in Europe, a 5-4 us win": (
            "Between twenty ten and twenty fifteen in Europe, a five to four us win"
        ),
        "Expect 4-6 in. of snow, 2-3 in deep.": "Expect four to six inches of snow, two to three inches deep.",
        "Let rest 5-10 min. before slicing.": "Let rest five to ten minutes before slicing.",
        "Add 2-3 tbsp. butter for 10-15 min.": "Add two to three tablespoons butter for ten to fifteen minutes.",
    },
}
