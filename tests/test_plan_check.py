"""The comparison of a plan with its graphs: alike where only the form differs, told apart where the weights do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engines.bundle import open_bundle
from engines.graph_names import CodecInputs, CodecOutputs, FrameInputs
from engines.plan_set import PlanSizes, Verification
from engines.step_names import TalkerStepOutputs
from export.attention_tensorrt import AttentionForm
from export.build_door import Session, Values
from export.lowering import Precision
from export.ort_session import OrtSession
from export.plan_check import FRAMES, Probe, Side, codec_calls, make_probe, rows_needed, speak, verify
from export.plan_machine import Machine
from export.plan_profile import USUAL_CODEC_FRAMES
from export.probe_texts import probe_ids
from export.tensorrt import WEIGHTS, FrameShape, Role, TensorRtChoice, build_tensorrt, read_source
from export.tensorrt_trouble import NO_GPU, why_failed
from export.text_side import load_tokenizer
from tests.tensorrt_machine import NEEDS_OPSET_24

Verify = Callable[[Side, Side], Verification]
SIZES = PlanSizes(slots=2, positions=64, prefill_rows=7, codec_chunk_frames=5)


class Broken:
    """A session whose floats are not numbers."""

    def __init__(self, session: Session, slots: int | None = None) -> None:
        """`slots`: only in runs of so many."""
        self._session, self._slots = session, slots

    def run(self, values: Values) -> Values:
        made = self._session.run(values)
        if self._slots is not None and len(values[FrameInputs.PAST_LENGTHS]) != self._slots:
            return made
        return {name: array * np.nan if array.dtype.kind == "f" else array for name, array in made.items()}


@pytest.fixture
def side(tiny_checkpoint: Path, tmp_path: Path) -> Callable[[TensorRtChoice], Side]:
    source = read_source(tiny_checkpoint, 64, 4096)

    def make(choice: TensorRtChoice) -> Side:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        graphs = build_tensorrt(source, choice)
        graphs.write(folder)
        sessions: dict[Role, Session] = {
            role: OrtSession(folder / f"{role.value}.onnx", 1, literally=True) for role in graphs.graphs
        }
        return Side(sessions=sessions, choice=choice, weights=folder / WEIGHTS)

    return make


@pytest.fixture
def probe(tiny_bundle: Path, tiny_checkpoint: Path) -> Probe:
    opened = open_bundle(tiny_bundle)
    texts = probe_ids(tiny_checkpoint, load_tokenizer(tiny_checkpoint))
    return make_probe(opened.manifest, texts, opened.text_table, opened.codec_embedding, 2)


@pytest.fixture
def compare(tiny_bundle: Path, probe: Probe) -> Verify:
    opened = open_bundle(tiny_bundle)
    assert rows_needed(probe) <= 64

    def run(reference: Side, built: Side) -> Verification:
        shares = list[float]()
        found = verify(reference, built, opened.manifest, probe, SIZES, "the other form", shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        return found

    return run


def choice(
    form: AttentionForm = AttentionForm.ROWS, shape: FrameShape = FrameShape.STEPPED,
    precision: Precision = Precision.FP32, dtype: type[np.floating] = np.float32,
) -> TensorRtChoice:  # fmt: skip
    return TensorRtChoice(form, shape, dtype, precision, 2, 64)


def test_slots_have_texts_of_their_own_and_one_of_them_is_greedy(probe: Probe) -> None:
    first, second = (len(codec) for codec, _ in probe.prompts)
    assert first == second + 1, "so that they stand at other positions"
    assert rows_needed(probe) == first + FRAMES
    assert not probe.noise[:, 0].any()
    assert probe.noise[:, 1].all()


class Enough(Exception):  # noqa: N818 - it is no error
    """All prompts are in."""


class Listener:
    """A machine that notes how it is given prompts."""

    def __init__(self) -> None:
        self.pieces: dict[int, list[int]] = {}

    def prefill(self, slot: int, codec_rows: Values, text_rows: Values) -> None:
        assert len(codec_rows) == len(text_rows)
        self.pieces.setdefault(slot, []).append(len(codec_rows))

    def step(self, settings: Values) -> None:
        raise Enough


def test_prompts_come_in_pieces_without_their_last_rows(probe: Probe) -> None:
    listener, shares = Listener(), list[float]()
    with pytest.raises(Enough):
        speak(cast("Machine", listener), probe, 7, None, shares.append)
    lengths = [len(codec) for codec, _ in probe.prompts]
    assert listener.pieces == {
        slot: [7] * ((length - 1) // 7) + [(length - 1) % 7] * ((length - 1) % 7 > 0)
        for slot, length in enumerate(lengths)
    }
    assert shares == [0.25, 0.5]


@pytest.mark.parametrize(("most", "calls"), [(25, [3, 1, 4, 25]), (3, [3, 1, 3, 3]), (1, [1, 1, 1, 1])])
def test_calls_of_the_codec_are_no_longer_than_it_takes_and_one_is_as_long(most: int, calls: list[int]) -> None:
    assert codec_calls(most) == calls


@NEEDS_OPSET_24
def test_another_form_says_the_same(side: Callable[[TensorRtChoice], Side], compare: Verify) -> None:
    found = compare(side(choice()), side(choice(AttentionForm.IN_PLACE, FrameShape.UNROLLED)))
    assert found.passed
    assert (found.agreement, found.frames) == (1.0, 3 * FRAMES), "one slot, and both"
    assert found.logits_error < 1e-5
    assert found.pcm_error < 1e-5


def test_wrong_weights_and_no_numbers_do_not_pass(side: Callable[[TensorRtChoice], Side], compare: Verify) -> None:
    good = side(choice(precision=Precision.INT8, dtype=np.float16))
    same = compare(good, good)
    assert same.passed
    assert (same.least_agreement, same.most_logits_error, same.most_pcm_error) == (0.8, 0.02, 0.01), "those of int8"
    assert not compare(good, side(choice(precision=Precision.INT4, dtype=np.float16))).passed
    for role in (Role.CODEC, Role.TALKER):
        broken = Side(
            sessions={**good.sessions, role: Broken(good.sessions[role])}, choice=good.choice, weights=good.weights
        )
        found = compare(good, broken)
        assert not found.passed
        assert float("inf") in {found.pcm_error, found.logits_error}


@pytest.mark.parametrize("role", [Role.PREFILL, Role.STEP])
def test_what_others_go_on_from_is_compared_too(
    side: Callable[[TensorRtChoice], Side], compare: Verify, role: Role
) -> None:
    good = side(choice())
    broken = Side(
        sessions={**good.sessions, role: Broken(good.sessions[role])}, choice=good.choice, weights=good.weights
    )
    assert not compare(good, broken).passed


def test_the_widest_run_comes_first(side: Callable[[TensorRtChoice], Side], compare: Verify) -> None:
    """A built engine's memory on the device grows with its runs, and what was outgrown is not given back meanwhile."""
    one, slots = side(choice()), list[int]()

    class Noting:
        def run(self, values: Values) -> Values:
            slots.append(len(values[FrameInputs.PAST_LENGTHS]))
            return one.sessions[Role.TALKER].run(values)

    noting = Side(sessions={**one.sessions, Role.TALKER: Noting()}, choice=one.choice, weights=one.weights)
    assert compare(one, noting).passed
    assert slots == [2] * FRAMES + [1] * FRAMES


@pytest.mark.parametrize(("dtype", "gates"), [(np.float32, (1.0, 1e-3, 1e-4)), (np.float16, (0.9, 0.01, 0.01))])
def test_wide_weights_have_the_gates_of_their_products(
    side: Callable[[TensorRtChoice], Side], compare: Verify, dtype: type[np.floating], gates: tuple[float, ...]
) -> None:
    one = side(choice(dtype=dtype))
    found = compare(one, one)
    assert (found.least_agreement, found.most_logits_error, found.most_pcm_error) == gates


@pytest.mark.parametrize("slots", [1, 2])
def test_what_is_wrong_in_some_company_only_is_found(
    side: Callable[[TensorRtChoice], Side], compare: Verify, slots: int
) -> None:
    good = side(choice())
    sessions = {**good.sessions, Role.TALKER: Broken(good.sessions[Role.TALKER], slots)}
    assert not compare(good, Side(sessions=sessions, choice=good.choice, weights=good.weights)).passed


@pytest.mark.parametrize(("role", "name"), [(Role.TALKER, TalkerStepOutputs.CODE), (Role.CODEC, CodecOutputs.PCM)])
def test_codes_and_sound_that_are_wrong_for_a_lone_slot_only_are_found(
    side: Callable[[TensorRtChoice], Side], compare: Verify, role: Role, name: str
) -> None:
    good = side(choice())

    class Lonely:
        def run(self, values: Values) -> Values:
            made = good.sessions[role].run(values)
            return made | {name: np.zeros_like(made[name])} if len(made[name]) == 1 else made

    sessions = {**good.sessions, role: Lonely()}
    found = compare(good, Side(sessions=sessions, choice=good.choice, weights=good.weights))
    assert not found.passed
    assert (found.agreement < 1.0, found.pcm_error > 0.5) == (role is Role.TALKER, role is Role.CODEC)


def test_a_codec_that_is_wrong_in_large_blocks_only_is_found(
    side: Callable[[TensorRtChoice], Side], compare: Verify
) -> None:
    good = side(choice())

    class Codec:
        """Right up to the size that its kernels were chosen for."""

        def run(self, values: Values) -> Values:
            made = good.sessions[Role.CODEC].run(values)
            if values[CodecInputs.CODES].shape[1] > USUAL_CODEC_FRAMES:
                made[CodecOutputs.PCM] = np.zeros_like(made[CodecOutputs.PCM])
            return made

    sessions = {**good.sessions, Role.CODEC: Codec()}
    assert not compare(good, Side(sessions=sessions, choice=good.choice, weights=good.weights)).passed


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("Cuda Runtime (out of memory)", "memory was too small to build x"),
        ("Skipping tactic: insufficient memory on requested 1 bytes", "memory was too small to build x"),
        (
            "Could not find any implementation for node a due to insufficient workspace. See verbose log for requested"
            " sizes.",
            "memory was too small to build x",
        ),
        ("CPU-only builder is not supported in standard mode", NO_GPU),
        ("Target GPU SM 53 is not supported by this TensorRT release.", "does not support this GPU"),
        ("anything " * 100, "could not build x: anything"),
    ],
)
def test_complaints_become_sentences(said: str, means: str) -> None:
    sentence = why_failed("x", ["before", said])
    assert means in sentence
    assert len(sentence) < 500
    assert "it did not say why" in why_failed("x", [])
    assert "could not build x: no kernel for a; another form" in why_failed("x", ["no kernel\nfor a"])
