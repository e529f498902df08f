"""Which stretches of the corpus one training step sees: whole utterances, pieces cut at pauses, and joined ones.

Knows: examples and how to cut and join them. Does not know: networks, prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from export.train.corpus_data import Example, join, split_at_pause

Utterances = list[tuple[Example, list[int]]]  # of one speaker


@dataclass(frozen=True)
class Mixture:
    """Shares of joined and of cut examples, the longest joined length and the size of a step, both in frames."""

    joined: float = 0.35
    cut: float = 0.2
    longest: int = 188
    step_frames: int = 1200


def single(utterances: Utterances, mixture: Mixture, draw: np.random.Generator) -> Example:
    """One utterance, sometimes only the part before or after one of its pauses."""
    e, pauses = utterances[int(draw.integers(len(utterances)))]
    if pauses and draw.random() < mixture.cut * 2:
        sides = split_at_pause(e, pauses[int(draw.integers(len(pauses)))])
        if sides is not None:
            return sides[int(draw.integers(2))]
    return e


def example(utterances: Utterances, mixture: Mixture, draw: np.random.Generator) -> Example:
    """One training example."""
    e = single(utterances, mixture, draw)
    if draw.random() >= mixture.joined:
        return e
    goal, parts = draw.integers(60, mixture.longest + 1), [e]
    total = len(e.frames)
    for _ in range(12):
        more = single(utterances, mixture, draw)
        if total + len(more.frames) > goal:
            break
        parts.append(more)
        total += len(more.frames)
    return join(parts)


def step(speakers: list[Utterances], mixture: Mixture, draw: np.random.Generator) -> list[Example]:
    """Examples for one step: three steps' worth is drawn, sorted by length, and one contiguous third is taken.

    A speaker's share grows with the square root of its utterances.
    """
    shares = np.sqrt([len(spoken) for spoken in speakers])
    chances = shares / shares.sum()
    pool: list[Example] = []
    total = 0
    while total < 3 * mixture.step_frames:
        pool.append(example(speakers[int(draw.choice(len(speakers), p=chances))], mixture, draw))
        total += len(pool[-1].frames)
    pool.sort(key=lambda e: len(e.frames))
    third = int(draw.integers(3))
    lower, upper = third * mixture.step_frames, (third + 1) * mixture.step_frames
    ends = np.cumsum([len(e.frames) for e in pool])
    chosen = [e for e, end in zip(pool, ends, strict=True) if lower < end <= upper]
    return chosen or pool[:1]
