"""A talker's last lessons: to go on from what it says itself as it goes on from what was said to it.

In use it hears its own choices, mistakes among them, where training gave it the teacher's codes; a phrase of a long
sentence is skipped when it loses its place over that. So some input frames are replaced by its own choices (scheduled
sampling in parallel: Mihaylova and Martins 2019, "Scheduled sampling for transformers"), and what it is to say next is
what it said, before these lessons, to the true past (Hinton et al. 2015, "Distilling the knowledge in a neural
network"): so it says nothing new, only the same more steadily. Where to look is still told by the teacher's times.

Knows: the talker and its predictor. Does not know: optimisation, files.

Shapes: B sequences, L padded rows, N frames and ends that are foretold, M of the frames whose residual codes are too.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F  # noqa: N812 - the field's name for it
from torch import Tensor

from export.train.talker import Voice
from export.train.talker_loss import (
    GUIDED_LAYERS,
    Batch,
    code_and_end_logits,
    corrupt,
    guidance,
    predictor_logits,
)

MOST = 0.8  # of an example's frames that are its own; how many is drawn for each
_CORRUPTION = 0.02
_PREDICTOR_SHARE = 0.15


@dataclass(frozen=True)
class _Told:
    """What the voice as it was makes of a batch: the batch with its choices in the past, and what it says to it."""

    batch: Batch
    next: Tensor
    """Probabilities of code 0 and the end [N, K + 1]."""
    framed: Tensor
    """Which of the N are among the M [N]."""
    rest: Tensor
    """Probabilities of the residual codes [M, G-1, K]."""


class OwnPast:
    """Losses of a voice against the same voice as it is now."""

    def __init__(self, voice: Voice) -> None:
        self._before = copy.deepcopy(voice).eval().requires_grad_(False)

    def __call__(self, voice: Voice, batch: Batch, draw: torch.Generator) -> dict[str, Tensor]:
        """Divergences `first` (code 0 and end) and `rest`, `guide` [nats]; `right`: the share of equal choices."""
        told = self._tell(batch, draw)
        first, rest = corrupt(told.batch, _CORRUPTION, voice.shape.codes, draw)
        hidden, logs = voice.read(batch.text, first, rest, GUIDED_LAYERS)
        foretold = batch.target >= 0
        states, wanted = hidden[foretold], batch.target[foretold]
        logits = code_and_end_logits(voice, states)
        of_rest = predictor_logits(voice, states[told.framed], wanted[told.framed],
                                   batch.target_rest[foretold][told.framed])  # fmt: skip
        return {
            "first": _divergence(told.next, logits),
            "rest": _divergence(told.rest, of_rest),
            "guide": guidance(logs, batch),
            "right": (logits.argmax(-1) == told.next.argmax(-1)).float().mean(),
        }

    @torch.no_grad()
    def _tell(self, batch: Batch, draw: torch.Generator) -> _Told:
        voice, codes = self._before, self._before.shape.codes
        hidden, _ = voice.read(batch.text, batch.first, batch.rest)
        own = _some_frames(batch, draw)
        first, rest = batch.first.clone(), batch.rest.clone()
        if own.any():
            states = hidden[own.roll(-1, 1)]  # a row tells the frame that stands in the next
            first[own] = F.linear(states, voice.talker.codec_head.weight[:codes]).float().argmax(-1)
            rest[own] = predictor_logits(voice, states, first[own], batch.rest[own]).argmax(-1)
        foretold = batch.target >= 0
        states, wanted = hidden[foretold], batch.target[foretold]
        chosen = torch.rand(wanted.shape, generator=draw) < _PREDICTOR_SHARE
        framed = (wanted < codes) & chosen.to(wanted.device)
        of_rest = predictor_logits(voice, states[framed], wanted[framed], batch.target_rest[foretold][framed])
        said = code_and_end_logits(voice, states)
        return _Told(replace(batch, first=first, rest=rest), said.softmax(-1), framed, of_rest.softmax(-1))


def _some_frames(batch: Batch, draw: torch.Generator) -> Tensor:
    """Which rows [B, L] hold a frame that is to be replaced."""
    share = MOST * torch.rand(len(batch.text), 1, generator=draw)
    chosen = (torch.rand(batch.text.shape, generator=draw) < share).to(batch.text.device)
    return chosen & (batch.rest[..., 0] >= 0)


def _divergence(wanted: Tensor, logits: Tensor) -> Tensor:
    """Mean Kullback-Leibler divergence of what is said from the probabilities wanted."""
    return F.kl_div(logits.log_softmax(-1), wanted, reduction="none").sum(-1).mean()
