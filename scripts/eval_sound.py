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
class SoundFigures:
    """Of one speaker over all sentences."""

    voice: Spread
    teacher: Spread
    pitch_median: float
    """Correlation of log pitch with the teacher's, after warping; middle of the utterances."""
    pitch_p10: float
    pitch_shift: float
    """How much higher the voice is than its teacher, semitones."""
    pitch_utterances: int


def spread(waves: list[Wave], rate: int) -> Spread:
    """Of the utterances that are not silent."""
    found = np.array([loudness_lufs(wave, rate) for wave in waves if len(wave) and np.abs(wave).max() > 1e-4])
    found = found[np.isfinite(found)]
    low, middle, high = np.percentile(found, [5, 50, 95])
    return Spread(float(middle), float(high - low), float(found.std()), float(found.max() - found.min()))


def sound_figures(taught: list[Wave], made: list[Wave], rate: int) -> SoundFigures:
    """Compare utterance by utterance."""
    pairs = [pitch_likeness(a, b, rate) for a, b in zip(taught, made, strict=True) if len(b)]
    known = np.array([pair for pair in pairs if pair is not None])
    return SoundFigures(
        voice=spread(made, rate),
        teacher=spread(taught, rate),
        pitch_median=float(np.median(known[:, 0])),
        pitch_p10=float(np.percentile(known[:, 0], 10)),
        pitch_shift=float(np.median(known[:, 1])),
        pitch_utterances=len(known),
    )
