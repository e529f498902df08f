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

from export.errors import CheckpointError

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
LEARNING_TEXTS: Final = (
    "Please close the window before you leave the room.",
    "She found an old letter under the kitchen table.",
    "How much does a ticket to the city cost today?",
    "We walked along the river until the sun went down, and then we went home.",
    "The doctor will see you at half past three.",
    "Nobody knows where the little dog came from.",
    "This is a test of the new system, so listen carefully.",
    "Thank you very much for your help yesterday evening.",
    "Open the door, turn left, and follow the long hall to the end.",
    "Winter is cold here, but spring comes early.",
    "Yes.",
    "Good evening!",
    "Our cousins bought a huge yellow house near the beach.",
    "Is the museum open on public holidays?",
    "Mix the flour with butter and sugar, then bake it slowly.",
    "Thunder rolled over the valley, and everybody hurried inside.",
    "I would rather stay at home and read a good book.",
    "Both engines failed just after the aircraft left the ground.",
    "Why did you choose such a strange voice?",
    "Fresh fish, warm bread and a cup of coffee, please.",
    "Several children were playing with a big blue ball in the garden.",
    "The judge thought about it for a moment and shook her head.",
    "Turn the volume down, or the neighbours will complain again!",
    "Sure, no problem.",
)
OTHER_LEARNING_TEXTS: Final = (
    "请问最近的地铁站在哪里？",  # noqa: RUF001
    "Können wir uns morgen früh treffen?",
    "Je voudrais une table près de la fenêtre.",
    "¿Dónde está la biblioteca?",
)
"""What rounding may learn from; no sentence of these is measured."""
LEXICON: Final = "lexicon.txt"


def probe_ids(checkpoint: Path, tokenizer: Tokenizer, *, learning: bool = False) -> list[tuple[int, ...]]:
    """Text ids of each text to be measured (or learnt from), without the message around it."""
    lexicon = checkpoint / LEXICON
    english, other = (LEARNING_TEXTS, OTHER_LEARNING_TEXTS) if learning else (TEXTS, OTHER_TEXTS)
    texts = [*english, *other]
    if lexicon.is_file():
        entries = _entries(lexicon, english)
        texts = [_pronounce(text, entries) for text in english]
    return [tuple(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]


def _pieces(text: str) -> list[str]:
    """Words in lower case, and marks."""
    return re.findall(r"[a-z]+|[^a-z\s]", text.lower())


def _entries(lexicon: Path, texts: tuple[str, ...]) -> dict[str, str]:
    """Phone letters of the texts' words."""
    wanted = {piece for text in texts for piece in _pieces(text)}
    found = {}
    try:
        with lexicon.open(encoding="utf-8") as lines:
            for line in lines:
                word, _, letters = line.rstrip("\n").partition("\t")
                if word in wanted:
                    found[word] = letters
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{lexicon}: {error}") from error
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
