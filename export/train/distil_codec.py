"""Fits the official decoder structure to a decoder without the final norm, on the same codes.

Knows: which parameters differ in meaning, the schedule. Does not know: files of the checkpoint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from export.train.codec import Decoder
from export.train.codec_loss import spectral


def crops(codes: NDArray[np.int64], count: int, frames: int, draw: np.random.Generator) -> Tensor:
    """Random stretches of `frames` frames from all codes [n, G]; gives [count, G, frames]."""
    starts = draw.integers(0, len(codes) - frames, count)
    return torch.from_numpy(np.stack([codes[at : at + frames].T for at in starts]))


@torch.no_grad()
def settle_norm(student: Decoder, guide: Decoder, codes: Tensor) -> None:
    """Start the final norm's weight at the mean size of the rows it will normalise."""
    sizes: list[Tensor] = []

    def keep(_: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        sizes.append(inputs[0].pow(2).mean(-1).sqrt().mean())

    handle = guide.pre_transformer.norm.register_forward_pre_hook(keep)
    guide.unclamped(codes)
    handle.remove()
    student.pre_transformer.norm.weight.fill_(float(sizes[0]))  # type: ignore[operator]


def distil(
    student: Decoder, guide: Decoder, codes: NDArray[np.int64], budget: float, path: Path,
    report: Callable[[str], None] = print, rate: float = 6e-4, floor: float = 1e-3,
) -> None:  # fmt: skip
    """Train `student` to give `guide`'s waveform for `budget` seconds; the state is kept in `path`."""
    trained = [p for n, p in student.named_parameters() if not n.startswith("quantizer.")]
    opt = torch.optim.AdamW(trained, lr=rate, betas=(0.8, 0.99), weight_decay=0.0)
    done, spent, mean = 0, 0.0, [0.0, 0.0]
    if path.exists():
        state = torch.load(path, weights_only=True)
        student.load_state_dict(state["student"])
        opt.load_state_dict(state["opt"])
        done, spent = state["done"], state["spent"]
    else:
        settle_norm(student, guide, crops(codes, 8, 40, np.random.default_rng(0)))
    saved = spent
    while spent < budget:
        began = time.monotonic()
        draw = np.random.default_rng((7, done))
        batch = crops(codes, 8, 16, draw)
        scale = min(1.0, (done + 1) / 50) * 0.5 * (1 + math.cos(math.pi * min(1.0, spent / budget)))
        for group in opt.param_groups:
            group["lr"] = max(rate * scale, 1e-5)
        with torch.autocast("cpu", torch.bfloat16):
            with torch.no_grad():
                wanted = guide.unclamped(batch).float()
            made = student.unclamped(batch).float()
        wave = (made - wanted).abs().mean() / wanted.abs().mean()
        shape = spectral(made, wanted, floor)
        opt.zero_grad(set_to_none=True)
        (shape + wave).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 2.0)
        opt.step()
        done += 1
        spent += time.monotonic() - began
        mean = [0.95 * mean[0] + 0.05 * float(wave.detach()), 0.95 * mean[1] + 0.05 * float(shape.detach())]
        if done % 50 == 0:
            report(f"step {done} {spent:.0f} s wave {mean[0]:.3f} spectrum {mean[1]:.3f}")
        if spent - saved > 120 or spent >= budget:
            saved = spent
            aside = path.with_suffix(".part")
            torch.save({"student": student.state_dict(), "opt": opt.state_dict(), "done": done, "spent": spent}, aside)
            aside.replace(path)
