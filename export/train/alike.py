"""How alike two recordings of one sentence are: mel distance, pitch, and the alignment that makes them comparable.

Knows: log-mel bands, fundamental frequency by autocorrelation, dynamic time warping. Does not know: speakers, files,
words. Waveforms are mono float32 [n]; a column is 10 ms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Wave = NDArray[np.float32]
Table = NDArray[np.float64]

COLUMN_S = 0.01
LOWEST_HZ, HIGHEST_HZ = 60.0, 400.0
_WINDOW_S = 0.04
_VOICED = 0.45  # normalised autocorrelation from which a column counts as voiced
_HIGHEST_HARMONIC_HZ = 900.0
_CANDIDATES = 6
_OCTAVE, _JUMP, _ONSET = 0.02, 0.5, 0.14  # costs: of a lower octave, of an octave's jump, of beginning or ending
_QUIET_DB = -45.0  # below the loudest column: neither voiced nor compared
_BANDS = 80
_FLOOR = 1e-5


def columns(wave: Wave, rate: int, window_s: float = _WINDOW_S) -> Table:
    """Stretches of `window_s` around every 10 ms [T, window]; the ends are padded with silence."""
    size, hop = round(window_s * rate), round(COLUMN_S * rate)
    padded = np.pad(wave.astype(np.float64), (size // 2, size))
    count = max(1, len(wave) // hop)
    return np.lib.stride_tricks.sliding_window_view(padded, size)[: count * hop : hop]


def level_db(wave: Wave, rate: int) -> Table:
    """Level of every column [dB of full scale]."""
    power: Table = np.mean(np.square(columns(wave, rate)), axis=1)
    return 10 * np.log10(power + 1e-12)


def mel_bands(bands: int, bins: int, rate: int) -> Table:
    """Triangles of equal width on the mel scale [bands, bins]."""
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    hertz = np.linspace(0, rate / 2, bins)
    rise = (hertz - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - hertz) / np.diff(edges)[1:, None]
    return np.clip(np.minimum(rise, fall), 0, None)


def log_mel(wave: Wave, rate: int, bands: int = _BANDS) -> Table:
    """Mel bands of every column [T, bands], in dB of amplitude."""
    cut = columns(wave, rate)
    size = 1 << (cut.shape[1] - 1).bit_length()
    power = np.abs(np.fft.rfft(cut * np.hanning(cut.shape[1]), size)) / cut.shape[1]
    heard: Table = power @ mel_bands(bands, power.shape[1], rate).T
    return 20 * np.log10(heard + _FLOOR)


def timbre(wave: Wave, rate: int) -> Table:
    """What a column sounds like apart from its pitch [T, 12]: the slow part of 24 mel bands across the bands."""
    bands = log_mel(wave, rate, 24)
    places = (np.arange(24) + 0.5) / 24
    return bands @ np.cos(np.pi * places[:, None] * np.arange(12)) / 24


def mel_distance_db(one: Wave, other: Wave, rate: int) -> float:
    """Mean difference of the mel bands where `one` is not silent [dB]; both must have the same time axis and level."""
    length = min(len(one), len(other))
    loud = level_db(one[:length], rate)
    heard = loud > loud.max() + _QUIET_DB
    difference = np.abs(log_mel(one[:length], rate) - log_mel(other[:length], rate))
    return float(difference[heard].mean())


def pitch_hz(wave: Wave, rate: int) -> Table:
    """Fundamental frequency of every column [T]; 0 where there is none.

    Peaks of the autocorrelation below 900 Hz (Boersma 1993) are candidates; the path through them that changes least
    from column to column wins, which is what saves it from taking octaves for each other.
    """
    hertz, strength = _pitch_candidates(wave, rate)
    steps = np.abs(np.log2(np.maximum(hertz, 1.0)))
    best = strength[0]
    came = np.zeros(hertz.shape, np.int64)
    for t in range(1, len(hertz)):
        voiced = (hertz[t - 1][:, None] > 0, hertz[t][None] > 0)
        jump = _JUMP * np.abs(steps[t - 1][:, None] - steps[t][None])
        cost = np.where(voiced[0] & voiced[1], jump, np.where(voiced[0] != voiced[1], _ONSET, 0.0))
        total = best[:, None] - cost
        came[t] = total.argmax(axis=0)
        best = total.max(axis=0) + strength[t]
    place = int(best.argmax())
    found = np.zeros(len(hertz))
    for t in range(len(hertz) - 1, -1, -1):
        found[t] = hertz[t, place]
        place = int(came[t, place])
    return found


def _pitch_candidates(wave: Wave, rate: int) -> tuple[Table, Table]:
    """(frequencies, strengths) of the candidates of every column [T, 1 + 6]; the first is none at all, 0 Hz."""
    cut = columns(wave, rate)
    cut = cut - cut.mean(axis=1, keepdims=True)
    window = np.hanning(cut.shape[1])
    size = 1 << (2 * cut.shape[1] - 1).bit_length()
    low = np.fft.rfftfreq(size, 1 / rate) < _HIGHEST_HARMONIC_HZ
    plain = np.fft.irfft(np.abs(np.fft.rfft(cut * window, size)) ** 2 * low)
    own = np.fft.irfft(np.abs(np.fft.rfft(window, size)) ** 2)
    shortest, longest = int(rate / HIGHEST_HZ), int(rate / LOWEST_HZ)
    likeness = plain[:, : longest + 2] / (plain[:, :1] + 1e-9) * (own[0] / own[: longest + 2])
    middle = likeness[:, shortest : longest + 1]
    peak = (middle > likeness[:, shortest - 1 : longest]) & (middle >= likeness[:, shortest + 1 : longest + 2])
    lags = np.arange(shortest, longest + 1)
    weighed = np.where(peak, middle - _OCTAVE * np.log2(lags / shortest), -np.inf)
    best = np.argsort(-weighed, axis=1)[:, :_CANDIDATES]
    strength = np.take_along_axis(weighed, best, axis=1)
    hertz = np.where(np.isfinite(strength), rate / lags[best], 0.0)
    loud = level_db(wave, rate)
    none = np.where(loud > loud.max() + _QUIET_DB, _VOICED, 2.0)
    return (
        np.concatenate([np.zeros((len(hertz), 1)), hertz], axis=1),
        np.concatenate([none[:, None], np.maximum(strength, -9.0)], axis=1),
    )


def warp(one: Table, other: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Columns of two tables [T, B] and [U, B] that belong together: the cheapest monotonous path."""
    cost = np.sqrt(np.maximum(0, (one**2).sum(1)[:, None] + (other**2).sum(1)[None] - 2 * one @ other.T))
    rows, cols = cost.shape
    total = np.full((rows + 1, cols + 1), np.inf)
    total[0, 0] = 0
    for diagonal in range(rows + cols - 1):
        i = np.arange(max(0, diagonal - cols + 1), min(rows, diagonal + 1))
        j = diagonal - i
        total[i + 1, j + 1] = cost[i, j] + np.minimum(np.minimum(total[i, j + 1], total[i + 1, j]), total[i, j])
    path, i, j = [(rows - 1, cols - 1)], rows, cols
    while i > 1 or j > 1:
        step = int(np.argmin((total[i - 1, j - 1], total[i - 1, j], total[i, j - 1])))
        i, j = i - (step != 2), j - (step != 1)
        path.append((i - 1, j - 1))
    pairs = np.array(path[::-1])
    return pairs[:, 0], pairs[:, 1]


def pitch_likeness(one: Wave, other: Wave, rate: int) -> tuple[float, float] | None:
    """Correlation of the pitch contours, and how much higher `other` is [semitones].

    Both are warped onto each other by their timbre; columns that are voiced in both count, in log frequency.
    None where fewer than 20 of them are left.
    """
    left, right = warp(timbre(one, rate), timbre(other, rate))
    a, b = pitch_hz(one, rate)[left], pitch_hz(other, rate)[right]
    both = (a > 0) & (b > 0)
    if both.sum() < 20:
        return None
    x, y = 12 * np.log2(a[both]), 12 * np.log2(b[both])
    if x.std() < 1e-6 or y.std() < 1e-6:
        return None
    return float(np.corrcoef(x, y)[0, 1]), float(np.median(y - x))
