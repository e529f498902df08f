"""Faults a codec's decoder may have although words survive it: tones in silence, clicks at frame borders.

Knows: spectra, frame borders. Does not know: codecs, files, words. Waveforms are mono float32 [n].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.train.alike import Table, Wave

_WINDOW = 2048
_LOWEST_HZ = 300.0
_NEAR = 24  # bins on either side that a line is compared with
_OWN = 3  # bins on either side that belong to the line itself (Hann window)
_SMOOTH = 3  # samples over which curvature is averaged
_STEP_DB = -90.3
"""A sine of one step of 16-bit sound, dB of full scale: what is weaker is lost in the listener's format."""
TINY = 1e-12


@dataclass(frozen=True)
class Line:
    """A line of a spectrum: where, how loud as a sine [dB of full scale], how far above its surroundings."""

    hertz: float
    level_db: float
    above_db: float


def silent_stretches(wave: Wave, rate: int, below_db: float = -60.0, shortest_s: float = 0.1) -> list[slice]:
    """Stretches of at least `shortest_s` in which every 10 ms stay below a level; what borders on sound is left out."""
    hop = rate // 100
    count = len(wave) // hop
    power = np.mean(np.square(wave[: count * hop].reshape(count, hop).astype(np.float64)), axis=1)
    quiet = np.concatenate([[False], 10 * np.log10(power + TINY) < below_db, [False]])
    edges = np.flatnonzero(quiet[1:] != quiet[:-1])
    margin = 2
    found = [(start + margin, end - margin) for start, end in edges.reshape(-1, 2)]
    return [slice(start * hop, end * hop) for start, end in found if (end - start) * hop >= shortest_s * rate]


def mean_power(stretches: list[Wave]) -> Table | None:
    """Mean power spectrum [bins], a full-scale sine being 1; None if no stretch has 2048 samples."""
    window = np.hanning(_WINDOW)
    rows = []
    for piece in stretches:
        if len(piece) >= _WINDOW:
            cut = np.lib.stride_tricks.sliding_window_view(piece.astype(np.float64), _WINDOW)[:: _WINDOW // 4]
            rows.append(np.abs(np.fft.rfft(cut * window)) ** 2 / (window.sum() / 2) ** 2)
    mean: Table = np.concatenate(rows).mean(axis=0) if rows else np.zeros(0)
    return mean if rows else None


def strongest_line(power: Table, rate: int) -> Line:
    """Of the bins above 300 Hz that reach a step of 16-bit sound, the one farthest above the median around it."""
    db = 10 * np.log10(power + TINY)
    best = Line(0.0, -120.0, 0.0)
    for k in range(int(_LOWEST_HZ / rate * _WINDOW), len(db) - 1):
        if db[k] < _STEP_DB:
            continue
        around = np.concatenate([db[max(0, k - _NEAR) : max(0, k - _OWN)], db[k + _OWN + 1 : k + _NEAR]])
        above = float(db[k] - np.median(around))
        if above > best.above_db:
            best = Line(k * rate / _WINDOW, float(db[k]), above)
    return best


def curvature_in_frames_db(waves: list[Wave], period: int) -> tuple[float, float]:
    """Typical curvature (second difference, mean of its logarithm) at each place in frames of `period` samples.

    Gives that of the border and that of the sharpest place, in dB over the median place. Speech knows no frames and
    gives 0 and near 0; a click in every frame stands out, wherever in the frame it is.
    """
    total: NDArray[np.float64] = np.zeros(period)
    count = 0
    for wave in waves:
        whole = len(wave) // period * period
        bent = np.full(whole, TINY)
        bent[1:-1] += np.square(np.diff(wave[:whole].astype(np.float64), 2))
        inner = np.log10(bent).reshape(-1, period)[1:-1]  # how a file begins and ends says nothing
        total += inner.sum(axis=0)
        count += len(inner)
    ring = 10 * total / max(1, count)
    ring = np.concatenate([ring[-_SMOOTH:], ring, ring[:_SMOOTH]])
    smooth = np.convolve(ring, np.ones(2 * _SMOOTH + 1) / (2 * _SMOOTH + 1), "valid")
    above = smooth - np.median(smooth)
    return float(above[0]), float(above.max())
