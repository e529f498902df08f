"""Letter-to-sound rules, learned from the lexicon: a decision trie over letters in context, stored as nested JSON.

Knows: words, their letters of `phoneset`, how to align the two (hard EM) and how to grow and prune the trie.
Does not know: where words come from, who looks them up (`app/phones.py` walks the trie with `FEATURES`).

Every letter of a word emits zero to two phone letters. A node is `[output]` or `[output, {feature value: node}]`;
features are asked in the fixed order of `FEATURES`; a missing branch means: the output of this node stands.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

# Offsets of letters asked in turn; "p1" and "p2" are the last and last but one output.
FEATURES: tuple[int | str, ...] = (0, 1, -1, 2, "p1", -2, 3, "p2", -3, 4, -4, 5)
Node = list[str | dict[str, "Node"]]
Pairs = list[tuple[str, str]]
MAX_EMIT = 2


def align(word: str, phones: str, cost: dict[tuple[str, str], float], unseen: float) -> list[str] | None:
    """Split `phones` over the letters of `word` at least cost: one string of 0..2 phone letters per letter."""
    columns = len(phones) + 1
    best = [[math.inf] * columns for _ in range(len(word) + 1)]
    back = [[0] * columns for _ in range(len(word) + 1)]
    best[0][0] = 0.0
    for i, char in enumerate(word):
        for j in range(columns):
            if best[i][j] == math.inf:
                continue
            for emit in range(min(MAX_EMIT, len(phones) - j) + 1):
                total = best[i][j] + cost.get((char, phones[j : j + emit]), unseen + emit)
                if total < best[i + 1][j + emit]:
                    best[i + 1][j + emit] = total
                    back[i + 1][j + emit] = emit
    if best[-1][-1] == math.inf:
        return None
    out, j = [], len(phones)
    for i in range(len(word), 0, -1):
        emit = back[i][j]
        out.append(phones[j - emit : j])
        j -= emit
    return out[::-1]


def learn_costs(pairs: Pairs, rounds: int = 5) -> dict[tuple[str, str], float]:
    """Hard EM over alignments; gives -log p(output | letter). Starts from proportional splitting."""
    counts: Counter[tuple[str, str]] = Counter()
    for word, phones in pairs:
        for i, char in enumerate(word):
            at, end = len(phones) * i // len(word), len(phones) * (i + 1) // len(word)
            counts[char, phones[at : min(end, at + MAX_EMIT)]] += 1
    for _ in range(rounds):
        totals: Counter[str] = Counter()
        for (char, _out), n in counts.items():
            totals[char] += n
        cost = {key: -math.log(n / totals[key[0]]) for key, n in counts.items()}
        counts = Counter()
        for word, phones in pairs:
            outputs = align(word, phones, cost, 12.0)
            if outputs:
                counts.update(zip(word, outputs, strict=True))
    return cost


def feature(word: str, i: int, outputs: list[str], which: int | str) -> str:
    """Value of one feature for letter `i`, given the outputs of the letters before it; `_` outside the word."""
    if which == "p1":
        return outputs[i - 1] if i > 0 else "_"
    if which == "p2":
        return outputs[i - 2] if i > 1 else "_"
    at = i + int(which)
    return word[at] if 0 <= at < len(word) else "_"


Instance = tuple[tuple[str, ...], str]


def instances(word: str, outputs: list[str]) -> list[Instance]:
    """Training instances of one aligned word: (feature values in order, output)."""
    return [(tuple(feature(word, i, outputs, f) for f in FEATURES), outputs[i]) for i in range(len(word))]


def grow(items: list[Instance], depth: int = 0, minimum: int = 2) -> Node:
    """Grow a node from its instances; branches that change nothing are dropped."""
    counts = Counter(output for _, output in items)
    majority = counts.most_common(1)[0][0]
    if len(counts) == 1 or depth == len(FEATURES):
        return [majority]
    groups: dict[str, list[Instance]] = defaultdict(list)
    for item in items:
        groups[item[0][depth]].append(item)
    branches: dict[str, Node] = {}
    for value, group in groups.items():
        if len(group) < minimum:
            continue
        node = grow(group, depth + 1, minimum)
        if len(node) > 1 or node[0] != majority:
            branches[value] = node
    return [majority, branches] if branches else [majority]


def predict(trie: Node, word: str) -> str:
    """Pronounce a lower-case word with the trie (the same walk as at run time)."""
    outputs: list[str] = []
    for i in range(len(word)):
        node = trie
        for which in FEATURES:
            if len(node) == 1:
                break
            branches = node[1]
            assert isinstance(branches, dict)
            found = branches.get(feature(word, i, outputs, which))
            if found is None:
                break
            node = found
        outputs.append(str(node[0]))
    return "".join(outputs)


def train(pairs: Iterable[tuple[str, str]], minimum: int = 2) -> Node:
    """Learn the rules from (word, phone letters) pairs."""
    known = [(word, phones) for word, phones in pairs if word.isalpha()]
    costs = learn_costs(known[:: max(1, len(known) // 20000)])
    items: list[Instance] = []
    for word, phones in known:
        outputs = align(word, phones, costs, 12.0)
        if outputs:
            items.extend(instances(word, outputs))
    return grow(items, 0, minimum)
