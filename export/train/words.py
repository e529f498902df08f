"""Words of sentences, and how many of them were heard.

Knows: word alignment. Does not know: recognisers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


def words(text: str) -> list[str]:
    """Lower-case words of a normalised sentence."""
    return re.findall(r"[a-z']+", text.lower())


@dataclass(frozen=True, slots=True)
class Differences:
    """Where what was heard differs from what was wanted, in order."""

    others: tuple[tuple[str, str], ...] = ()
    """(wanted, heard) words taken for others."""
    lost: tuple[str, ...] = ()
    """Wanted and not heard."""
    added: tuple[str, ...] = ()
    """Heard and not wanted."""

    @property
    def count(self) -> int:
        """The edit distance in words."""
        return len(self.others) + len(self.lost) + len(self.added)


def differences(wanted: list[str], heard: list[str]) -> Differences:
    """Of the alignment with the least of them, and of those the one with the most words right."""
    table: list[list[tuple[int, int, Differences]]] = []
    for i in range(len(wanted) + 1):
        table.append([])
        for j in range(len(heard) + 1):
            options = [] if i or j else [(0, 0, Differences())]
            if i and j:
                cost, missed, found = table[i - 1][j - 1]
                pair = (wanted[i - 1], heard[j - 1])
                if pair[0] != pair[1]:
                    cost, missed, found = cost + 1, missed + 1, replace(found, others=(*found.others, pair))
                options.append((cost, missed, found))
            if i:
                cost, missed, found = table[i - 1][j]
                options.append((cost + 1, missed + 1, replace(found, lost=(*found.lost, wanted[i - 1]))))
            if j:
                cost, missed, found = table[i][j - 1]
                options.append((cost + 1, missed, replace(found, added=(*found.added, heard[j - 1]))))
            table[i].append(min(options, key=lambda option: option[:2]))
    return table[-1][-1][2]


def errors(wanted: list[str], heard: list[str]) -> tuple[int, int]:
    """(edit distance in words, wanted words that were heard right) of the best alignment."""
    found = differences(wanted, heard)
    return found.count, len(wanted) - len(found.others) - len(found.lost)
