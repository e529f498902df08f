"""What a bundle is probed with: a few short texts as the voice's own ids.

Purpose: text ids for the measurement of quantised weights, the same for every export of a checkpoint.
Knows: the tokenizer, the lexicon of a voice that reads phones. Does not know: prompts, graphs, normalisation (the texts
need none).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

TEXTS: Final = (
    "The quick brown fox jumps over the lazy dog.",
    "Could you please bring me another glass of water?",
    "Tomorrow morning the train leaves from platform seven, ten minutes earlier than usual.",
    "I never thought it would be this easy!",
    "Music and silence belong together.",
    "All the lights in the house are off now.",
)
OTHER_TEXTS: Final = ("今天天气很好，我们一起去公园散步吧。", "Der Zug nach Hamburg fährt heute leider später ab.")  # noqa: RUF001
"""For voices that read text of any language."""
LEXICON: Final = "lexicon.txt"


def probe_ids(checkpoint: Path, tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Text ids of each probe text, without the message around it."""
    lexicon = checkpoint / LEXICON
    texts: list[str] = [*TEXTS, *OTHER_TEXTS]
    if lexicon.is_file():
        entries = _entries(lexicon)
        texts = [_pronounce(text, entries) for text in TEXTS]
    return [tuple(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]


def _pieces(text: str) -> list[str]:
    """Words in lower case, and marks."""
    return re.findall(r"[a-z]+|[^a-z\s]", text.lower())


def _entries(lexicon: Path) -> dict[str, str]:
    """Phone letters of the words the probe needs."""
    wanted = {piece for text in TEXTS for piece in _pieces(text)}
    found = {}
    with lexicon.open(encoding="utf-8") as lines:
        for line in lines:
            word, _, letters = line.rstrip("\n").partition("\t")
            if word in wanted:
                found[word] = letters
    return found


def _pronounce(text: str, entries: dict[str, str]) -> str:
    """Phone letters with the marks kept; a word the lexicon lacks is left out."""
    spoken = ""
    for piece in _pieces(text):
        if piece in entries:
            spoken += f" {entries[piece]}"
        elif not piece.isalpha():
            spoken += piece
    return spoken.strip()
