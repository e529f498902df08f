"""The test sentences, unseen by any training, each of a kind (reply, number, time, money, name, ...).

Knows: their files. Does not know: scores.

Two lists: one that figures are reported on, one that settings are chosen on; and long sentences, whose words are
counted one by one. No training text holds any of them, but for the commonest one-word answers ("Yes.", kind `oneword`),
which no training text can be without.
"""

from __future__ import annotations

from pathlib import Path

SENTENCES = Path(__file__).parent / "data" / "eval_sentences.txt"
TUNING = Path(__file__).parent / "data" / "tuning_sentences.txt"
LONG = Path(__file__).parent / "data" / "long_sentences.txt"
COMMON = "oneword"


def sentences(path: Path = SENTENCES) -> list[tuple[str, str]]:
    """(kind, text) of every test sentence."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(line.split("\t")[0], line.split("\t")[1]) for line in lines if line.strip()]


def long_sentences() -> list[str]:
    """Sentences of 10 to 15 s."""
    return LONG.read_text(encoding="utf-8").splitlines()


def unseen() -> set[str]:
    """Lower-case texts of all lists that no training text may be."""
    long = {text.lower() for text in long_sentences()}
    return long | {text.lower() for path in (SENTENCES, TUNING) for kind, text in sentences(path) if kind != COMMON}
