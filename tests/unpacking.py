"""The matrices that packed integers and their scales stand for: the other way of `export.quantise`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from export.quantise import unpack_integers


def unpack(
    packed: npt.NDArray[np.uint8], scale: npt.NDArray[np.float32], bits: int, inputs: int
) -> npt.NDArray[np.float32]:
    """The float matrix [outputs, inputs] that the packed one stands for."""
    integers = unpack_integers(packed, bits).reshape(*scale.shape, -1)
    values: npt.NDArray[np.float32] = integers * scale[..., None]
    return values.reshape(len(packed), -1)[:, :inputs]


def unpack_signed(packed: npt.NDArray[np.uint8], scale: npt.NDArray[np.floating], bits: int) -> npt.NDArray[np.float32]:
    """The float matrix [outputs, inputs] that the bytes of `pack_signed` stand for."""
    if bits == 4:
        packed = np.stack((packed << 4, packed & 0xF0), axis=-1).reshape(-1)
    integers = packed.view(np.int8) >> (8 - bits)
    outputs, count = scale.shape
    grouped = integers.reshape(-1, outputs).T.reshape(outputs, count, -1)
    values: npt.NDArray[np.float32] = grouped * scale.astype(np.float32)[..., None]
    return values.reshape(outputs, -1)
