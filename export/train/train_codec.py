"""Trains the codec from nothing: encoder, residual codebooks and decoder.

Knows: the four phases and what is frozen in each. Does not know: where sound lies, checkpoints.

Phases, as shares of the budget: *free* (noisy continuous latents), then codebooks are built by residual k-means,
*coded* (straight-through, codebooks follow by moving averages, late codebooks dropped at random), *decoder* (encoder,
codebooks fixed; spectral floor lowered, so that silences become clean), *encoder* (decoder, codebooks fixed; judged by
mel bands: codes that a decoder makes the right word of are not always those nearest to the latents it began with).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from export.train.codec import Decoder
from export.train.codec_encoder import Encoder, build_books, quantise
from export.train.codec_loss import mel, spectral
from export.train.precision import autocast
from export.train.shape import VoiceShape
from export.train.sound_store import Utterance
from export.train.training_state import LEAST, rate_at, save

CPU = torch.device("cpu")
WARM_UP = 50  # steps
ENDS = {"free": 0.33, "coded": 0.71, "decoder": 0.94, "encoder": 1.0}  # of the phases, as shares of the budget
FLOOR, CLEAN_FLOOR = 1e-2, 1e-3  # of magnitudes in the loss; from the decoder's phase on, silences count


@dataclass(frozen=True)
class CodecPlan:
    """Budget in seconds; batch of crops of `frames` frames."""

    budget: float
    rate: float = 8e-4
    encoder_rate: float = 3e-4
    batch: int = 8
    frames: int = 16
    noise: float = 0.25
    commit: float = 0.5
    drop: float = 0.2
    seed: int = 5
    save_every: float = 180.0


class CodecTrainer:
    """All of the codec's training state."""

    def __init__(self, shape: VoiceShape, plan: CodecPlan, device: torch.device = CPU) -> None:
        self.shape, self.plan, self.device = shape, plan, device
        self.encoder, self.decoder = Encoder(shape).to(device), Decoder(shape).to(device)
        self.books = torch.zeros(shape.code_groups, shape.codes, shape.codebook_dim // 2, device=device)
        self.usage = torch.ones(shape.code_groups, shape.codes, device=device)
        self.has_books = False
        self.done, self.spent = 0, 0.0
        parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
        self.opt = torch.optim.AdamW(parameters, lr=plan.rate, betas=(0.8, 0.99), weight_decay=1e-3)

    def state(self) -> dict[str, object]:
        """Everything needed to go on."""
        return {
            "encoder": self.encoder.state_dict(), "decoder": self.decoder.state_dict(), "opt": self.opt.state_dict(),
            "books": self.books, "usage": self.usage, "has_books": self.has_books,
            "done": self.done, "spent": self.spent,
        }  # fmt: skip

    def load(self, path: Path) -> None:
        """Go on from a saved state."""
        state = torch.load(path, weights_only=True, map_location=self.device)
        self.encoder.load_state_dict(state["encoder"])
        self.decoder.load_state_dict(state["decoder"])
        self.opt.load_state_dict(state["opt"])
        self.books, self.usage, self.has_books = state["books"], state["usage"], state["has_books"]
        self.done, self.spent = state["done"], state["spent"]

    def phase(self) -> str:
        """Name of the phase the spent budget has reached."""
        share = self.spent / self.plan.budget
        return next((name for name, end in ENDS.items() if share < end), "encoder")

    def crops(self, spoken: list[Utterance], draw: np.random.Generator) -> Tensor:
        """Random stretches of sound [B, S]; short utterances are padded with silence."""
        size = self.plan.frames * self.shape.frame_samples
        out = np.zeros((self.plan.batch, size), np.float32)
        for row in out:
            wave = spoken[int(draw.integers(len(spoken)))].wave
            start = int(draw.integers(-self.shape.frame_samples, max(1, len(wave) - size)))
            piece = wave[max(0, start) : start + size]
            row[max(0, -start) :][: len(piece)] = piece[: size - max(0, -start)]
        return torch.from_numpy(out).to(self.device)

    def step(self, spoken: list[Utterance]) -> tuple[float, float]:
        """One update; gives (loss of the phase, share of latent energy the codes miss)."""
        plan, phase = self.plan, self.phase()
        draw, generator = np.random.default_rng((plan.seed, self.done)), torch.Generator().manual_seed(self.done)
        wave = self.crops(spoken, draw)
        for group in self.opt.param_groups:
            group["lr"] = self._rate(phase)
        self.encoder.requires_grad_(phase != "decoder")
        self.decoder.requires_grad_(phase != "encoder")
        with autocast(self.device):
            rows = self.encoder(wave)
        missed = far = torch.zeros((), device=self.device)
        if phase == "free":
            heard = rows + plan.noise * torch.randn(rows.shape, generator=generator).to(self.device)
        else:
            heard, missed, far = self._code(rows, phase, draw)
        with autocast(self.device):
            made = self.decoder.from_rows(heard).float()
        loss = self._heard_loss(made, wave, phase)
        self.opt.zero_grad(set_to_none=True)
        (loss + plan.commit * far).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([p for g in self.opt.param_groups for p in g["params"]], 2.0)
        self.opt.step()
        return float(loss.detach()), float(missed)

    def _rate(self, phase: str) -> float:
        """Learning rate now; the encoder's own phase begins with a higher one again."""
        highest, share = self.plan.rate, self.spent / self.plan.budget
        if phase == "encoder":
            highest, share = self.plan.encoder_rate, (share - ENDS["decoder"]) / (1 - ENDS["decoder"])
        return rate_at(highest, LEAST * highest, self.done, WARM_UP, share)

    def _heard_loss(self, made: Tensor, wanted: Tensor, phase: str) -> Tensor:
        """What of `wanted` [B, S] was not heard in `made`."""
        if phase == "encoder":
            return mel(made, wanted, CLEAN_FLOOR, self.shape.sample_rate)
        return spectral(made, wanted, CLEAN_FLOOR if phase == "decoder" else FLOOR)

    def _code(self, rows: Tensor, phase: str, draw: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Quantise with straight-through gradients: (rows for the decoder, missed energy, commitment loss)."""
        with torch.no_grad():
            codes, whole = quantise(rows, self.books)
            missed = (rows - whole).pow(2).sum() / rows.pow(2).sum()
            if phase == "coded":
                self._follow(rows, codes)
            used = whole
            if phase != "encoder" and draw.random() < self.plan.drop:
                kept = int(draw.integers(1, self.shape.code_groups))
                used = torch.stack([self.books[g][codes[..., g]] for g in range(kept)]).sum(0)
        return rows + (used - rows).detach(), missed, (rows - whole).pow(2).mean()

    def _follow(self, rows: Tensor, codes: Tensor, decay: float = 0.98) -> None:
        """Move codebooks towards the rows they stand for."""
        left, flat = rows.detach().flatten(0, -2), codes.flatten(0, -2)
        for g, book in enumerate(self.books):
            count = torch.bincount(flat[:, g], minlength=len(book)).float()
            sums = torch.zeros_like(book).index_add_(0, flat[:, g], left)
            left = left - book[flat[:, g]]
            old = book * self.usage[g][:, None]
            self.usage[g] = self.usage[g] * decay + count * (1 - decay)
            self.books[g] = (old * decay + sums * (1 - decay)) / self.usage[g].clamp_min(1e-3)[:, None]

    def make_books(self, spoken: list[Utterance]) -> None:
        """Build the codebooks from latents of up to 12 000 frames."""
        draw, generator = np.random.default_rng(1), torch.Generator().manual_seed(1)
        rows: list[Tensor] = []
        with torch.inference_mode():
            while sum(len(r) for r in rows) < 12000:
                rows.append(self.encoder(self.crops(spoken, draw)).flatten(0, 1))
        books = build_books(torch.cat(rows).cpu().clone(), self.shape.code_groups, self.shape.codes, generator)
        self.books = books.to(self.device)
        self.usage = torch.ones_like(self.usage)
        self.has_books = True

    def run(self, spoken: list[Utterance], path: Path, report: Callable[[str], None] = print) -> None:
        """Train until the budget is spent, going on from `path` if it is there; ends with the books in the decoder."""
        if path.exists():
            self.load(path)
        saved, mean = self.spent, [0.0, 0.0]
        while self.spent < self.plan.budget:
            began = time.monotonic()
            if self.phase() != "free" and not self.has_books:
                self.make_books(spoken)
                report(f"codebooks built after {self.spent:.0f} s")
            loss, missed = self.step(spoken)
            self.done += 1
            self.spent += time.monotonic() - began
            mean = [0.95 * mean[0] + 0.05 * loss, 0.95 * mean[1] + 0.05 * missed]
            if self.done % 50 == 0:
                report(
                    f"codec step {self.done} {self.spent:.0f} s {self.phase()} loss {mean[0]:.3f} miss {mean[1]:.3f}"
                )
            if self.spent - saved > self.plan.save_every or self.spent >= self.plan.budget:
                saved = self.spent
                save(path, self.state())
        self.encoder.requires_grad_(True)  # the last phase froze one of the two; whoever trains on decides anew
        self.decoder.requires_grad_(True)
        self.install_books()
        save(path, self.state())

    @torch.no_grad()
    def install_books(self) -> None:
        """Write the codebooks into the decoder as the official layout keeps them."""
        half = self.shape.codebook_dim // 2
        eye = torch.eye(self.shape.codebook_dim, half)[..., None]
        at = 0
        for part in (self.decoder.quantizer.rvq_first, self.decoder.quantizer.rvq_rest):
            part.output_proj.weight.copy_(eye)
            part.input_proj.weight.copy_(eye.transpose(0, 1))
            for layer in part.vq.layers:
                layer._codebook.embedding_sum.copy_(self.books[at])  # type: ignore[operator, union-attr]
                layer._codebook.cluster_usage.fill_(1.0)  # type: ignore[operator, union-attr]
                at += 1

    @torch.inference_mode()
    def encode(self, wave: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Tensor:
        """Samples -> codes [T, G]; the end is padded with silence to a whole frame."""
        size = self.shape.frame_samples
        padded = np.zeros(-(-len(wave) // size) * size, np.float32)
        padded[: len(wave)] = wave
        return quantise(self.encoder(torch.from_numpy(padded)[None].to(self.device))[0], self.books)[0].cpu()
