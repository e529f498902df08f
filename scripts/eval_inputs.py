"""Varied inputs, as people and programs send them: seeded, from one letter to several sentences.

Knows: what texts may look like. Does not know: voices, what of it can be spoken.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from export.train import templates
from export.train.sentences import sentences

_EMOJI = "😀 🎉 👍🏽 ❤️ 🚀 👨‍👩‍👧 🇩🇪 ✅ 🤔"
_MARKS = "... ?! -- ,;: () \"\" '' !!! — … /// *** ~ ? . ,"
_NAMES = "Siobhan Nguyen Krzysztof O'Brien McAllister Björk Zoë Xi Dvořák Van-der-Meer Ahmed DeShawn"
_SHORTS = "Dr. Mr. e.g. i.e. etc. approx. No. St. vs. Inc. U.S. a.m. Ph.D. NASA HTTP USB-C GPU API SQL iOS"
_WEB = "https://example.org/a?b=1 me@example.com www.test.co.uk C:\\temp #tag @user v1.2.3 3x4 foo_bar x=y+1"
_FOREIGN = "你好 Привет مرحبا こんにちは naïve café über señor Ångström ¡Hola! ελληνικά"
_SYLLABLES = "ba tro ki lun sha pel mo gri zet qua wo fim dra nee vus thip or ex jy bl"


def _several(draw: random.Random, words: list[str], least: int, most: int) -> str:
    return " ".join(templates.sentence(draw, words) for _ in range(draw.randint(least, most)))


def _strange(draw: random.Random) -> str:
    return "".join(draw.choice(_SYLLABLES.split()) for _ in range(draw.randint(2, 5)))


def _number(draw: random.Random) -> str:
    n = draw.randint(0, 10 ** draw.randint(1, 9))
    forms = (
        f"{n}", f"{n:,}", f"-{n}", f"{n / 100:.2f}", f"${n / 100:.2f}", f"{n % 100}%", f"{n} km", f"€{n}", f"{n}x",
        f"{n % 12 + 1}:{n % 60:02d}", f"{n % 28 + 1} May {1900 + n % 200}", f"0{n}", f"{n % 20}th",
        f"{n % 12 + 1}/{n % 28 + 1}/20{n % 100:02d}", f"+49 30 {n % 10**6}", f"{n % 9 + 1}/{n % 7 + 2}",
    )  # fmt: skip
    return draw.choice(forms)


def _mixed(draw: random.Random, words: list[str]) -> str:
    pools = [words, words, words, *(pool.split() for pool in (_EMOJI, _NAMES, _SHORTS, _WEB, _FOREIGN, _MARKS))]
    parts = [draw.choice(draw.choice(pools)) for _ in range(draw.randint(2, 14))]
    parts.insert(draw.randrange(len(parts)), _number(draw))
    return " ".join(parts)


def _torn(draw: random.Random, words: list[str]) -> str:
    """A text cut anywhere, without an end."""
    text = _several(draw, words, 1, 3)
    return text[: draw.randint(1, len(text))]


Kind = Callable[[random.Random, list[str]], str]

KINDS: dict[str, Kind] = {
    "letter": lambda d, _: d.choice("abcdefghijklmnopqrstuvwxyzABCDEIORUXYZ0123456789"),
    "word": lambda d, w: d.choice(w) + d.choice(["", ".", "!", "?"]),
    "two words": lambda d, w: f"{d.choice(w)} {d.choice(w)}",
    "sentence": templates.sentence,
    "list": lambda d, w: ", ".join(d.choice(w) for _ in range(d.randint(3, 12))),
    "no marks": lambda d, w: " ".join(d.choice(w) for _ in range(d.randint(15, 60))),
    "several": lambda d, w: _several(d, w, 2, 6),
    "long": lambda d, _: " ".join(d.choice([t for k, t in sentences() if k.startswith("long")]) for _ in range(2)),
    "number": lambda d, _: _number(d),
    "numbers": lambda d, _: " ".join(_number(d) for _ in range(d.randint(2, 8))),
    "name": lambda d, _: " ".join(d.choice(_NAMES.split()) for _ in range(d.randint(1, 4))),
    "short forms": lambda d, _: " ".join(d.choice(_SHORTS.split()) for _ in range(d.randint(1, 6))),
    "web": lambda d, _: " ".join(d.choice(_WEB.split()) for _ in range(d.randint(1, 3))),
    "capitals": lambda d, w: templates.sentence(d, w).upper(),
    "unknown words": lambda d, _: " ".join(_strange(d) for _ in range(d.randint(1, 8))),
    "repeated": lambda d, w: " ".join([d.choice(w)] * d.randint(2, 12)),
    "marks only": lambda d, _: " ".join(d.choice(_MARKS.split()) for _ in range(d.randint(1, 5))),
    "emoji": lambda d, _: "".join(d.choice(_EMOJI.split()) for _ in range(d.randint(1, 5))),
    "foreign": lambda d, _: " ".join(d.choice(_FOREIGN.split()) for _ in range(d.randint(1, 4))),
    "mixed": _mixed,
    "torn": _torn,
    "questions": lambda d, w: d.choice(w).capitalize() + "?" * d.randint(1, 5),
}


def inputs(count: int, words: list[str], seed: int = 0) -> list[tuple[str, str]]:
    """`count` (kind, text) pairs, all kinds in turn; `words` fill them."""
    draw = random.Random(seed)
    kinds = list(KINDS.items())
    return [(name, make(draw, words)) for name, make in (kinds[i % len(kinds)] for i in range(count))]
