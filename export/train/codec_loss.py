"""Losses between waveforms for the codec's decoder.

Knows: spectrograms. Does not know: networks, data. Waveforms are [B, S] in -1..1.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor

from export.train.alike import mel_bands

WINDOWS = (2048, 1024, 512, 256, 128)
BANDS = {1024: 80, 512: 48, 256: 24}
"""Mel bands per window."""
SILENT_RMS = 2e-3
"""Columns of less than this are silence."""
TONE_WINDOW, TONE_NEAR, TONE_LINES = 2048, 16, 6
TONE_FREE = 0.5
"""Nats a line may stand above its surroundings."""


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


@cache
def _filters(window: int, rate: int) -> Tensor:
    """Mel filters [bands, bins], scaled so that white noise has the same size in every window."""
    bands = torch.from_numpy(mel_bands(BANDS[window], window // 2 + 1, rate)).float()
    return bands * float(2 * window**-0.5)


def mel(made: Tensor, wanted: Tensor, floor: float, rate: int) -> Tensor:
    """Mean over windows of the L1 distance of log mel bands: what a listener (or recogniser) tells sounds apart by.

    Bands hold several bins of noise each, so that, unlike `spectral`, this asks for the right level of a hiss.
    """
    total = torch.zeros((), device=made.device)
    for window in BANDS:
        filters = _filters(window, rate).to(made.device)
        a, b = filters @ magnitudes(made, window), filters @ magnitudes(wanted, window)
        total = total + ((a + floor).log() - (b + floor).log()).abs().mean()
    return total / len(BANDS)


def tones(made: Tensor, wanted: Tensor, floor: float) -> Tensor:
    """How far the strongest lines stand above what should be around them, where `wanted` is silent [nats]."""
    a, b = magnitudes(made, TONE_WINDOW), magnitudes(wanted, TONE_WINDOW)
    silent = b.pow(2).mean(1) < SILENT_RMS**2 * TONE_WINDOW * 0.375  # the Hann window's mean square
    if not silent.any():
        return torch.zeros((), device=made.device)
    lines, quiet = a.transpose(1, 2)[silent], b.transpose(1, 2)[silent]
    around = F.pad(quiet, (TONE_NEAR, TONE_NEAR), mode="reflect").unfold(1, 2 * TONE_NEAR + 1, 1).median(-1).values
    above = ((lines + floor).log() - (around + floor).log())[:, TONE_NEAR:].clamp_min(TONE_FREE)
    return above.topk(TONE_LINES, dim=1).values.mean() - TONE_FREE
