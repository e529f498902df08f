"""The graphs for TensorRT speak the same codes as those for ONNX Runtime: both forms, both shapes, all slot counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engines.codec import Codec
from engines.contract import Sampling
from engines.manifest import FrameInputs, Manifest, read_manifest
from engines.plan_set import SLOTS
from engines.runner_ort import OrtRunner
from engines.sampling import GumbelNoise, ResolvedSampling, resolve_sampling
from engines.talker import Talker
from export.attention_tensorrt import AttentionForm
from export.exporter import export_checkpoint
from export.lowering import Precision
from export.ort_session import runs_in_onnxruntime
from export.probe_speech import prompt_rows
from export.probe_texts import probe_ids
from export.tensorrt import FrameShape, TensorRtChoice, TensorRtSource, read_source
from export.text_side import load_tokenizer
from tests.tensorrt_machine import FORMS, CodecMachine, Machine, Values
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

SPECS = {
    "plain": TinySpec(seed=11, codebooks=6, layers=2),
    "projected": TinySpec(seed=12, codebooks=4, layers=2, predictor_hidden=48, predictor_layers=1),
}
DEFAULT = Path(__file__).parent.parent / "engines" / "voices" / "default" / "checkpoint"
FRAMES = 5
POSITIONS = 24
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Voice:
    """A tiny voice in both worlds."""

    bundle: Path
    manifest: Manifest
    source: TensorRtSource

    def prompt(self, slot: int) -> tuple[Floats, Floats]:
        """Codec and text rows of a slot, of a length of its own."""
        random = np.random.default_rng(100 + slot)
        shape = (2, 2 + (5 * slot) % 7, self.manifest.talker.hidden)
        codec, text = random.normal(0, 1, shape).astype(np.float32)
        return codec, text

    def text_row(self, slot: int, frame: int) -> Floats:
        random = np.random.default_rng([slot, frame])
        return random.normal(0, 1, self.manifest.talker.hidden).astype(np.float32)

    def sampling(self, slot: int) -> ResolvedSampling:
        """Slot 0 is greedy; the others draw."""
        wishes = Sampling(greedy=slot == 0, temperature=0.8, top_k=20, top_p=0.9, repetition_penalty=1.3)
        return resolve_sampling(wishes, slot, self.manifest.sampling)

    def noise(self, slot: int, frame: int) -> Floats:
        out = np.zeros((self.manifest.frame.codebooks, self.manifest.sampling.max_top_k), np.float32)
        GumbelNoise(self.sampling(slot)).fill(frame, out)
        return out


@dataclass(frozen=True)
class Spoken:
    codes: npt.NDArray[np.int64]
    """[FRAMES, codebooks]"""
    logits: Floats
    """[FRAMES, vocabulary]"""


def by_onnxruntime(voice: Voice, slots: int, positions: int = POSITIONS) -> list[Spoken]:
    """What the ONNX Runtime lowering says for each slot's prompt, alone."""
    runner = OrtRunner(voice.bundle / voice.manifest.graphs.frame)
    return [_alone(runner, voice, slot, positions) for slot in range(slots)]


def _alone(runner: OrtRunner, voice: Voice, slot: int, positions: int) -> Spoken:
    talker = Talker(runner, voice.manifest, 1, positions, piece_rows=positions, with_logits=True)
    talker.begin(0, voice.sampling(slot))
    codes, logits = [], []
    for frame in range(FRAMES):
        talker.forbid_end(0, True)
        talker.noise(0)[:] = voice.noise(slot, frame)
        if frame == 0:
            talker.prefill(0, *voice.prompt(slot), last=True)
        else:
            talker.text_row(0)[:] = voice.text_row(slot, frame)
            talker.step([0])
        codes.append(talker.codes(0)[0].copy())
        logits.append(talker.logits(0).copy())
    return Spoken(np.stack(codes), np.stack(logits))


def by_machine(voice: Voice, machine: Machine) -> list[Spoken]:
    """What the graphs for TensorRT say, all slots at once; a prompt's last row is an ordinary step."""
    slots = range(machine.choice.slots)
    prompts = [voice.prompt(slot) for slot in slots]
    for slot, (codec, text) in enumerate(prompts):
        middle = len(codec) // 2
        for start, end in ((0, middle), (middle, len(codec) - 1)):
            if end > start:
                machine.prefill(slot, codec[start:end], text[start:end])
    picks = [voice.sampling(slot) for slot in slots]
    settings: Values = {
        FrameInputs.END_BIAS: np.full((len(slots), 1), -1e30, np.float32),
        FrameInputs.REPETITION_PENALTY: np.array([[pick.repetition_penalty] for pick in picks], np.float32),
        FrameInputs.TEMPERATURE: pairs(picks, "temperature", np.float32),
        FrameInputs.TOP_K: pairs(picks, "top_k", np.int64),
        FrameInputs.TOP_P: pairs(picks, "top_p", np.float32),
        FrameInputs.CODEC_ROWS: np.stack([codec[-1:] for codec, _ in prompts]),
        FrameInputs.TEXT_ROWS: np.stack([text[-1:] for _, text in prompts]),
    }
    runs = []
    for frame in range(FRAMES):
        settings[FrameInputs.NOISE] = np.stack([voice.noise(slot, frame) for slot in slots])
        if frame:
            settings[FrameInputs.TEXT_ROWS] = np.stack([voice.text_row(slot, frame)[None] for slot in slots])
        runs.append(machine.step(settings))
        settings[FrameInputs.CODEC_ROWS] = runs[-1].outputs["next_codec_row"]
    codes, logits = np.stack([run.codes for run in runs]), np.stack([run.logits for run in runs])
    return [Spoken(codes[:, slot], logits[:, slot]) for slot in slots]


def pairs(picks: list[ResolvedSampling], field: str, kind: npt.DTypeLike) -> npt.NDArray[np.generic]:
    return np.array([[getattr(pick.talker, field), getattr(pick.predictor, field)] for pick in picks], kind)


@pytest.fixture(scope="module", params=SPECS)
def voice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Voice:
    folder = tmp_path_factory.mktemp("tensorrt")
    checkpoint = write_checkpoint(SPECS[request.param], folder / "model")
    manifest = export_checkpoint(checkpoint, folder / "bundle")
    return Voice(folder / "bundle", manifest, read_source(checkpoint, manifest.sampling.max_top_k, 1024))


@pytest.fixture(scope="module")
def expected(voice: Voice) -> list[Spoken]:
    return by_onnxruntime(voice, max(SLOTS))


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", FORMS)
def test_same_codes(
    voice: Voice, expected: list[Spoken], tmp_path: Path, form: AttentionForm, shape: FrameShape, slots: int
) -> None:
    choice = TensorRtChoice(form, shape, np.float32, Precision.FP32, slots, POSITIONS)
    found = by_machine(voice, Machine(voice.source, choice, tmp_path))
    for spoken, told in zip(found, expected, strict=False):
        assert np.array_equal(spoken.codes, told.codes)
        np.testing.assert_allclose(spoken.logits, told.logits, rtol=1e-4, atol=1e-4)


@cache
def default_texts() -> list[tuple[int, ...]]:
    """Ids of texts for the default voice, which come from a large lexicon."""
    return probe_ids(DEFAULT, load_tokenizer(DEFAULT))


class DefaultVoice(Voice):
    """The default voice with texts of its own; rows after the prompt are padding, as in the whole-text layout."""

    def prompt(self, slot: int) -> tuple[Floats, Floats]:
        codec = self.source.model_file.read("talker.model.codec_embedding.weight")
        return prompt_rows(self.manifest, default_texts()[slot], self.table(), codec)

    def text_row(self, slot: int, frame: int) -> Floats:
        row: Floats = self.table()[self.manifest.text_ids.pad].astype(np.float32)
        return row

    def table(self) -> npt.NDArray[np.generic]:
        table: npt.NDArray[np.generic] = np.load(self.bundle / self.manifest.graphs.text_table, mmap_mode="r")
        return table


@pytest.fixture(scope="module")
def default_voice(default_checkpoint: Path, default_bundle: Path) -> DefaultVoice:
    manifest = read_manifest(default_bundle)
    source = read_source(default_checkpoint, manifest.sampling.max_top_k, 1024)
    return DefaultVoice(default_bundle, manifest, source)


@pytest.fixture(scope="module")
def default_expected(default_voice: DefaultVoice) -> list[Spoken]:
    return by_onnxruntime(default_voice, 2, 128)


@pytest.mark.parametrize("shape", FrameShape)
@pytest.mark.parametrize("form", FORMS)
def test_the_default_voice_says_the_same(
    default_voice: DefaultVoice, default_expected: list[Spoken], tmp_path: Path, form: AttentionForm, shape: FrameShape
) -> None:
    choice = TensorRtChoice(form, shape, np.float32, Precision.FP32, 2, 128)
    found = by_machine(default_voice, Machine(default_voice.source, choice, tmp_path))
    for spoken, told in zip(found, default_expected, strict=True):
        assert np.array_equal(spoken.codes, told.codes)
        np.testing.assert_allclose(spoken.logits, told.logits, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("form", FORMS)
def test_narrow_types_stay_close(
    voice: Voice, expected: list[Spoken], tmp_path: Path, form: AttentionForm, precision: Precision
) -> None:
    """Logits of the first frame, whose rows are the same whatever the types; the bound tells slips, not quality."""
    most = {Precision.FP32: 0.01, Precision.INT8: 0.05, Precision.FP8: 0.2, Precision.INT4: 0.6}[precision]
    choice = TensorRtChoice(form, FrameShape.STEPPED, np.float16, precision, 1, POSITIONS)
    found = by_machine(voice, Machine(voice.source, choice, tmp_path))
    error = np.linalg.norm(found[0].logits[0] - expected[0].logits[0]) / np.linalg.norm(expected[0].logits[0])
    assert error < most


@pytest.mark.parametrize("precision", [Precision.FP32, Precision.INT8, Precision.INT4])
def test_narrow_graphs_of_all_kinds_say_the_same(
    voice: Voice, expected: list[Spoken], tmp_path: Path, precision: Precision
) -> None:
    """The predictor's codes too, which no logits tell of. (With fp8 the last bit of an activation counts for more.)"""
    said = []
    for form, shape in product(filter(runs_in_onnxruntime, AttentionForm), FrameShape):
        folder = tmp_path / f"{form.value}-{shape.value}"
        folder.mkdir()
        choice = TensorRtChoice(form, shape, np.float16, precision, 4, POSITIONS)
        machine = Machine(voice.source, choice, folder, literally=True)
        said.append(np.stack([spoken.codes[0] for spoken in by_machine(voice, machine)]))
    if precision is Precision.FP32:
        said.append(np.stack([spoken.codes[0] for spoken in expected[:4]]))
    assert [(codes == said[0]).mean() > 0.7 for codes in said] == [True] * len(said)  # all of them, where this was made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dtype", "most"), [(np.float32, 1e-5), (np.float16, 2e-2)])
def test_same_sound_in_any_chunks(
    voice: Voice, tmp_path: Path, form: AttentionForm, dtype: npt.DTypeLike, most: float
) -> None:
    frame, slots, length = voice.manifest.frame, 2, 9
    codes = np.random.default_rng(3).integers(0, frame.codebook_size, (slots, length, frame.codebooks))
    reference = Codec(OrtRunner(voice.bundle / voice.manifest.graphs.codec), voice.manifest, slots, length)
    machine = CodecMachine(voice.source, TensorRtChoice(form, dtype=dtype, slots=slots), tmp_path)
    whole = []
    for slot in range(slots):
        reference.begin(slot)
        whole.append(reference.decode(slot, codes[slot]).copy())
    states = read_manifest(voice.bundle).codec.states
    for cuts in ([length], [1, 3, 5], [1] * length):
        found = machine.decode(states, codes, cuts)
        assert np.abs(found - np.stack(whole)).max() < most * np.abs(whole).max()
