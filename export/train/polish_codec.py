"""Takes away the click with which a freshly trained decoder begins a stream.

Knows: the last blocks of the decoder and what they make of the zeros before a stream. Does not know: encoders, files.

A stream begins with a history of zeros. Training hears it only where a crop happens to begin, mostly amid speech, so
the first samples come out as little more than the last layer's bias: 20 dB below full scale, for 3 ms. Here the last
two blocks learn to begin in silence, held to their own sound everywhere else; then the last convolution is set by
least squares to the same end. Codes, codebooks and all that follows a stream's first milliseconds stay as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from numpy.typing import NDArray
from torch import Tensor, nn

from export.train.codec import Decoder
from export.train.codec_loss import spectral
from export.train.training_state import LEAST, rate_at

FADE_SAMPLES = 144  # the reach of the last block's dilated convolutions: the click's length
FRAMES = 25  # of every utterance that are listened to
CONTEXT = 240  # samples at the start of a stretch that have too little before them to be judged


@dataclass(frozen=True)
class PolishPlan:
    """Steps and rates per block, the last block first; `pull`: what silence at the start weighs against speech."""

    steps: tuple[int, ...] = (600, 1000)
    rate: float = 1.5e-3
    warm_up: int = 50
    begins: int = 32
    stretches: int = 6
    pull: float = 0.03
    seed: int = 3


def fade_in(count: int) -> Tensor:
    """A raised cosine over the click, then ones, [count]."""
    ramp = torch.ones(count)
    ramp[:FADE_SAMPLES] = 0.5 - 0.5 * torch.cos(torch.linspace(0, torch.pi, FADE_SAMPLES))
    return ramp


def _through(layers: nn.ModuleList, x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x[:, 0]


@torch.no_grad()
def _inputs(decoder: Decoder, first: int, utterances: list[NDArray[np.int64]]) -> list[Tensor]:
    """What comes to `decoder.decoder[first]` from the start of every utterance: each [1, C, columns]."""
    kept: list[Tensor] = []
    hook = decoder.decoder[first].register_forward_pre_hook(lambda _, given: kept.append(given[0]))
    for codes in utterances:
        decoder.unclamped(torch.from_numpy(codes[:FRAMES].T[None]))
    hook.remove()
    return kept


def learn_to_begin(
    decoder: Decoder, utterances: list[NDArray[np.int64]], plan: PolishPlan, report: Callable[[str], None]
) -> None:
    """Train the last block, then the last two, in place; `utterances`: codes [T, G] as streams begin with them."""
    for back, steps in enumerate(plan.steps, 1):
        _train_last(decoder, utterances, back, steps, plan, report)


def _train_last(
    decoder: Decoder, utterances: list[NDArray[np.int64]], back: int, steps: int, plan: PolishPlan,
    report: Callable[[str], None],
) -> None:  # fmt: skip
    """Train the last `back` blocks and what follows them."""
    blocks = len(decoder.decoder) - 3
    first = blocks + 1 - back
    inputs = _inputs(decoder, first, utterances)
    frame = decoder.unclamped(torch.from_numpy(utterances[0][:1].T[None])).shape[1]
    columns = inputs[0].shape[2] // min(FRAMES, len(utterances[0]))
    last = nn.ModuleList(decoder.decoder[first:])
    old = copy.deepcopy(last).requires_grad_(False)
    optimiser, draw = torch.optim.Adam(last.parameters(), lr=plan.rate), np.random.default_rng(plan.seed)
    starts = torch.cat([x[:, :, :columns] for x in inputs])
    with torch.no_grad():
        wanted_starts = _through(old, starts) * fade_in(frame)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(plan.rate, LEAST * plan.rate, step, plan.warm_up, step / steps)
        chosen = torch.from_numpy(draw.integers(0, len(starts), plan.begins))
        missed = _through(last, starts[chosen]) - wanted_starts[chosen]
        click = 300 * missed[:, :FADE_SAMPLES].pow(2).mean() + 10 * missed[:, :FADE_SAMPLES].abs().mean()
        amid = _stretches(inputs, 2 * columns, plan.stretches, draw)
        with torch.no_grad():
            wanted = _through(old, amid)[:, CONTEXT:]
        made = _through(last, amid)[:, CONTEXT:]
        kept = 3 * (made - wanted).pow(2).mean() / wanted.pow(2).mean().clamp_min(1e-9) + spectral(made, wanted, 1e-3)
        optimiser.zero_grad()
        (click + 50 * missed.pow(2).mean() + kept).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(last.parameters(), 1.0)
        optimiser.step()
        if step % 200 == 199:
            report(f"polish, {back} blocks, step {step + 1}: click {float(click.detach()):.4f}")


def _stretches(inputs: list[Tensor], columns: int, count: int, draw: np.random.Generator) -> Tensor:
    """Random stretches of the inputs, [count, C, columns]."""
    long_enough = [x for x in inputs if x.shape[2] >= columns]
    out = []
    for _ in range(count):
        x = long_enough[int(draw.integers(len(long_enough)))]
        at = int(draw.integers(0, x.shape[2] - columns + 1))
        out.append(x[:, :, at : at + columns])
    return torch.cat(out)


@torch.no_grad()
def settle_last_layer(decoder: Decoder, utterances: list[NDArray[np.int64]], pull: float) -> None:
    """Change the last convolution by least squares: silent where a stream begins, the same amid speech."""
    place = len(decoder.decoder) - 1
    convolution = decoder.decoder[place].conv
    assert isinstance(convolution, nn.Conv1d)
    weight, bias = convolution.weight, convolution.bias
    assert bias is not None
    taps = weight.shape[2]
    amid, begin, change = [], [], []
    for x in _inputs(decoder, place, utterances):
        rows = F.pad(x[0].double(), (taps - 1, 0)).unfold(1, taps, 1).permute(1, 0, 2).flatten(1)
        rows = torch.cat([rows, torch.ones(len(rows), 1)], 1)
        sound = rows[:FADE_SAMPLES] @ torch.cat([weight.flatten(), bias]).double()
        amid.append(rows[FADE_SAMPLES::7])
        begin.append(rows[:FADE_SAMPLES])
        change.append(sound * (fade_in(FADE_SAMPLES) - 1).double())
    speech, start, wanted = torch.cat(amid), torch.cat(begin), torch.cat(change)
    both = speech.T @ speech / len(speech) + pull * start.T @ start / len(start)
    both += 1e-9 * torch.eye(len(both), dtype=both.dtype)
    delta = torch.linalg.solve(both, pull * start.T @ wanted / len(start))
    weight += delta[:-1].view_as(weight).to(weight.dtype)
    bias += delta[-1:].to(bias.dtype)
