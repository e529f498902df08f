"""Joins phone letters into pieces of up to three, so that text comes faster than it is spoken.

Purpose: the streaming-text layout gives a voice one token per frame, and speech has about one phone per frame. Pieces
of several phones put the text ahead of the mouth. Knows: byte-pair merging over letters within a word, the word space
before it included. Does not know: token numbers, the corpus.

`data/phone_pieces.txt` holds the merges of the shipped voice in order, learned by `learn` from the words of the corpus;
`_` stands for the word space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LONGEST = 3
"""Letters of a piece, its word space included: at 600 merges 0.48 to 0.53 tokens a frame (docs/LOG.md, 2026-11-20)."""
MERGES = 600
FILE = Path(__file__).parent / "data" / "phone_pieces.txt"
WORDS = re.compile(r" ?[^ ,.?!;:]+|[ ,.?!;:]")

Merge = tuple[str, str]


def learn(words: Mapping[str, int], merges: int = MERGES, longest: int = LONGEST) -> list[Merge]:
    """The most frequent pairs one after the other (Sennrich et al. 2016), from words with how often they occur."""
    split = {word: list(word) for word in words}
    out: list[Merge] = []
    while len(out) < merges:
        counts: Counter[Merge] = Counter()
        for word, times in words.items():
            parts = split[word]
            for left, right in pairwise(parts):
                if len(left) + len(right) <= longest:
                    counts[left, right] += times
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        out.append(best)
        for word, parts in split.items():
            if best[0] in parts:
                split[word] = _joined(parts, best)
    return out


def _joined(parts: list[str], pair: Merge) -> list[str]:
    out: list[str] = []
    for part in parts:
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return out


@lru_cache(maxsize=1)
def shipped() -> tuple[Merge, ...]:
    """The merges of the shipped voice, in order."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple((left.replace("_", " "), right) for left, right in (line.split(" ") for line in lines))


@lru_cache(maxsize=1)
def _ranks() -> dict[Merge, int]:
    return {pair: rank for rank, pair in enumerate(shipped())}


@lru_cache(maxsize=100_000)
def _pieces_of(word: str) -> tuple[str, ...]:
    parts, ranks = list(word), _ranks()
    while len(parts) > 1:
        best = min(pairwise(parts), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        parts = _joined(parts, best)
    return tuple(parts)


def split(symbols: str) -> list[str]:
    """The pieces of a symbol string, as the shipped tokenizer cuts it; marks stand alone."""
    return [piece for word in WORDS.findall(symbols) for piece in _pieces_of(word)]


def piece_of_letter(symbols: str) -> NDArray[np.int64]:
    """Which piece each letter of a symbol string is in, i64 [letters]."""
    lengths = [len(piece) for piece in split(symbols)]
    return np.repeat(np.arange(len(lengths)), lengths)
