"""Losses between waveforms for the codec's decoder.

Knows: spectrograms. Does not know: networks, data. Waveforms are [B, S] in -1..1.
"""

from __future__ import annotations

import torch
from torch import Tensor

WINDOWS = (2048, 1024, 512, 256, 128)


def magnitudes(wave: Tensor, window: int) -> Tensor:
    """Magnitude spectrogram [B, bins, columns] with a Hann window and a hop of a quarter."""
    hann = torch.hann_window(window, device=wave.device)
    return torch.stft(wave, window, window // 4, window=hann, return_complex=True).abs()


def spectral(made: Tensor, wanted: Tensor, floor: float) -> Tensor:
    """Mean over resolutions of the log-magnitude L1 distance plus half the spectral convergence."""
    total = torch.zeros((), device=made.device)
    for window in WINDOWS:
        a, b = magnitudes(made, window), magnitudes(wanted, window)
        logs = ((a + floor).log() - (b + floor).log()).abs().mean()
        total = total + logs + 0.5 * (a - b).norm() / b.norm().clamp_min(1e-3)
    return total / len(WINDOWS)
