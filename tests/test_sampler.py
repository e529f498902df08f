"""The sampling subgraph against plain arithmetic, and against the distribution it promises."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest

from export.attention_tensorrt import AttentionForm
from export.graph import GraphBuilder
from export.lowering import Lowering, OrtLowering
from export.lowering_tensorrt import TensorRtLowering
from export.payload import Payload
from export.sampler import draw, penalise, wishes

VOCABULARY, WIDTH = 20, 12
Floats = npt.NDArray[np.float32]


def for_onnxruntime(g: GraphBuilder) -> Lowering:
    return OrtLowering(g)


def for_tensorrt(g: GraphBuilder) -> Lowering:
    return TensorRtLowering(g, AttentionForm.ROWS, np.float16)


@pytest.fixture(scope="module", params=[for_onnxruntime, for_tensorrt])
def sampler(request: pytest.FixtureRequest) -> ort.InferenceSession:
    g = GraphBuilder("sampler", Payload())
    g.input("logits", np.float32, ("B", VOCABULARY))
    g.input("seen", np.float32, ("B", VOCABULARY))
    g.input("penalty", np.float32, ("B", 1))
    g.input("temperature", np.float32, ("B", 2))
    g.input("top_k", np.int64, ("B", 2))
    g.input("top_p", np.float32, ("B", 2))
    g.input("noise", np.float32, ("B", 1, WIDTH))
    wish = wishes(g, "temperature", "top_k", "top_p", 1, WIDTH)
    scores = g.op("Unsqueeze", penalise(g, "logits", "seen", "penalty"), g.ints(1))
    g.output(draw(g, request.param(g), scores, wish, "noise", WIDTH), "code", np.int64, ("B", 1))
    return ort.InferenceSession(g.model("none").SerializeToString())


def sample(
    session: ort.InferenceSession,
    logits: Floats,
    noise: Floats,
    temperature: float = 1.0,
    top_k: int = WIDTH,
    top_p: float = 1.0,
    seen: Floats | None = None,
    penalty: float = 1.0,
) -> list[int]:
    """One code per row; the settings stand in the predictor's column, nonsense in the talker's."""
    count = len(logits)
    values = {
        "logits": logits,
        "seen": np.zeros_like(logits) if seen is None else seen,
        "penalty": np.full((count, 1), penalty, np.float32),
        "temperature": np.tile(np.array([9.0, temperature], np.float32), (count, 1)),
        "top_k": np.tile(np.array([1, top_k]), (count, 1)),
        "top_p": np.tile(np.array([0.01, top_p], np.float32), (count, 1)),
        "noise": noise.reshape(count, 1, WIDTH),
    }
    return [int(code) for code in session.run(["code"], values)[0][:, 0]]


def gumbel(rng: np.random.Generator, count: int) -> Floats:
    return rng.gumbel(size=(count, WIDTH)).astype(np.float32)


def test_without_noise_the_largest_logit_wins_and_the_first_of_equals(sampler: ort.InferenceSession) -> None:
    logits = np.random.default_rng(1).standard_normal((8, VOCABULARY)).astype(np.float32)
    assert sample(sampler, logits, np.zeros((8, WIDTH), np.float32)) == logits.argmax(1).tolist()
    equal = np.zeros((1, VOCABULARY), np.float32)
    assert sample(sampler, equal, np.zeros((1, WIDTH), np.float32)) == [0]


def test_the_draw_follows_the_softmax_within_top_k_and_top_p(sampler: ort.InferenceSession) -> None:
    rng, count, temperature, top_k, top_p = np.random.default_rng(2), 40_000, 0.7, 6, 0.9
    logits = rng.standard_normal(VOCABULARY).astype(np.float32)
    order = np.argsort(-logits)[:top_k]
    mass = np.exp(logits[order] / temperature) / np.exp(logits[order] / temperature).sum()
    kept = np.cumsum(mass) - mass < top_p
    expected = np.zeros(VOCABULARY)
    expected[order[kept]] = mass[kept] / mass[kept].sum()

    drawn = sample(sampler, np.tile(logits, (count, 1)), gumbel(rng, count), temperature, top_k, top_p)
    shares = np.bincount(drawn, minlength=VOCABULARY) / count
    assert (shares[expected == 0] == 0).all()
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / count))


def test_top_k_of_one_and_a_tiny_top_p_are_greedy(sampler: ort.InferenceSession) -> None:
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((50, VOCABULARY)).astype(np.float32)
    assert sample(sampler, logits, gumbel(rng, 50), top_k=1) == logits.argmax(1).tolist()
    assert sample(sampler, logits, gumbel(rng, 50), top_p=1e-6) == logits.argmax(1).tolist()


def test_the_penalty_divides_positive_and_multiplies_negative_logits(sampler: ort.InferenceSession) -> None:
    logits = np.full((2, VOCABULARY), -9.0, np.float32)
    logits[0, 3], logits[0, 5] = 2.0, 1.5
    logits[1, 3], logits[1, 5] = -1.0, -1.5
    seen = np.zeros_like(logits)
    seen[:, 3] = 1
    quiet = np.zeros((2, WIDTH), np.float32)
    assert sample(sampler, logits, quiet, seen=seen, penalty=1.0) == [3, 3]
    assert sample(sampler, logits, quiet, seen=seen, penalty=2.0) == [5, 5]
