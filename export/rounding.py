"""Which integers stand for a matrix, where the nearest ones are not good enough.

Purpose: 4-bit integers and block scales chosen so that what the layer puts out changes least: scales by search, and
each column's rounding error passed on to the columns not yet rounded, as far as the layer's inputs correlate (GPTQ,
Frantar et al. 2022, arXiv:2210.17323; columns in their order, since blocks are of neighbours).
Knows: matrices and the second moments of their inputs. Does not know: packings, where the moments come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from export.quantise import block_size

Floats = npt.NDArray[np.float32]

CLIPS: Final = np.linspace(0.6, 1.0, 13, dtype=np.float32)
"""Tried sizes of a scale, as shares of the one that clips nothing."""
DAMPING: Final = 0.1  # share of the mean moment added to all: some hundred frames do not tell the moments exactly


@dataclass(frozen=True, slots=True)
class Rounded:
    """A matrix as integers times scales."""

    integers: npt.NDArray[np.int8]
    """[outputs, inputs], two's complement within the bits."""
    scales: Floats
    """[outputs, blocks]"""


class Rounder:
    """Rounds matrices by name; each once, however often it is asked for."""

    def __init__(self) -> None:
        self._moments: dict[str, npt.NDArray[np.floating]] = {}
        self._made: dict[tuple[str, bool], Rounded] = {}

    def learn(self, moments: Mapping[str, npt.NDArray[np.floating]]) -> None:
        """Take X^T X [inputs, inputs] of the inputs X [rows, inputs] that each named matrix saw."""
        self._moments.update(moments)

    def forget(self) -> None:
        """Let go of what was learnt and made, as much as the weights themselves; once all are written."""
        self._moments.clear()
        self._made.clear()

    def round(self, name: str, read: Callable[[], Floats], bits: int, *, positive: bool) -> Rounded | None:
        """Round the matrix [outputs, inputs] that `read` gives; `positive` allows only scales above zero.

        None where nothing is known of its inputs, or they do not fill whole blocks: the nearest integers must do.
        """
        moments, key = self._moments.get(name), (name, positive)
        if moments is None or len(moments) % block_size(len(moments), bits):
            return None
        if key not in self._made:
            self._made[key] = compensated(read(), moments, bits, positive=positive)
        return self._made[key]


def best_scales(block: Floats, bits: int, *, positive: bool) -> Floats:
    """The tried scale with the least squared error for each output, f32 [outputs], of a block [inputs, outputs]."""
    most = 2 ** (bits - 1)
    if positive:
        widest = np.maximum(block.max(axis=0) / (most - 1), block.min(axis=0) / -most)
    else:
        widest = np.take_along_axis(block, np.abs(block).argmax(axis=0)[None], axis=0)[0] / -most
    widest = np.where(widest == 0, 1, widest).astype(np.float32)
    best, least = widest, np.full(block.shape[1], np.inf, np.float32)
    for clip in CLIPS if positive else np.concatenate([CLIPS, -CLIPS]):
        tried = widest * clip
        error = block / tried
        np.rint(error, out=error)
        np.clip(error, -most, most - 1, out=error)
        error *= tried
        error -= block
        total = np.einsum("io,io->o", error, error)
        better = total < least
        best, least = np.where(better, tried, best), np.where(better, total, least)
    return best


def compensated(matrix: Floats, moments: npt.NDArray[np.floating], bits: int, *, positive: bool) -> Rounded:
    """Integers and scales for a matrix [outputs, inputs] whose inputs have these moments [inputs, inputs]."""
    (outputs, inputs), most = matrix.shape, 2 ** (bits - 1)
    block = block_size(inputs, bits)
    damped = moments + np.eye(inputs) * max(DAMPING * float(np.mean(np.diag(moments))), 1e-12)  # f64 from here
    passing = _upper_root_of_inverse(damped).astype(np.float32)
    rest = np.ascontiguousarray(matrix.T)  # a column of the matrix is a row here, and lies together
    integers = np.empty((inputs, outputs), np.int8)
    scales = np.empty((inputs // block, outputs), np.float32)
    for start in range(0, inputs, block):
        stop = start + block
        scale = scales[start // block] = best_scales(rest[start:stop], bits, positive=positive)
        errors = np.empty((block, outputs), np.float32)
        for column in range(start, stop):
            chosen = np.rint(rest[column] / scale).clip(-most, most - 1)
            integers[column] = chosen
            error = errors[column - start] = (rest[column] - chosen * scale) / passing[column, column]
            rest[column + 1 : stop] -= passing[column, column + 1 : stop, None] * error
        rest[stop:] -= passing[start:stop, stop:].T @ errors
    return Rounded(integers.T, np.ascontiguousarray(scales.T))


def _upper_root_of_inverse(positive: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The upper triangular U with U^T U the inverse: Cholesky's factor with rows and columns reversed, inverted."""
    factor: npt.NDArray[np.floating] = np.linalg.cholesky(positive[::-1, ::-1])
    return _lower_inverse(factor)[::-1, ::-1]


def _lower_inverse(lower: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Inverse of a lower triangular matrix, by halves, so that nearly all of it is matrix products."""
    size = len(lower)
    if size <= 64:
        small: npt.NDArray[np.floating] = np.linalg.inv(lower)
        return small
    half = size // 2
    first, last = _lower_inverse(lower[:half, :half]), _lower_inverse(lower[half:, half:])
    inverse = np.zeros_like(lower)
    inverse[:half, :half], inverse[half:, half:] = first, last
    inverse[half:, :half] = -last @ (lower[half:, :half] @ first)
    return inverse
