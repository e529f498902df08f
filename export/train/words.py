"""Words of sentences, and how many of them were heard.

Knows: word alignment. Does not know: recognisers.
"""

from __future__ import annotations

import re


def words(text: str) -> list[str]:
    """Lower-case words of a normalised sentence."""
    return re.findall(r"[a-z']+", text.lower())


def errors(wanted: list[str], heard: list[str]) -> tuple[int, int]:
    """(edit distance in words, wanted words that were heard right) of the best alignment."""
    table = [[(0, 0)] * (len(heard) + 1) for _ in range(len(wanted) + 1)]
    for i in range(len(wanted) + 1):
        for j in range(len(heard) + 1):
            options = []
            if i and j:
                same = wanted[i - 1] == heard[j - 1]
                cost, right = table[i - 1][j - 1]
                options.append((cost + (not same), right - same))
            if i:
                options.append((table[i - 1][j][0] + 1, table[i - 1][j][1]))
            if j:
                options.append((table[i][j - 1][0] + 1, table[i][j - 1][1]))
            table[i][j] = min(options) if options else (0, 0)
    cost, right = table[-1][-1]
    return cost, -right
