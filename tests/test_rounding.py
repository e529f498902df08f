"""Rounding that passes errors on: it keeps to its range, and layers put out less error than with nearest integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from engines.manifest import write_manifest
from export.quantise import (
    block_size,
    pack_integers,
    pack_signed,
    pack_signed_integers,
    positive_scales,
)
from export.rounding import Rounded, Rounder, _fit_scales, _upper_root_of_inverse, best_scales, compensated
from export.stored_rounding import StoredRounding, stored_rounding
from tests import fake_voice
from tests.test_manifest import quality
from tests.unpacking import unpack, unpack_signed

OUTPUTS, INPUTS = 24, 256
BLOCK = block_size(INPUTS, 4)
Floats = npt.NDArray[np.float32]


def some_matrix() -> Floats:
    return np.random.default_rng(1).standard_t(4, (OUTPUTS, INPUTS)).astype(np.float32)


def some_inputs() -> Floats:
    """Rows whose columns lean on few directions, as a layer's inputs do."""
    random = np.random.default_rng(2)
    directions = random.normal(0, 1, (20, INPUTS))
    return (random.normal(0, 1, (500, 20)) @ directions + random.normal(0, 0.3, (500, INPUTS))).astype(np.float32)


def values(rounded: Rounded) -> Floats:
    found: Floats = rounded.integers.astype(np.float32) * np.repeat(rounded.scales, BLOCK, axis=1)
    return found


def test_outputs_change_less_than_with_the_nearest_integers() -> None:
    matrix, given = some_matrix(), some_inputs()
    moments = given.T.astype(np.float64) @ given
    rounded = compensated(matrix, moments, 4)
    scale = positive_scales(matrix, 4, INPUTS // BLOCK)
    plain = unpack_signed(pack_signed(matrix, scale, 4), scale, 4)
    assert rounded.scales.min() > 0
    error, before = (np.linalg.norm(given @ (found - matrix).T) for found in (values(rounded), plain))
    assert error < 0.6 * before
    assert rounded.integers.min() >= -8
    assert rounded.integers.max() <= 7


def test_without_correlation_every_weight_is_rounded_to_the_nearest() -> None:
    matrix = some_matrix()
    rounded = compensated(matrix, np.eye(INPUTS), 4)
    columns = matrix.T.reshape(-1, BLOCK, OUTPUTS)
    first = np.stack([best_scales(part, 4) for part in columns])
    integers = np.rint(columns / first[:, None]).clip(-8, 7)
    fitted = (integers * columns).sum(axis=1) / (integers**2).sum(axis=1)
    expected = np.rint(columns / fitted[:, None]).clip(-8, 7).reshape(INPUTS, OUTPUTS).T
    assert (rounded.integers == expected).mean() > 0.999, "but for what lies between two integers"


def test_fitted_scales_make_no_output_worse() -> None:
    columns = np.ascontiguousarray(some_matrix().T)
    given = some_inputs()
    moments = given.T @ given
    scales = np.stack([best_scales(part, 4) for part in columns.reshape(-1, BLOCK, OUTPUTS)])
    integers = np.rint(columns / np.repeat(scales, BLOCK, axis=0)).clip(-8, 7).astype(np.int8)

    def errors() -> Floats:
        error = columns - integers * np.repeat(scales, BLOCK, axis=0)
        squares: Floats = ((given @ error) ** 2).sum(axis=0)
        return squares

    before = errors()
    _fit_scales(scales, integers, columns, moments)
    assert scales.min() > 0
    assert (errors() <= before * (1 + 1e-4)).all()
    assert errors().sum() < 0.9 * before.sum()


def test_the_best_scale_is_no_worse_than_the_plain_one() -> None:
    block = some_matrix()[:, :BLOCK]
    plain = positive_scales(block, 4, 1)[:, 0]

    def error(scale: Floats) -> Floats:
        rounded = np.rint(block / scale[:, None]).clip(-8, 7) * scale[:, None]
        total: Floats = ((rounded - block) ** 2).sum(axis=1)
        return total

    assert (error(best_scales(np.ascontiguousarray(block.T), 4)) <= error(plain) * (1 + 1e-5)).all()


def test_the_best_scale_gives_up_what_lies_far_out() -> None:
    """One value must not cost all others their resolution; where nothing lies far out, nothing is given up."""
    block = np.random.default_rng(4).normal(0, 1, (BLOCK, OUTPUTS)).astype(np.float32)
    block[0] = 5.0
    assert best_scales(block, 4).mean() < 0.95 * 5.0 / 7
    even = np.random.default_rng(5).integers(-8, 8, (BLOCK, OUTPUTS)).astype(np.float32)
    even[:2] = [[-8.0], [7.0]]
    assert (best_scales(even, 4) == 1.0).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_integers_survive_both_packings(bits: int) -> None:
    random, most = np.random.default_rng(3), 2 ** (bits - 1)
    integers = random.integers(-most, most, (OUTPUTS, INPUTS), dtype=np.int8)
    scale = random.uniform(0.5, 2, (OUTPUTS, INPUTS // block_size(INPUTS, bits))).astype(np.float32)
    expected = integers * np.repeat(scale, block_size(INPUTS, bits), axis=1)
    np.testing.assert_array_equal(unpack(pack_integers(integers, bits), scale, bits, INPUTS), expected)
    np.testing.assert_array_equal(unpack_signed(pack_signed_integers(integers, bits), scale, bits), expected)


def test_a_matrix_is_rounded_once() -> None:
    rounder, reads = Rounder(), []

    def read() -> Floats:
        reads.append(1)
        return some_matrix()

    rounder.learn({"a": np.eye(INPUTS), "odd": np.eye(100)})
    assert rounder.round("unknown", read, 4) is None
    assert rounder.round("odd", read, 4) is None
    first = rounder.round("a", read, 4)
    assert first is not None
    assert rounder.round("a", read, 4) is first
    assert len(reads) == 1
    assert Rounder(rounder).round("a", read, 4) is first
    rounder.forget()
    assert rounder.round("a", read, 4) is None


def test_a_bundles_integers_are_taken_as_they_are_stored(tmp_path: Path) -> None:
    integers = np.random.default_rng(3).integers(-8, 8, (OUTPUTS, INPUTS), dtype=np.int8)
    scale = np.full((OUTPUTS, INPUTS // BLOCK), 0.01, np.float32)
    nearest = scale.copy()
    nearest[3, 1] *= -1
    narrow = np.zeros((OUTPUTS, INPUTS // 16, 8), np.uint8)  # as bundles once had them
    packed = np.ascontiguousarray(pack_integers(integers, 4))  # the library writes others as they lie
    matrices = {"a": (packed, scale), "b": (packed, nearest), "c": (narrow, scale)}
    entries: dict[str, npt.NDArray[Any]] = {}
    for name, (whole, scales) in matrices.items():
        entries |= {f"{name}.q4": whole, f"{name}.scale": scales}
    save_file(entries, tmp_path / "weights")
    stored = StoredRounding(tmp_path / "weights")
    found = stored.round("a", some_matrix, 4)
    assert found is not None
    np.testing.assert_array_equal(found.integers, integers)
    np.testing.assert_array_equal(found.scales, scale)
    assert [stored.round(name, some_matrix, 4) for name in ("b", "c", "unknown")] == [None, None, None]
    assert stored.round("a", some_matrix, 8) is None


@pytest.mark.parametrize(("measured", "precision", "down", "knows"), [
    (True, "int4", None, True), (True, "int4", "int8", True), (True, "int8", "int4", True),
    (False, "int4", None, False), (True, "int8", None, False),
])  # fmt: skip
def test_what_a_bundle_knows_it_has_learnt_by_measuring(
    tmp_path: Path, measured: bool, precision: str, down: str | None, knows: bool
) -> None:
    manifest = fake_voice.manifest()
    made = msgspec.structs.replace(manifest.provenance, precision=precision, down_precision=down)
    found = quality((1.0, 0.0)) if measured else None
    write_manifest(tmp_path, msgspec.structs.replace(manifest, provenance=made, quality=found))
    save_file({"a": np.zeros(1, np.float32)}, tmp_path / manifest.graphs.weights)
    assert (stored_rounding(tmp_path) is not None) is knows


def test_the_root_of_the_inverse() -> None:
    given = some_inputs().astype(np.float64)
    moments = given.T @ given + np.eye(INPUTS)
    root = _upper_root_of_inverse(moments)
    np.testing.assert_allclose(root.T @ root @ moments, np.eye(INPUTS), atol=1e-6)
    np.testing.assert_allclose(root, np.linalg.cholesky(np.linalg.inv(moments)).T, atol=1e-6)
