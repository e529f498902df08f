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
NORM: Final = 2.4  # errors are weighed a little more than squared: measured better than 2 on the default voice
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
        self._moments: dict[str, npt.NDArray[np.float64]] = {}
        self._made: dict[tuple[str, bool], Rounded] = {}

    def learn(self, moments: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Take X^T X [inputs, inputs] of the inputs X [rows, inputs] that each named matrix saw.

        Matrices whose inputs do not fill whole blocks are left to the nearest integers.
        """
        whole = {name: value for name, value in moments.items() if len(value) % block_size(len(value)) == 0}
        self._moments.update(whole)

    def can(self, name: str) -> bool:
        """Whether anything is known of the matrix's inputs."""
        return name in self._moments

    def round(self, name: str, read: Callable[[], Floats], bits: int, *, positive: bool) -> Rounded:
        """Round the matrix [outputs, inputs] that `read` gives; `positive` allows only scales above zero."""
        key = name, positive
        if key not in self._made:
            self._made[key] = compensated(read(), self._moments[name], bits, positive=positive)
        return self._made[key]


def best_scales(block: Floats, bits: int, *, positive: bool) -> Floats:
    """The tried scale with the least error for each row of a block, f32 [rows]."""
    most = 2 ** (bits - 1)
    if positive:
        widest = np.maximum(block.max(axis=1) / (most - 1), block.min(axis=1) / -most)
    else:
        widest = np.take_along_axis(block, np.abs(block).argmax(axis=1)[:, None], axis=1)[:, 0] / -most
    widest = np.where(widest == 0, 1, widest).astype(np.float32)
    best, least = widest, np.full(len(block), np.inf, np.float32)
    for clip in CLIPS if positive else np.concatenate([CLIPS, -CLIPS]):
        tried = widest * clip
        error = np.abs(_integers(block, tried, most) * tried[:, None] - block)
        total = np.power(error, NORM, out=error).sum(axis=1)
        better = total < least
        best, least = np.where(better, tried, best), np.where(better, total, least)
    return best


def compensated(matrix: Floats, moments: npt.NDArray[np.float64], bits: int, *, positive: bool) -> Rounded:
    """Integers and scales for a matrix [outputs, inputs] whose inputs have these moments [inputs, inputs]."""
    inputs, block, most = matrix.shape[1], block_size(matrix.shape[1]), 2 ** (bits - 1)
    damped = moments + np.eye(inputs) * max(DAMPING * float(np.mean(np.diag(moments))), 1e-12)
    passing = np.linalg.cholesky(np.linalg.inv(damped)).T.astype(np.float32)
    rest = matrix.copy()
    integers = np.empty(matrix.shape, np.int8)
    scales = np.empty((len(matrix), inputs // block), np.float32)
    for start in range(0, inputs, block):
        stop = start + block
        scale = scales[:, start // block] = best_scales(rest[:, start:stop], bits, positive=positive)
        errors = np.empty((len(matrix), block), np.float32)
        for column in range(start, stop):
            chosen = np.rint(rest[:, column] / scale).clip(-most, most - 1)
            integers[:, column] = chosen
            error = errors[:, column - start] = (rest[:, column] - chosen * scale) / passing[column, column]
            rest[:, column + 1 : stop] -= error[:, None] * passing[column, column + 1 : stop]
        rest[:, stop:] -= errors @ passing[start:stop, stop:]
    return Rounded(integers, scales)


def _integers(block: Floats, scale: Floats, most: int) -> Floats:
    chosen: Floats = np.rint(block / scale[:, None]).clip(-most, most - 1)
    return chosen
