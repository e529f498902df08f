"""Trains the codec's decoder further on fixed codes: the teacher's true ones, and those the talker would have said.

Knows: crops, the losses and their weights, what is saved. Does not know: encoders, talkers, where data comes from.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from export.train.average import Average
from export.train.codec import Decoder
from export.train.codec_loss import mel, spectral, tones
from export.train.precision import autocast
from export.train.shape import VoiceShape
from export.train.sound_store import Utterance
from export.train.training_state import LEAST, rate_at, save

Report = Callable[[str], None]
CLICK_SAMPLES = 480  # in which a stream's beginning shows
FLOOR = 1e-3


@dataclass(frozen=True)
class Spoken:
    """One utterance: its sound, and true and foretold codes [T, G]."""

    sound: Utterance
    codes: NDArray[np.int64]
    foretold: NDArray[np.int64]


@dataclass(frozen=True)
class DecoderPlan:
    """Budget in seconds; batch of crops of `frames` frames, `begins` of them from the start of an utterance.

    The first `context` frames of the other crops are not judged: what came before them is unknown to the decoder.
    A share of `brief` steps hears utterances too short for a crop, `brief_batch` of them: a voice says "Yes." too.
    """

    budget: float
    rate: float = 4e-4
    warm_up: int = 50
    batch: int = 8
    begins: int = 2
    frames: int = 20
    context: int = 3
    brief: float = 0.3
    brief_batch: int = 14
    brief_frames: tuple[int, int] = (8, 14)
    foretold: float = 0.5
    mel: float = 1.5
    spectral: float = 0.5
    click: float = 25.0
    tones: float = 0.25
    tones_every: int = 3
    average: float = 0.992
    seed: int = 21
    save_every: float = 300.0


@dataclass(frozen=True)
class Crops:
    """Codes [B, G, frames] and sound [B, S] of stretches; the first `begins` are from the start of an utterance."""

    codes: Tensor
    wave: Tensor
    begins: int

    def to(self, device: torch.device) -> Crops:
        """The same on another device."""
        return Crops(self.codes.to(device), self.wave.to(device), self.begins)


def crops(
    speakers: list[list[Spoken]], count: int, frames: int, begins: int, plan: DecoderPlan, shape: VoiceShape,
    draw: np.random.Generator,
) -> Crops:  # fmt: skip
    """Random stretches; every utterance must have that many frames."""
    size = shape.frame_samples
    waves = np.zeros((count, frames * size), np.float32)
    codes = np.zeros((count, shape.code_groups, frames), np.int64)
    for row in range(count):
        spoken = speakers[int(draw.integers(len(speakers)))]
        one = spoken[int(draw.integers(len(spoken)))]
        latest = len(one.codes) - frames
        first = int(draw.integers(2)) if row < begins else int(draw.integers(latest + 1))
        start = min(first, latest)
        chosen = one.foretold if draw.random() < plan.foretold else one.codes
        codes[row] = chosen[start : start + frames].T
        wave = one.sound.wave[start * size : (start + frames) * size]
        waves[row, : len(wave)] = wave
    return Crops(torch.from_numpy(codes), torch.from_numpy(waves), begins)


def _at_least(speakers: list[list[Spoken]], frames: int) -> list[list[Spoken]]:
    """Those utterances that are so long, of every speaker who has any."""
    return [found for spoken in speakers if (found := [one for one in spoken if len(one.codes) >= frames])]


def batch(
    long: list[list[Spoken]], short: list[list[Spoken]], plan: DecoderPlan, shape: VoiceShape,
    draw: np.random.Generator,
) -> Crops:  # fmt: skip
    """What one step hears: crops amid `long` utterances, or the beginnings of `short` ones."""
    frames = int(draw.integers(*plan.brief_frames))
    brief = _at_least(short, frames)
    if brief and (not long or draw.random() < plan.brief):
        return crops(brief, plan.brief_batch, frames, plan.brief_batch, plan, shape, draw)
    if not long:
        raise ValueError(f"no utterance has {frames} frames to learn from")
    return crops(long, plan.batch, plan.frames, plan.begins, plan, shape, draw)


def loss_of(made: Tensor, heard: Crops, plan: DecoderPlan, shape: VoiceShape, step: int) -> Tensor:
    """Everything that is wrong with the sound [B, S] of one batch of crops."""
    wanted, begins = heard.wave, heard.begins
    judged, share = plan.context * shape.frame_samples, begins / len(wanted)
    total = torch.zeros((), device=made.device)
    for rows, since, weight in ((slice(begins), 0, share), (slice(begins, None), judged, 1 - share)):
        if not weight:
            continue
        a, b = made[rows, since:], wanted[rows, since:]
        bands = mel(a, b, FLOOR, shape.sample_rate)
        total = total + weight * (plan.spectral * spectral(a, b, FLOOR) + plan.mel * bands)
    click = (made[:begins, :CLICK_SAMPLES] - wanted[:begins, :CLICK_SAMPLES]).abs().mean()
    total = total + plan.click * click
    if step % plan.tones_every == 0:
        total = total + plan.tones * tones(made[:, judged:], wanted[:, judged:], FLOOR)
    return total


def train(
    decoder: Decoder, speakers: list[list[Spoken]], plan: DecoderPlan, shape: VoiceShape, path: Path,
    report: Report = print,
) -> None:  # fmt: skip
    """Train until the budget is spent, going on from `path` if it is there; leaves the averaged weights in `decoder`.

    The codebooks stay as they are.
    """
    device = next(decoder.parameters()).device
    moving = [value for name, value in decoder.named_parameters() if not name.startswith("quantizer.")]
    opt = torch.optim.AdamW(moving, lr=plan.rate, betas=(0.8, 0.99), weight_decay=0.0)
    average, done, spent = Average(decoder, plan.average), 0, 0.0
    if path.exists():
        state = torch.load(path, weights_only=True, map_location=device)
        decoder.load_state_dict(state["decoder"])
        opt.load_state_dict(state["opt"])
        average.values, average.count = state["average"], state["done"]
        done, spent = state["done"], state["spent"]
    long = _at_least(speakers, plan.frames)
    short = [[one for one in spoken if len(one.codes) < plan.frames] for spoken in speakers]
    saved, mean = spent, 0.0
    while spent < plan.budget:
        began = time.monotonic()
        for group in opt.param_groups:
            group["lr"] = rate_at(plan.rate, LEAST * plan.rate, done, plan.warm_up, spent / plan.budget)
        heard = batch(long, short, plan, shape, np.random.default_rng((plan.seed, done))).to(device)
        with autocast(device):
            made = decoder.unclamped(heard.codes).float()
        loss = loss_of(made, heard, plan, shape, done)
        opt.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(moving, 3.0)
        opt.step()
        average.update(decoder)
        done += 1
        spent += time.monotonic() - began
        mean = float(loss.detach()) if done == 1 else 0.97 * mean + 0.03 * float(loss.detach())
        if done % 50 == 0:
            report(f"decoder step {done} {spent:.0f} s loss {mean:.3f}")
        if spent - saved > plan.save_every or spent >= plan.budget:
            saved = spent
            save(path, {"decoder": decoder.state_dict(), "opt": opt.state_dict(), "average": average.values,
                        "done": done, "spent": spent})  # fmt: skip
    decoder.load_state_dict(average.values)
