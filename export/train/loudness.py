"""Evens out how loud the teachers' utterances are, so that the voice's are even too.

Knows: integrated loudness as ITU-R BS.1770-4 defines it (by pyloudnorm). Does not know: teachers, codecs.
"""

from __future__ import annotations

import numpy as np
import pyloudnorm
from numpy.typing import NDArray

TARGET_LUFS = -24.0
"""Near what the second teacher speaks at by itself; speech of -24 LUFS keeps its peaks below full scale."""
PEAK = 0.95
BLOCK_S = 0.4  # BS.1770-4 measures in blocks of 400 ms


def loudness_lufs(wave: NDArray[np.float32], rate_hz: int) -> float:
    """Integrated loudness of samples f32 [n]; an utterance shorter than a block counts as one block."""
    block_s = min(BLOCK_S, len(wave) / rate_hz)
    return float(pyloudnorm.Meter(rate_hz, block_size=block_s).integrated_loudness(wave.astype(np.float64)))


def even(wave: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    """The samples f32 [n] at `TARGET_LUFS`, or as near as a peak of `PEAK` allows; silence stays as it is."""
    peak = float(np.abs(wave).max(initial=0.0))
    found = loudness_lufs(wave, rate_hz) if peak > 0.0 else -np.inf
    if not np.isfinite(found):
        return wave
    gain = min(10.0 ** ((TARGET_LUFS - found) / 20.0), PEAK / peak)
    louder: NDArray[np.float32] = wave * np.float32(gain)
    return louder
