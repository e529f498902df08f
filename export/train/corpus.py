"""The text the teachers speak: own templates, WordNet examples, word lists; all from Debian packages.

Knows: where the packages put their files. Does not know: teachers, sound.
Packages: wordnet-base, wamerican.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from export.train import templates
from export.train.sentences import unseen

WORDNET = Path("/usr/share/wordnet")
WORDS = Path("/usr/share/dict/american-english")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z' ,;:?!.-]*")
_LINKS = (
    ", and ", ", but ", ", so ", ", because ", ", although ", ", while ", ", which means ", ", or ", ", ", ", then ",
    " and ", " while ", " when ", " because ", " that ", " of ", " with ", " before ", " after ", " until ", " as if ",
)  # fmt: skip
"""What joins clauses: the teachers pause at a comma, and speak on without one."""
LONG_LETTERS = (90, 240)
"""Of a joined sentence: about 6 to 16 seconds."""


def tidy(text: str) -> str | None:
    """One sentence as the teachers can speak it, or None: letters and marks only, 2 to 40 words, a mark at the end."""
    text = re.sub(r"\s+", " ", text.replace("--", ", ").replace("`", "'")).strip(" \"'")
    if not _PLAIN.fullmatch(text) or not 2 <= len(text.split()) <= 40 or re.search(r"\b[A-Z]{2,}\b", text):
        return None
    text = text[0].upper() + text[1:].rstrip(",;:- ")
    return text if text[-1] in ".?!" else text + "."


def wordnet_examples() -> list[str]:
    """Quoted example sentences of WordNet's glosses."""
    found: set[str] = set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (WORDNET / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  ") or "|" not in line:
                continue
            for quoted in re.findall(r'"([^"]+)"', line.split("|", 1)[1]):
                made = tidy(quoted)
                if made:
                    found.add(made)
    return sorted(found)


def word_list() -> list[str]:
    """Plain lower-case words of three to twelve letters."""
    return [w for w in WORDS.read_text(encoding="utf-8").splitlines() if re.fullmatch("[a-z]{3,12}", w)]


def long_sentence(draw: random.Random, clauses: Sequence[str]) -> str:
    """One sentence of 6 to 16 s made of clauses; a voice that never heard a long one loses words in it."""
    longest = draw.randint(*LONG_LETTERS)
    out = draw.choice(clauses)[:-1]
    while len(out) < longest:
        more = draw.choice(clauses)[:-1]
        out += draw.choice(_LINKS) + (more if more.startswith(("I ", "I'")) else more[0].lower() + more[1:])
    return out + "."


def word_run(draw: random.Random, words: Sequence[str]) -> str:
    """Words that no sentence holds together: one several times over, or many without a mark.

    A voice that never heard them loses its place among equal words and does not end.
    """
    if draw.random() < 0.5:
        run = [draw.choice(words)] * draw.randint(2, 12)
    else:
        run = [draw.choice(words) for _ in range(draw.randint(4, 20))]
    return " ".join(run).capitalize() + "."


def build(count: int, seed: int, spoken_before: set[str] | None = None) -> list[str]:
    """`count` different texts: 40 % templates, 40 % WordNet, 10 % joined clauses, 5 % lists of rare words, 5 % runs.

    Never a test sentence.
    """
    draw = random.Random(seed)
    examples, words = wordnet_examples(), word_list()
    draw.shuffle(examples)
    banned = unseen() | (spoken_before or set())
    clauses = [text for text in examples if text.lower() not in banned]
    out: list[str] = []
    while len(out) < count:
        dice = draw.random()
        if dice < 0.4 or not examples:
            text = templates.sentence(draw, words)
        elif dice < 0.8:
            text = examples.pop()
        elif dice < 0.9:
            text = long_sentence(draw, clauses)
        elif dice < 0.95:
            text = word_run(draw, words)
        else:
            text = ", ".join(draw.choice(words) for _ in range(draw.randint(1, 4))).capitalize() + "."
        key = text.lower()
        if key not in banned:
            if len(text.split()) > 1:
                banned.add(key)
            out.append(text)
    return out
