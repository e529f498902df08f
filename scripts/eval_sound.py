"""How the voice sounds beside its teacher, words aside: loudness and pitch.

Knows: which figures. Does not know: how they are computed (`export.train.alike`, `export.train.loudness`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from export.train.alike import Wave, pitch_likeness
from export.train.loudness import loudness_lufs


@dataclass(frozen=True)
class Spread:
    """Integrated loudness of utterances [LUFS]: middle, and how far they are apart [LU]."""

    median: float
    p5_to_p95: float
    deviation: float
    least_to_most: float


@dataclass(frozen=True)
class Pitch:
    """The voice's beside its teacher's, after warping."""

    median: float
    """Correlation of log pitch; middle of the utterances."""
    p10: float
    shift: float
    """How much higher the voice is than its teacher, semitones."""
    utterances: int


@dataclass(frozen=True)
class SoundFigures:
    """Of one speaker over all sentences; None where there is nothing to measure: all silent, no pitch in any."""

    voice: Spread | None
    teacher: Spread | None
    pitch: Pitch | None


def spread(waves: list[Wave], rate: int) -> Spread | None:
    """Of the utterances that are not silent."""
    found = np.array([loudness_lufs(wave, rate) for wave in waves if len(wave) and np.abs(wave).max() > 1e-4])
    found = found[np.isfinite(found)]
    if not len(found):
        return None
    low, middle, high = np.percentile(found, [5, 50, 95])
    return Spread(float(middle), float(high - low), float(found.std()), float(found.max() - found.min()))


def pitch(taught: list[Wave], made: list[Wave], rate: int) -> Pitch | None:
    """Of the utterances in which both are voiced for long enough."""
    pairs = [pitch_likeness(a, b, rate) for a, b in zip(taught, made, strict=True) if len(b)]
    known = np.array([pair for pair in pairs if pair is not None])
    if not len(known):
        return None
    low, middle = np.percentile(known[:, 0], [10, 50])
    return Pitch(float(middle), float(low), float(np.median(known[:, 1])), len(known))


def sound_figures(taught: list[Wave], made: list[Wave], rate: int) -> SoundFigures:
    """Compare utterance by utterance."""
    return SoundFigures(spread(made, rate), spread(taught, rate), pitch(taught, made, rate))
