"""What is built on which device with which TensorRT: by values, nothing is built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engines.manifest import Manifest, read_manifest
from export import plan_choice
from export.attention_tensorrt import AttentionForm
from export.errors import BuildError
from export.lowering import Precision
from export.plan_choice import PlanWish, choose, find_checkpoint, workspace_bytes
from export.tensorrt import FrameShape
from tests.fake_builder import ORIN
from tests.plan_build_rig import SIZES, wish_for

MIB = 1 << 20
IN_PLACE, ROWS = AttentionForm.IN_PLACE, AttentionForm.ROWS


@pytest.fixture
def wish(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path) -> PlanWish:
    return wish_for(tiny_bundle, tiny_checkpoint, tmp_path)


@pytest.fixture
def manifest(tiny_bundle: Path) -> Manifest:
    return read_manifest(tiny_bundle)


@pytest.fixture
def verifies(monkeypatch: pytest.MonkeyPatch) -> set[AttentionForm]:
    """What ONNX Runtime can run here."""
    forms = {IN_PLACE, ROWS}
    monkeypatch.setattr(plan_choice, "runs_in_onnxruntime", forms.__contains__)
    return forms


@pytest.mark.usefixtures("verifies")
@pytest.mark.parametrize(("version", "form"), [
    ("10.3.0.26", ROWS), ("10.14.1.48", ROWS), ("10.15.1.29", IN_PLACE), ("11.2.1.2", IN_PLACE), ("10.15", IN_PLACE),
])  # fmt: skip
def test_the_cache_is_written_in_place_from_the_version_on_that_can(
    wish: PlanWish, manifest: Manifest, version: str, form: AttentionForm
) -> None:
    assert choose(wish, manifest, version, ORIN)[1].form is form


@pytest.mark.parametrize("version", ["10.2.0", "8.6.1.6", "9.3.0"])
def test_what_is_too_old_is_refused(wish: PlanWish, manifest: Manifest, version: str) -> None:
    with pytest.raises(BuildError, match=r"too old: 10\.3 or later"):
        choose(wish, manifest, version, ORIN)


def test_what_cannot_be_verified_is_not_chosen_unasked(
    wish: PlanWish, manifest: Manifest, verifies: set[AttentionForm]
) -> None:
    verifies.remove(IN_PLACE)
    assert choose(wish, manifest, "11.2.1.2", ORIN)[1].form is ROWS
    asked = replace(wish, attention=IN_PLACE)
    with pytest.raises(BuildError, match=r"in_place attention cannot be verified .* --attention rows, --no-verify"):
        choose(asked, manifest, "11.2.1.2", ORIN)
    assert choose(replace(asked, verified=False), manifest, "11.2.1.2", ORIN)[1].form is IN_PLACE


@pytest.mark.parametrize(("precision", "stored", "dtype"), [
    ("fp32", Precision.FP32, np.float32), ("fp16", Precision.FP32, np.float16), ("int8", Precision.INT8, np.float16),
    ("int4", Precision.INT4, np.float16), ("fp8", Precision.FP8, np.float16),
])  # fmt: skip
def test_a_precision_is_how_matrices_are_stored_and_multiplied(
    wish: PlanWish, manifest: Manifest, precision: str, stored: Precision, dtype: type[np.floating]
) -> None:
    ada = replace(ORIN, architecture="sm_89")
    found, choice = choose(replace(wish, precision=precision), manifest, "10.3.0", ada)
    assert (found, choice.precision, choice.dtype) == (precision, stored, dtype)
    assert (choice.slots, choice.positions, choice.shape) == (SIZES.slots, SIZES.positions, FrameShape.STEPPED)
    shaped = replace(wish, precision=precision, shape=FrameShape.UNROLLED)
    assert choose(shaped, manifest, "10.3.0", ada)[1].shape is FrameShape.UNROLLED


@pytest.mark.parametrize(
    ("architecture", "works"), [("sm_87", False), ("sm_89", True), ("sm_90", True), ("sm_120", True)]
)
def test_eight_bit_floats_are_for_who_can_multiply_them(
    wish: PlanWish, manifest: Manifest, architecture: str, works: bool
) -> None:
    gpu, wish = replace(ORIN, architecture=architecture), replace(wish, precision="fp8")
    if works:
        assert choose(wish, manifest, "10.3.0", gpu)[0] == "fp8"
        return
    with pytest.raises(BuildError, match=r"cannot multiply fp8"):
        choose(wish, manifest, "10.3.0", gpu)


def test_a_bundle_of_full_precision_is_built_in_half(wish: PlanWish, manifest: Manifest) -> None:
    full = msgspec.structs.replace(manifest.provenance, precision="fp32", down_precision=None)
    found, choice = choose(
        replace(wish, precision="auto"), msgspec.structs.replace(manifest, provenance=full), "10.3.0", ORIN
    )
    assert (found, choice.dtype, choice.down) == ("fp16", np.float16, None)


@pytest.mark.parametrize(("free_mib", "weights_mib", "room_mib"), [
    (6000, 1000, 2000),  # half of what is left beside the weights, which are there twice
    (40000, 1000, 4096),
    (1000, 450, 64),
    (1000, 936, 64),
])  # fmt: skip
def test_room_to_try_kernels_in(free_mib: int, weights_mib: int, room_mib: int) -> None:
    gpu = replace(ORIN, free_bytes=free_mib * MIB)
    assert workspace_bytes(gpu, weights_mib * MIB) == room_mib * MIB


def test_weights_that_do_not_fit_are_refused_before_they_are_tried() -> None:
    with pytest.raises(BuildError, match="Orin has 1000 MiB of memory free, the weights alone take 937; end other"):
        workspace_bytes(replace(ORIN, free_bytes=1000 * MIB), 937 * MIB)


def test_a_checkpoint_that_is_named_must_be_one(wish: PlanWish, manifest: Manifest, tmp_path: Path) -> None:
    assert find_checkpoint(wish, manifest) == wish.checkpoint
    with pytest.raises(BuildError, match=rf"and {tmp_path} is no checkpoint; name it with --checkpoint DIR"):
        find_checkpoint(replace(wish, checkpoint=tmp_path), manifest)
