"""The codec's encoder and its residual quantiser: waveform to codes. Needed for training only, never shipped.

Knows: spectral features, ConvNeXt blocks, nearest codes. Does not know: data, the decoder.

Shapes: B utterances, S samples, U feature columns (100 a second), T frames, D latent width, G codebooks, K codes.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor, nn

from export.train.shape import VoiceShape

HOP = 240
WINDOW = 1024
MELS = 80
LOWEST = 80
MEL_FLOOR, LINEAR_FLOOR = 3e-8, 1e-5  # added to powers before the logarithm


def mel_filters(bins: int, rate: int, count: int = MELS) -> Tensor:
    """Triangular filters [count, bins], evenly spaced on the mel scale from 0 to half the sample rate."""
    top = 2595 * torch.log10(torch.tensor(1 + rate / 2 / 700))
    edges = 700 * (10 ** (torch.linspace(0, float(top), count + 2) / 2595) - 1)
    hertz = torch.linspace(0, rate / 2, bins)
    rise = (hertz[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - hertz[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.minimum(rise, fall).clamp_min(0)


class Features(nn.Module):
    """Log mel bands and the lowest linear bins (pitch lives there)."""

    filters: Tensor
    window: Tensor

    def __init__(self, rate: int) -> None:
        super().__init__()
        self.register_buffer("filters", mel_filters(WINDOW // 2 + 1, rate), persistent=False)
        self.register_buffer("window", torch.hann_window(WINDOW), persistent=False)

    def forward(self, wave: Tensor) -> Tensor:
        """[B, S] -> [B, MELS + LOWEST, S / HOP]; S must be a multiple of HOP."""
        padded = F.pad(wave, ((WINDOW - HOP) // 2, (WINDOW - HOP) // 2))
        power = torch.stft(padded, WINDOW, HOP, window=self.window, center=False, return_complex=True).abs().pow(2)
        mels = ((self.filters @ power + MEL_FLOOR).log() + 5.25) * 0.19
        return torch.cat([mels, ((power[:, :LOWEST] + LINEAR_FLOOR).log() + 3.6) * 0.205], 1)


class Block(nn.Module):
    """ConvNeXt block that sees both sides."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dw = nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.n = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.g = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, U] -> [B, C, U]."""
        y = self.b(F.gelu(self.a(self.n(self.dw(x).transpose(1, 2)))))
        return x + cast("Tensor", self.g * y).transpose(1, 2)


class Encoder(nn.Module):
    """Waveform to latent rows, one per frame, normalised to zero mean and unit variance."""

    def __init__(self, s: VoiceShape) -> None:
        super().__init__()
        steps = s.frame_samples // HOP
        if steps != 8:
            raise ValueError(f"a frame must be 8 feature columns, it is {steps}")
        self.features = Features(s.sample_rate)
        layers: list[nn.Module] = [nn.Conv1d(MELS + LOWEST, 192, 5, padding=2), Block(192)]
        width = 192
        for _ in range(3):
            layers += [nn.Conv1d(width, 256, 4, 2, padding=1), Block(256)]
            width = 256
        self.net = nn.Sequential(*layers)
        self.out = nn.Conv1d(width, s.codebook_dim // 2, 1)

    def forward(self, wave: Tensor) -> Tensor:
        """[B, S] -> [B, T, D]; S must be whole frames."""
        with torch.autocast(wave.device.type, enabled=False):
            seen = self.features(wave.float())
        rows = cast("Tensor", self.out(self.net(seen))).transpose(1, 2).float()
        return F.layer_norm(rows, rows.shape[-1:])


def quantise(rows: Tensor, books: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest codes, book after book: rows [..., D], books [G, K, D] -> (codes [..., G], sum of code rows [..., D])."""
    left, codes = rows, []
    for book in books:
        distance = book.pow(2).sum(-1) - 2 * left @ book.T
        code = distance.argmin(-1)
        codes.append(code)
        left = left - book[code]
    return torch.stack(codes, -1), rows - left


def means(rows: Tensor, count: int, rounds: int, draw: torch.Generator) -> Tensor:
    """k-means centres [count, D] of rows [N, D]; empty clusters are moved onto random rows."""
    centres = rows[torch.randperm(len(rows), generator=draw)[:count]].clone()
    for _ in range(rounds):
        nearest = (centres.pow(2).sum(-1) - 2 * rows @ centres.T).argmin(-1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, rows)
        used = torch.bincount(nearest, minlength=count)
        centres = sums / used.clamp_min(1)[:, None]
        empty = (used == 0).nonzero()[:, 0]
        centres[empty] = rows[torch.randint(len(rows), (len(empty),), generator=draw)]
    return centres


def build_books(rows: Tensor, groups: int, count: int, draw: torch.Generator) -> Tensor:
    """Residual codebooks [G, K, D] from latent rows [N, D]."""
    books, left = [], rows
    for _ in range(groups):
        book = means(left, count, 12, draw)
        left = left - book[(book.pow(2).sum(-1) - 2 * left @ book.T).argmin(-1)]
        books.append(book)
    return torch.stack(books)
