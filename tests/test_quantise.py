"""Laws of the block quantisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.quantise import (
    block_size,
    blocks,
    pack,
    pack_signed,
    packed_shape,
    positive_scales,
    scales,
)
from tests.unpacking import unpack, unpack_signed


@given(st.sampled_from([4, 8]), st.integers(1, 4096))
def test_a_block_is_a_power_of_two_between_16_and_128(bits: int, inputs: int) -> None:
    size = block_size(inputs, bits)
    assert size in (16, 32, 64, 128)
    assert blocks(inputs, bits) * size >= inputs > (blocks(inputs, bits) - 1) * size


def test_four_bits_come_in_smaller_blocks_where_a_matrix_is_narrow() -> None:
    assert [block_size(inputs, 4) for inputs in (256, 768, 1024, 3072)] == [64, 64, 128, 128]
    assert [block_size(inputs, 8) for inputs in (256, 768, 1024, 3072)] == [128] * 4


@given(st.sampled_from([4, 8]), st.integers(1, 5), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_unpacking_comes_within_half_a_step(bits: int, outputs: int, inputs: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).standard_normal((outputs, inputs)).astype(np.float32)
    packed, scale = pack(matrix, bits), scales(matrix, bits)
    assert packed.shape == packed_shape(outputs, inputs, bits)
    error = np.abs(unpack(packed, scale, bits, inputs) - matrix)
    step = np.repeat(np.abs(scale), block_size(inputs, bits), axis=1)[:, :inputs]
    # the far end of the range, opposite the extreme value, may have to be clipped by up to one step
    assert (error <= step * 1.0001).all()
    assert np.median(error / step) <= 0.5


@pytest.mark.parametrize("bits", [4, 8])
def test_integers_come_back_exactly(bits: int) -> None:
    half = 2 ** (bits - 1)
    matrix = np.random.default_rng(0).integers(-half, half, (3, 512)).astype(np.float32) * 0.25
    matrix[:, :: block_size(512, bits)] = -half * 0.25  # every block holds the end of the range
    assert (unpack(pack(matrix, bits), scales(matrix, bits), bits, matrix.shape[1]) == matrix).all()


def test_a_block_of_zeros_stays_zero() -> None:
    matrix = np.zeros((2, 32), np.float32)
    assert (unpack(pack(matrix, 4), scales(matrix, 4), 4, 32) == 0).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_signed_integers_reach_both_ends_of_their_range(bits: int) -> None:
    half = 2 ** (bits - 1)
    matrix = np.random.default_rng(0).integers(-half, half, (4, 512)).astype(np.float32) * 0.25
    matrix[:, 0::256], matrix[:, 1::256] = -half * 0.25, (half - 1) * 0.25
    scale = np.full((4, 2), 0.25, np.float32)
    np.testing.assert_array_equal(positive_scales(matrix, bits, 2), scale)
    np.testing.assert_array_equal(unpack_signed(pack_signed(matrix, scale, bits), scale, bits), matrix)
    beyond = unpack_signed(pack_signed(2 * matrix, scale, bits), scale, bits)
    np.testing.assert_array_equal(beyond, (2 * matrix).clip(-half * 0.25, (half - 1) * 0.25))


def test_a_positive_scale_is_that_of_the_end_that_is_tighter() -> None:
    rows = np.array([[7, -3], [3, -8], [14, -8], [7, -16], [0, 0]], np.float32)
    assert positive_scales(rows, 4, 1)[:, 0].tolist() == [1, 1, 2, 2, 1]
