"""The TensorRT side of the engine, driven through both borders: same codes, same sound, and the order of its work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from engines.bundle import Bundle, open_bundle
from engines.contract import Codes, Layout, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.plan_files import Plan, PlanSizes
from engines.tensorrt_stages import open_tensorrt
from engines.utterance import LiveUtterance
from export.attention_tensorrt import AttentionForm
from export.exporter import export_checkpoint
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, TensorRtSource, read_source
from tests.fake_cuda import FakeCuda, FakeLoader
from tests.tensorrt_machine import FORMS
from tests.tensorrt_plan import write_plan
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

SOON = 60.0
SLOTS, POSITIONS, PIECE, CHUNK = 3, 96, 16, 6
SIZES = PlanSizes(slots=SLOTS, positions=POSITIONS, prefill_rows=PIECE, codec_chunk_frames=CHUNK)
CONFIG = EngineConfig(
    slots=SLOTS, max_waiting=8, positions=POSITIONS, prefill_rows=PIECE, codec_chunk_frames=CHUNK, admission=False
)
REQUESTS = {
    number: SpeechRequest(
        seed=number,
        layout=Layout.STREAMING if number % 3 == 1 else Layout.WHOLE,
        max_frames=3 + 4 * number,
        initial_codec_chunk_frames=[None, 1, 4][number % 3],
        keep_codes=True,
    )
    for number in range(5)
}
TEXTS = {number: tuple(range(40 + number, 44 + 9 * number)) for number in REQUESTS}


@dataclass(frozen=True)
class Said:
    codes: Codes
    pcm: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Voice:
    bundle: Bundle
    source: TensorRtSource


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    folder = tmp_path_factory.mktemp("stages")
    checkpoint = write_checkpoint(TinySpec(seed=11, codebooks=4, layers=2, predictor_hidden=48), folder / "model")
    manifest = export_checkpoint(checkpoint, folder / "bundle")
    source = read_source(checkpoint, manifest.sampling.max_top_k, manifest.limits.max_positions)
    return Voice(open_bundle(folder / "bundle"), source)


@pytest.fixture(scope="module")
def plans(voice: Voice, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[AttentionForm, FrameShape], Plan]:
    """Made when first asked for."""

    class Plans(dict[tuple[AttentionForm, FrameShape], Plan]):
        def __missing__(self, key: tuple[AttentionForm, FrameShape]) -> Plan:
            form, shape = key
            choice = TensorRtChoice(form, shape, np.float32, Precision.FP32, 4, POSITIONS)
            folder = tmp_path_factory.mktemp("plan")
            self[key] = write_plan(voice.source, choice, voice.bundle.manifest, folder, CHUNK, PIECE)
            return self[key]

    return Plans()


@pytest.fixture(scope="module")
def alone(voice: Voice) -> dict[int, Said]:
    """What ONNX Runtime says, one after the other."""
    with SpeechEngine.open(voice.bundle.path, CONFIG) as engine:
        return {number: hear(start(engine, number)) for number in REQUESTS}


def start(engine: SpeechEngine, number: int) -> LiveUtterance:
    utterance = engine.start(REQUESTS[number])
    utterance.feed(TEXTS[number])
    utterance.end_of_text()
    return utterance


def hear(utterance: LiveUtterance) -> Said:
    parts = []
    while len(part := utterance.pcm.read(1 << 16, SOON)):
        parts.append(part)
    outcome = utterance.outcome.result(SOON)
    assert outcome.codes is not None, outcome.error
    return Said(outcome.codes, np.concatenate(parts))


def open_engine(voice: Voice, plan: Plan, cuda: FakeCuda, config: EngineConfig = CONFIG) -> SpeechEngine:
    stages = open_tensorrt(plan, voice.bundle.manifest, config, SIZES, cuda, FakeLoader(cuda))
    engine = SpeechEngine(voice.bundle, stages, config)
    engine.warm_up()
    cuda.ready = True
    return engine


@pytest.fixture(params=[True, False], ids=["early", "late"])
def cuda(request: pytest.FixtureRequest) -> Iterator[FakeCuda]:
    """A device that does everything at once, and one that does nothing before somebody waits for it."""
    made = FakeCuda(eager=request.param)
    yield made
    assert made.called("close")


def check(engine: SpeechEngine, alone: dict[int, Said]) -> None:
    """Everyone says what they say alone, twice over, in one crowd."""
    with engine:
        crowd = [(number, start(engine, number)) for _ in range(2) for number in REQUESTS]
        for number, utterance in crowd:
            said = hear(utterance)
            assert np.array_equal(said.codes, alone[number].codes), number
            assert np.abs(said.pcm - alone[number].pcm).max() < 1e-4
        assert engine.statistics().failure is None


@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", FORMS)
def test_same_codes_and_sound_as_onnx_runtime(
    voice: Voice,
    plans: dict[tuple[AttentionForm, FrameShape], Plan],
    alone: dict[int, Said],
    cuda: FakeCuda,
    form: AttentionForm,
    shape: FrameShape,
) -> None:
    check(open_engine(voice, plans[form, shape], cuda), alone)
