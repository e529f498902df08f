"""Trains talker and code predictor within a time budget, resumable.

Knows: the optimiser, the schedule, what is saved. Does not know: where data comes from, how checkpoints are laid out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch

from export.train.average import Average
from export.train.corpus_data import Example
from export.train.layout import Layout
from export.train.precision import autocast
from export.train.sampling_plan import Mixture, Utterances, step
from export.train.talker import Voice
from export.train.talker_loss import Batch, collate, losses, make_rows
from export.train.training_state import rate_at, save

Report = Callable[[str], None]
Losses = Callable[[Voice, Batch, torch.Generator], dict[str, torch.Tensor]]


@dataclass(frozen=True)
class TalkerPlan:
    """How long and how to train. Times in seconds; the learning rate falls along a cosine over the budget."""

    budget: float
    rate: float = 5e-4
    floor: float = 2e-5
    warm_up: int = 60
    weight_decay: float = 0.05
    guide: float = 0.5
    predictor_share: float = 0.3
    corruption: float = 0.05
    streaming: float = 0.0
    average: float = 0.995
    save_every: float = 300.0
    seed: int = 1
    mixture: Mixture = field(default_factory=Mixture)


def optimiser(voice: Voice, plan: TalkerPlan) -> torch.optim.AdamW:
    """AdamW; vectors and tables are not decayed."""
    matrices = [p for n, p in voice.named_parameters() if p.ndim == 2 and "embedding" not in n]
    others = [p for n, p in voice.named_parameters() if p.ndim < 2 or "embedding" in n]
    groups = [{"params": matrices, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98))


@torch.no_grad()
def validate(voice: Voice, layout: Layout, held_out: list[Example], plan: TalkerPlan) -> dict[str, float]:
    """Mean losses on held-out examples, prompts drawn with a fixed seed."""
    draw, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    sums: dict[str, float] = {}
    chunks = [held_out[i : i + 32] for i in range(0, len(held_out), 32)]
    for chunk in chunks:
        rows = [make_rows(layout, e, draw, plan.streaming) for e in chunk]
        with autocast(voice.device):
            batch = collate(chunk, rows, voice.shape.eos).to(voice.device)
            found = losses(voice, batch, generator, 0.0, 1.0)
        for name, value in found.items():
            sums[name] = sums.get(name, 0.0) + float(value) / len(chunks)
    return sums


def train(
    voice: Voice, layout: Layout, speakers: list[Utterances], held_out: list[Example], plan: TalkerPlan, path: Path,
    report: Report = print, lose: Losses | None = None,
) -> dict[str, torch.Tensor]:  # fmt: skip
    """Train until the budget is spent, going on from `path` if it is there; gives the averaged weights.

    `lose`: instead of the losses against the teacher's codes.
    """
    lose = lose or partial(losses, corruption=plan.corruption, predictor_share=plan.predictor_share)
    opt, average = optimiser(voice, plan), Average(voice, plan.average)
    done, spent = 0, 0.0
    if path.exists():
        state = torch.load(path, weights_only=True, map_location=voice.device)
        voice.load_state_dict(state["voice"])
        opt.load_state_dict(state["opt"])
        average.values, average.count = state["average"], state["count"]
        done, spent = state["done"], state["spent"]
    report(json.dumps(asdict(plan)))
    saved, means = spent, dict.fromkeys(("first", "rest", "guide", "right"), 0.0)
    generator = torch.Generator()
    while spent < plan.budget:
        began = time.monotonic()
        draw = np.random.default_rng((plan.seed, done))
        generator.manual_seed(plan.seed * 1_000_003 + done)
        chosen = step(speakers, plan.mixture, draw)
        rows = [make_rows(layout, e, draw, plan.streaming) for e in chosen]
        batch = collate(chosen, rows, voice.shape.eos).to(voice.device)
        for group in opt.param_groups:
            group["lr"] = rate_at(plan.rate, plan.floor, done, plan.warm_up, spent / plan.budget)
        with autocast(voice.device):
            found = lose(voice, batch, generator)
        total = found["first"] + 0.5 * found["rest"] + plan.guide * found["guide"]
        opt.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(voice.parameters(), 1.0)
        opt.step()
        average.update(voice)
        done += 1
        spent += time.monotonic() - began
        means = {name: means[name] * 0.95 + float(found[name].detach()) * 0.05 for name in means}
        if done % 50 == 0:
            report(f"step {done} {spent:.0f} s " + " ".join(f"{n} {v:.3f}" for n, v in means.items()))
        if spent - saved > plan.save_every or spent >= plan.budget:
            saved = spent
            save(path, {"voice": voice.state_dict(), "average": average.values, "opt": opt.state_dict(),
                        "count": average.count, "done": done, "spent": spent})  # fmt: skip
            kept = {name: value.clone() for name, value in voice.state_dict().items()}
            voice.load_state_dict(average.values)
            found_now = validate(voice, layout, held_out, plan)
            voice.load_state_dict(kept)
            report(f"held out, averaged, step {done}: " + " ".join(f"{n} {v:.3f}" for n, v in found_now.items()))
    return average.values
