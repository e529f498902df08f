"""How codes are picked: a request's wishes against the bundle's defaults, and the noise that makes the choice.

Purpose: turn `Sampling` wishes into the numbers the frame graph takes, and draw the Gumbel noise of frame n.
Knows: ranges, defaults, a counter-based generator. Does not know: graphs, slots, requests in flight.

The noise of a frame is a function of (seed, attempt, frame) and of nothing else: not of the frames before it, not of
who shares the batch. Zero noise picks the likeliest code, so a greedy stage has zero noise and temperature 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.contract import Sampling
from engines.errors import RequestError
from engines.manifest import SamplingDefaults, StageSampling

MAX_TEMPERATURE: Final = 10.0
MAX_REPETITION_PENALTY: Final = 10.0
SEED_BITS: Final = 64
_SMALLEST: Final = np.float32(2.0**-25)  # below the uniform generator's step of 2**-24: the logarithm never sees 0


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's numbers, as the frame graph takes them."""

    temperature: float
    top_k: int
    top_p: float
    noisy: bool
    """Whether noise is drawn; without it the likeliest code wins."""


@dataclass(frozen=True, slots=True)
class ResolvedSampling:
    """What a request will be sampled with."""

    talker: Stage
    predictor: Stage
    repetition_penalty: float
    seed: int


def resolve_sampling(wishes: Sampling, seed: int, defaults: SamplingDefaults) -> ResolvedSampling:
    """Fill what `wishes` leaves open from `defaults`.

    Naming a temperature, top_k or top_p without `greedy` asks for sampling. Raises `RequestError` naming the field, the
    value and its range.
    """
    none = wishes.temperature is not None and wishes.temperature <= 0.0  # to the daemon's clients 0 is greedy by itself
    hint = "; for the likeliest codes ask for greedy" if none else ""
    _check_range("temperature", wishes.temperature, MAX_TEMPERATURE, hint)
    _check_range("top_p", wishes.top_p, 1.0)
    _check_range("repetition_penalty", wishes.repetition_penalty, MAX_REPETITION_PENALTY)
    if wishes.top_k is not None and not 1 <= wishes.top_k <= defaults.max_top_k:
        raise RequestError(f"top_k {wishes.top_k} is outside 1 to {defaults.max_top_k}")
    if not 0 <= seed < 2**SEED_BITS:
        raise RequestError(f"seed {seed} is outside 0 to 2**{SEED_BITS} - 1")
    penalty = defaults.repetition_penalty if wishes.repetition_penalty is None else wishes.repetition_penalty
    return ResolvedSampling(
        _resolve_stage(wishes, defaults.talker, defaults.max_top_k),
        _resolve_stage(wishes, defaults.predictor, defaults.max_top_k),
        penalty,
        seed,
    )


def _resolve_stage(wishes: Sampling, default: StageSampling, max_top_k: int) -> Stage:
    named = (wishes.temperature, wishes.top_k, wishes.top_p) != (None, None, None)
    sampled = (default.do_sample or named) if wishes.greedy is None else not wishes.greedy
    if not sampled:
        return Stage(temperature=1.0, top_k=1, top_p=1.0, noisy=False)
    return Stage(
        temperature=default.temperature if wishes.temperature is None else wishes.temperature,
        top_k=min(default.top_k, max_top_k) if wishes.top_k is None else wishes.top_k,
        top_p=default.top_p if wishes.top_p is None else wishes.top_p,
        noisy=True,
    )


def _check_range(name: str, value: float | None, most: float, hint: str = "") -> None:
    if value is not None and not 0.0 < value <= most:  # not-a-number fails too
        raise RequestError(f"{name} {value:g} is outside 0 (exclusive) to {most:g}{hint}")


class GumbelNoise:
    """The noise of one utterance, frame by frame, in any order."""

    def __init__(self, sampling: ResolvedSampling, attempt: int = 0) -> None:
        """`attempt` tells repeated tries of one request apart; its first is 0."""
        self._sampling = sampling
        self._counter = np.zeros(4, dtype=np.uint64)
        self._bits = np.random.Philox(counter=0, key=0)
        self._random = np.random.Generator(self._bits)
        self._state: Any = self._bits.state
        self._state["state"] = {
            "counter": self._counter,
            "key": np.array([sampling.seed, attempt], dtype=np.uint64),
        }

    def fill(self, frame: int, out: npt.NDArray[np.float32]) -> None:
        """Write the noise of `frame` into `out`, f32 [1 + residual codes, K], C-contiguous; allocates no array."""
        if not (self._sampling.talker.noisy or self._sampling.predictor.noisy):
            out.fill(0.0)
            return
        self._counter[1] = frame  # word 0 counts within the frame; 2**64 draws are never reached
        self._bits.state = self._state
        self._random.random(out=out, dtype=np.float32)
        np.maximum(out, _SMALLEST, out=out)
        for _ in range(2):  # -log(-log(u))
            np.log(out, out=out)
            np.negative(out, out=out)
        if not self._sampling.talker.noisy:
            out[0] = 0.0
        if not self._sampling.predictor.noisy:
            out[1:] = 0.0
