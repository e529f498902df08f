"""Block-wise symmetric quantisation of matrices, in the layouts of MatMulNBits and of DequantizeLinear.

Purpose: a float matrix [outputs, inputs] becomes packed integers and one scale per block of inputs.
Knows: the packings. MatMulNBits (ONNX Runtime): row-major, low nibble is the even input, zero point implied (8 for 4
bits, 128 for 8 bits), scales of either sign. DequantizeLinear as TensorRT reads it: two's complement, [inputs, outputs]
row-major, low nibble is the even output, scales above zero only (its parser refuses others; tried with 10.15.1). The
nearest integers to a block whose largest value is positive therefore differ between the two; integers that were learnt
(`export.rounding`) are the same in both. Does not know: which matrices deserve which precision.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

LARGEST_BLOCK: Final = 128
SMALLEST_BLOCK: Final = 16
NARROW_INPUTS: Final = 1024
"""With fewer inputs, 4 bits come in blocks of 64: scales weigh little there, and roundings much (docs/LOG.md)."""


def block_size(inputs: int, bits: int) -> int:
    """The largest power of two that divides `inputs`, but at least 16 (the last block is then padded) and at most 128,
    or 64 for 4 bits and `NARROW_INPUTS`."""
    largest = LARGEST_BLOCK // 2 if bits == 4 and inputs < NARROW_INPUTS else LARGEST_BLOCK
    return max(SMALLEST_BLOCK, min(largest, inputs & -inputs))


def blocks(inputs: int, bits: int) -> int:
    """Blocks per output row."""
    return -(-inputs // block_size(inputs, bits))


def packed_shape(outputs: int, inputs: int, bits: int) -> tuple[int, int, int]:
    """Shape of the packed uint8 matrix: [outputs, blocks, bytes per block]."""
    return outputs, blocks(inputs, bits), block_size(inputs, bits) * bits // 8


def scales(matrix: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.float32]:
    """One scale per block, f32 [outputs, blocks]: the extreme value lands on the end of the integer range.

    The range is one longer below zero, so the sign of the extreme value decides which end it takes; this wins almost
    one bit's worth of resolution over the symmetric choice at 4 bits.
    """
    grouped = _grouped(matrix, bits)
    extreme = np.take_along_axis(grouped, np.abs(grouped).argmax(axis=-1)[..., None], axis=-1)[..., 0]
    chosen = extreme / -float(2 ** (bits - 1))
    return np.where(chosen == 0, np.float32(1), chosen).astype(np.float32)


def pack(matrix: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.uint8]:
    """Rounded, offset and packed integers, uint8 `packed_shape`."""
    zero = 2 ** (bits - 1)
    codes = np.rint(_grouped(matrix, bits) / scales(matrix, bits)[..., None]) + zero
    return _offset_packed(codes.clip(0, 2 * zero - 1).astype(np.uint8), bits)


def pack_integers(integers: npt.NDArray[np.int8], bits: int) -> npt.NDArray[np.uint8]:
    """Integers [outputs, inputs] that fill whole blocks, offset and packed as by `pack`."""
    outputs, inputs = integers.shape
    grouped = integers.reshape(outputs, blocks(inputs, bits), -1) + np.int16(2 ** (bits - 1))
    return _offset_packed(grouped.astype(np.uint8), bits)


def _offset_packed(integers: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    if bits == 4:
        np.bitwise_or(integers[..., 0::2], integers[..., 1::2] << 4, out=integers[..., 0::2])
        return integers[..., 0::2]
    return integers


def unpack_integers(packed: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.int8]:
    """The integers [outputs, inputs], and those of a padded last block, that `pack` or `pack_integers` packed."""
    if bits == 4:
        packed = np.stack((packed & 15, packed >> 4), axis=-1)
    rows = packed.reshape(len(packed), -1).astype(np.int16)
    integers: npt.NDArray[np.int8] = (rows - np.int16(2 ** (bits - 1))).astype(np.int8)
    return integers


def positive_scales(matrix: npt.NDArray[np.float32], bits: int, count: int) -> npt.NDArray[np.float32]:
    """One scale above zero for each of `count` equal parts of a row, f32 [outputs, count]: the tighter end of the
    integer range is just reached."""
    grouped, most = matrix.reshape(len(matrix), count, -1), 2 ** (bits - 1)
    chosen = np.maximum(grouped.max(axis=-1) / np.float32(most - 1), grouped.min(axis=-1) / np.float32(-most))
    positive: npt.NDArray[np.float32] = np.where(chosen <= 0, np.float32(1), chosen).astype(np.float32)
    return positive


def pack_signed(matrix: npt.NDArray[np.float32], scale: npt.NDArray[np.floating], bits: int) -> npt.NDArray[np.uint8]:
    """Rounded two's complement integers of the transposed matrix [inputs, outputs], as a row of bytes.

    `scale` [outputs, count] is what the integers of each of `count` equal parts of a row will be multiplied with.
    """
    most = 2 ** (bits - 1)
    grouped = matrix.reshape(*scale.shape, -1)
    codes = np.rint(grouped / scale.astype(np.float32)[..., None]).clip(-most, most - 1)
    return pack_signed_integers(codes.astype(np.int8).reshape(len(matrix), -1), bits)


def pack_signed_integers(integers: npt.NDArray[np.int8], bits: int) -> npt.NDArray[np.uint8]:
    """Integers [outputs, inputs], transposed and packed as by `pack_signed`."""
    rows: npt.NDArray[np.uint8] = integers.T.reshape(-1).view(np.uint8)
    return rows if bits == 8 else np.bitwise_or(rows[0::2] & 15, rows[1::2] << 4)


def _grouped(matrix: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.float32]:
    outputs, inputs = matrix.shape
    count, block = blocks(inputs, bits), block_size(inputs, bits)
    padded = np.pad(matrix, ((0, 0), (0, count * block - inputs)))
    return padded.reshape(outputs, count, block)
