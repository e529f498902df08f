"""Writes the files of the phone front end beside a checkpoint: phones.json, lexicon.txt, lts.json.

Knows: letters of `phoneset`, how `app/phones.py` reads the files. Does not know: weights.
"""

from __future__ import annotations

import json
from pathlib import Path

from export.train import lexicon, lts
from export.train.phoneset import SYMBOLS

_NAMES = {
    "a": "ey1", "b": "b iy1", "c": "s iy1", "d": "d iy1", "e": "iy1", "f": "eh1 f", "g": "jh iy1", "h": "ey1 ch",
    "i": "ay1", "j": "jh ey1", "k": "k ey1", "l": "eh1 l", "m": "eh1 m", "n": "eh1 n", "o": "ow1", "p": "p iy1",
    "q": "k y uw1", "r": "aa1 r", "s": "eh1 s", "t": "t iy1", "u": "y uw1", "v": "v iy1",
    "w": "d ah1 b ax0 l y uw0", "x": "eh1 k s", "y": "w ay1", "z": "z iy1",
}  # fmt: skip


def spell(phones: str) -> str:
    """Letters of phones written with spaces, vowels with their stress digit."""
    return "".join(SYMBOLS[phone] for phone in phones.split())


def write(directory: Path, words: dict[str, str], rules: lts.Node) -> None:
    """Write the three files."""
    table = {
        "kind": "phones",
        "live": True,
        "symbols": SYMBOLS,
        "letters": {char: spell(phones) for char, phones in _NAMES.items()},
        "hiss": spell("s z sh zh ch jh"),
        "voiceless": spell("p t k f th"),
        "s": spell("s"),
        "z": spell("z"),
        "ez": spell("ih0 z"),
        "features": list(lts.FEATURES),
    }
    text = json.dumps(table, ensure_ascii=False, indent=1) + "\n"
    (directory / "phones.json").write_text(text, encoding="utf-8")
    lexicon.write(words, directory / "lexicon.txt")
    packed = json.dumps(rules, ensure_ascii=False, separators=(",", ":"))
    (directory / "lts.json").write_text(packed, encoding="utf-8")


def make(directory: Path, words: dict[str, str]) -> None:
    """Learn the rules from a lexicon (word -> letters) and write all three files."""
    write(directory, words, lts.train(sorted(words.items())))
