"""Wishes against defaults, and noise that depends on seed, attempt and frame alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.contract import Sampling
from engines.errors import RequestError
from engines.manifest import SamplingDefaults, StageSampling
from engines.sampling import GumbelNoise, ResolvedSampling, Stage, resolve_sampling

TALKER = StageSampling(do_sample=True, temperature=0.9, top_k=50, top_p=1.0)
PREDICTOR = StageSampling(do_sample=False, temperature=0.7, top_k=20, top_p=0.8)
DEFAULTS = SamplingDefaults(talker=TALKER, predictor=PREDICTOR, repetition_penalty=1.05, max_top_k=50)
GREEDY = Stage(temperature=1.0, top_k=1, top_p=1.0, noisy=False)


def resolved(wishes: Sampling, seed: int = 0) -> ResolvedSampling:
    return resolve_sampling(wishes, seed, DEFAULTS)


SAMPLED = Sampling(greedy=False)


def noise(seed: int, frame: int, attempt: int = 0, wishes: Sampling = SAMPLED) -> np.ndarray:
    out = np.empty((16, 50), dtype=np.float32)
    GumbelNoise(resolved(wishes, seed), attempt).fill(frame, out)
    return out


def test_defaults_stand_where_nothing_is_wished() -> None:
    found = resolved(Sampling())
    assert found.talker == Stage(temperature=0.9, top_k=50, top_p=1.0, noisy=True)
    assert found.predictor == GREEDY
    assert found.repetition_penalty == 1.05


def test_greedy_is_zero_noise_and_temperature_one() -> None:
    found = resolved(Sampling(greedy=True, temperature=0.5, top_k=3))
    assert found.talker == found.predictor == GREEDY


def test_a_wish_asks_both_stages_to_sample() -> None:
    found = resolved(Sampling(temperature=0.5))
    assert found.talker == Stage(temperature=0.5, top_k=50, top_p=1.0, noisy=True)
    assert found.predictor == Stage(temperature=0.5, top_k=20, top_p=0.8, noisy=True)


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        (Sampling(temperature=0.0), "temperature 0 .*greedy"),
        (Sampling(temperature=11.0), "temperature 11 is outside 0 .exclusive. to 10$"),
        (Sampling(temperature=float("nan")), "temperature nan"),
        (Sampling(temperature=11.0), "temperature 11 .* to 10"),
        (Sampling(top_k=0), "top_k 0 is outside 1 to 50"),
        (Sampling(top_k=51), "top_k 51 is outside 1 to 50"),
        (Sampling(top_p=0.0), "top_p 0"),
        (Sampling(top_p=1.01), r"top_p 1\.01"),
        (Sampling(repetition_penalty=0.0), "repetition_penalty 0"),
        (Sampling(repetition_penalty=10.5), r"repetition_penalty 10\.5 .* to 10"),
        (Sampling(repetition_penalty=float("inf")), "repetition_penalty inf"),
    ],
)
def test_what_is_out_of_range_is_named(wishes: Sampling, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        resolved(wishes)


def test_the_ends_of_the_ranges_are_inside() -> None:
    found = resolved(Sampling(temperature=10.0, top_k=50, top_p=1.0, repetition_penalty=10.0))
    assert (found.talker, found.repetition_penalty) == (Stage(10.0, 50, 1.0, noisy=True), 10.0)
    found = resolved(Sampling(top_k=1, repetition_penalty=0.5))
    assert (found.talker.top_k, found.repetition_penalty) == (1, 0.5), "below 1 codes are asked to come again"


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_has_64_bits(seed: int) -> None:
    with pytest.raises(RequestError, match="seed"):
        resolved(Sampling(), seed)


@given(seed=st.integers(0, 2**64 - 1), frames=st.lists(st.integers(0, 10_000), min_size=1, max_size=5))
def test_noise_of_a_frame_does_not_depend_on_the_frames_before(seed: int, frames: list[int]) -> None:
    out = np.empty((16, 50), dtype=np.float32)
    source = GumbelNoise(resolved(Sampling(greedy=False), seed))
    for frame in frames:
        source.fill(frame, out)
        assert np.array_equal(out, noise(seed, frame))
        assert np.isfinite(out).all()


def test_noise_differs_by_seed_attempt_and_frame() -> None:
    different = [noise(1, 0), noise(2, 0), noise(1, 1), noise(1, 0, attempt=1), noise(2**63, 0)]
    for index, one in enumerate(different):
        for other in different[:index]:
            assert not np.isclose(one, other).any(axis=1).all()


def test_a_greedy_stage_has_no_noise() -> None:
    assert not noise(1, 0, wishes=Sampling(greedy=True)).any()
    mixed = noise(1, 0, wishes=Sampling())
    assert mixed[0].all()
    assert not mixed[1:].any()
    turned = SamplingDefaults(talker=PREDICTOR, predictor=TALKER, repetition_penalty=1.05, max_top_k=50)
    mixed = np.empty((16, 50), dtype=np.float32)
    GumbelNoise(resolve_sampling(Sampling(), 1, turned)).fill(0, mixed)
    assert not mixed[0].any()
    assert mixed[1:].any(axis=1).all()


def test_noise_is_gumbel() -> None:
    values = np.concatenate([noise(3, frame).ravel() for frame in range(200)]).astype(np.float64)
    assert values.mean() == pytest.approx(np.euler_gamma, abs=0.01)
    assert values.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    below = np.exp(-np.exp(-1.0))
    assert (values < 1.0).mean() == pytest.approx(below, abs=0.005)


def test_noise_is_the_same_everywhere() -> None:
    """Recorded: a change here changes what every seed sounds like."""
    assert noise(42, 7)[0, :3] == pytest.approx([1.1694773, 0.2257522, 0.8703714], abs=1e-5)
    assert noise(42, 7)[15, -2:] == pytest.approx([0.1226819, 0.6416751], abs=1e-5)
