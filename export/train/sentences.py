"""The test sentences: unseen by any training, each of a kind (reply, number, time, money, name, ...).

Knows: their file. Does not know: scores.
"""

from __future__ import annotations

from pathlib import Path

SENTENCES = Path(__file__).parent / "data" / "eval_sentences.txt"


def sentences(path: Path = SENTENCES) -> list[tuple[str, str]]:
    """(kind, text) of every test sentence."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(line.split("\t")[0], line.split("\t")[1]) for line in lines if line.strip()]
