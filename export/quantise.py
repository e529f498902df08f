"""Block-wise symmetric quantisation of matrices, in the layout of ONNX Runtime's MatMulNBits.

Purpose: a float matrix [outputs, inputs] becomes packed integers and one scale per block of inputs.
Knows: the packing (low nibble is the even input; zero point implied: 8 for 4 bits, 128 for 8 bits; ONNX Runtime
contrib-op documentation, checked in our measurements). Does not know: which matrices deserve which precision.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

LARGEST_BLOCK: Final = 128
SMALLEST_BLOCK: Final = 16


def block_size(inputs: int) -> int:
    """The largest power of two up to 128 that divides `inputs`, but at least 16 (the last block is then padded)."""
    return max(SMALLEST_BLOCK, min(LARGEST_BLOCK, inputs & -inputs))


def blocks(inputs: int) -> int:
    """Blocks per output row."""
    return -(-inputs // block_size(inputs))


def packed_shape(outputs: int, inputs: int, bits: int) -> tuple[int, int, int]:
    """Shape of the packed uint8 matrix: [outputs, blocks, bytes per block]."""
    return outputs, blocks(inputs), block_size(inputs) * bits // 8


def scales(matrix: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.float32]:
    """One scale per block, f32 [outputs, blocks]: the extreme value lands on the end of the integer range.

    The range is one longer below zero, so the sign of the extreme value decides which end it takes; this wins almost
    one bit's worth of resolution over the symmetric choice at 4 bits.
    """
    grouped = _grouped(matrix)
    extreme = np.take_along_axis(grouped, np.abs(grouped).argmax(axis=-1)[..., None], axis=-1)[..., 0]
    chosen = extreme / -float(2 ** (bits - 1))
    return np.where(chosen == 0, np.float32(1), chosen).astype(np.float32)


def pack(matrix: npt.NDArray[np.float32], bits: int) -> npt.NDArray[np.uint8]:
    """Rounded, offset and packed integers, uint8 `packed_shape`."""
    zero = 2 ** (bits - 1)
    codes = np.rint(_grouped(matrix) / scales(matrix, bits)[..., None]) + zero
    integers: npt.NDArray[np.uint8] = codes.clip(0, 2 * zero - 1).astype(np.uint8)
    if bits == 4:
        np.bitwise_or(integers[..., 0::2], integers[..., 1::2] << 4, out=integers[..., 0::2])
        return integers[..., 0::2]
    return integers


def unpack(
    packed: npt.NDArray[np.uint8], scale: npt.NDArray[np.float32], bits: int, inputs: int
) -> npt.NDArray[np.float32]:
    """The float matrix [outputs, inputs] that the packed one stands for."""
    if bits == 4:
        packed = np.stack((packed & 15, packed >> 4), axis=-1).reshape(*packed.shape[:2], -1)
    values: npt.NDArray[np.float32] = (packed.astype(np.float32) - 2 ** (bits - 1)) * scale[..., None]
    return values.reshape(len(packed), -1)[:, :inputs]


def _grouped(matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    outputs, inputs = matrix.shape
    padded = np.pad(matrix, ((0, 0), (0, blocks(inputs) * block_size(inputs) - inputs)))
    return padded.reshape(outputs, blocks(inputs), block_size(inputs))
