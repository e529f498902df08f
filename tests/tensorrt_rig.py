"""An engine on TensorRT's side of the room, at stand-ins for both borders: a tiny voice, its plans, what is said.

Purpose: what the tests of it have in common. Knows: how a plan of unbuilt graphs is written. Does not know: what is to
be shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from engines.bundle import Bundle, open_bundle
from engines.contract import Codes, Layout, Sampling, SpeechRequest
from engines.engine import EngineConfig, SpeechEngine
from engines.manifest import StageSampling, write_manifest
from engines.plan_files import Plan
from engines.stages import Stages
from engines.tensorrt_stages import open_tensorrt
from engines.utterance import LiveUtterance
from export.attention_tensorrt import AttentionForm
from export.exporter import export_checkpoint
from export.lowering import Precision
from export.tensorrt import FrameShape, TensorRtChoice, TensorRtSource, read_source
from tests.fake_cuda import FakeCuda
from tests.fake_tensorrt import FakeLoader
from tests.stream_races import Races
from tests.tensorrt_plan import write_plan
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

SOON = 60.0
SLOTS, POSITIONS, PIECE, CHUNK = 3, 96, 16, 6
CONFIG = EngineConfig(
    slots=SLOTS, max_waiting=8, positions=POSITIONS, prefill_rows=PIECE, codec_chunk_frames=CHUNK, admission=False
)
SAMPLINGS = (
    Sampling(),
    Sampling(temperature=0.6, top_p=0.9),
    Sampling(top_k=5, repetition_penalty=1.3),
    Sampling(temperature=1.2, top_k=20, top_p=0.95),
    Sampling(top_p=0.8),
)
REQUESTS = {
    number: SpeechRequest(
        seed=number,
        sampling=SAMPLINGS[number],
        layout=Layout.STREAMING if number % 3 == 1 else Layout.WHOLE,
        max_frames=3 if number == 0 else 12 * number,
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


class Plans(dict[tuple[AttentionForm, FrameShape], Plan]):
    """Made when first asked for."""

    def __init__(self, voice: Voice, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._voice, self._folders = voice, folders

    def __missing__(self, key: tuple[AttentionForm, FrameShape]) -> Plan:
        form, shape = key
        choice = TensorRtChoice(form, shape, np.float32, Precision.FP32, 4, POSITIONS)
        folder = self._folders.mktemp("plan")
        self[key] = write_plan(self._voice.source, choice, self._voice.bundle.manifest, folder, CHUNK, PIECE)
        return self[key]


ROWS_STEPPED = (AttentionForm.ROWS, FrameShape.STEPPED)
"""What every ONNX Runtime can run."""


def write_voice(folder: Path) -> Voice:
    checkpoint = write_checkpoint(
        TinySpec(seed=11, codebooks=4, layers=2, predictor_hidden=48, end_gain=2.0), folder / "model"
    )
    manifest = export_checkpoint(checkpoint, folder / "bundle")
    predictor = StageSampling(do_sample=True, temperature=0.7, top_k=30, top_p=0.9)  # other than the talker's
    sampling = msgspec.structs.replace(manifest.sampling, predictor=predictor)
    write_manifest(folder / "bundle", msgspec.structs.replace(manifest, sampling=sampling))
    source = read_source(checkpoint, manifest.sampling.max_top_k, manifest.limits.max_positions)
    return Voice(open_bundle(folder / "bundle"), source)


def speak_alone(voice: Voice) -> dict[int, Said]:
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


def open_stages(
    voice: Voice, plan: Plan, cuda: FakeCuda, loader: FakeLoader | None = None, config: EngineConfig = CONFIG
) -> Stages:
    return open_tensorrt(plan, voice.bundle.manifest, config, cuda, loader or FakeLoader(cuda))


def open_engine(voice: Voice, plan: Plan, cuda: FakeCuda, config: EngineConfig = CONFIG) -> SpeechEngine:
    engine = SpeechEngine(voice.bundle, open_stages(voice, plan, cuda, config=config), config)
    engine.warm_up()
    if Races.found is not None:  # talker and codec are warmed side by side, the codec by codes that nobody made for it
        Races.found[:] = [race for race in Races.found if "the host" in race]
    cuda.ready = True
    return engine


def check(engine: SpeechEngine, alone: dict[int, Said], near: float = 1e-4) -> None:
    """Everyone says what they say alone, twice over, in one crowd."""
    with engine:
        crowd = [(number, start(engine, number)) for _ in range(2) for number in REQUESTS]
        for number, utterance in crowd:
            said = hear(utterance)
            assert np.array_equal(said.codes, alone[number].codes), number
            assert np.abs(said.pcm - alone[number].pcm).max() < near
        assert engine.statistics().failure is None
