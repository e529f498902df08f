"""Which integers stand for a matrix, where the nearest ones are not good enough.

Purpose: 4-bit integers and block scales chosen so that what the layer puts out changes least: scales by search, and
each column's rounding error passed on to the columns not yet rounded, as far as the layer's inputs correlate (GPTQ,
Frantar et al. 2022, arXiv:2210.17323, the columns with the largest inputs first). Scales are above zero, as TensorRT
wants them, so that all backends share the integers.
Knows: matrices and the second moments of their inputs. Does not know: packings, where the moments come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from export.quantise import block_size

Floats = npt.NDArray[np.float32]

CLIPS: Final = np.linspace(0.6, 1.0, 13, dtype=np.float32)
"""Tried sizes of a scale, as shares of the one that clips nothing."""
PASSES: Final = 2
"""Roundings, the second with scales that were fitted to the first (docs/LOG.md, 2026-11-21)."""
TOGETHER: Final = 64  # columns whose errors reach the others in one product
DAMPING: Final = 0.1  # share of the mean moment added to all: some hundred frames do not tell the moments exactly


@dataclass(frozen=True, slots=True)
class Rounded:
    """A matrix as integers times scales."""

    integers: npt.NDArray[np.int8]
    """[outputs, inputs], two's complement within the bits."""
    scales: Floats
    """[outputs, blocks]"""


class Rounding(Protocol):
    """Who knows better than the nearest integers."""

    def round(self, name: str, read: Callable[[], Floats], bits: int) -> Rounded | None:
        """The named matrix [outputs, inputs], which `read` gives, as integers; None where nothing is known of it."""
        ...


class Rounder:
    """Rounds matrices by name; each once, however often it is asked for."""

    def __init__(self, otherwise: Rounding | None = None) -> None:
        """`otherwise` is asked where nothing was learnt."""
        self._moments: dict[str, npt.NDArray[np.floating]] = {}
        self._made: dict[str, Rounded] = {}
        self._otherwise = otherwise

    def learn(self, moments: Mapping[str, npt.NDArray[np.floating]]) -> None:
        """Take X^T X [inputs, inputs] of the inputs X [rows, inputs] that each named matrix saw."""
        self._moments.update(moments)

    def forget(self) -> None:
        """Let go of what was learnt and made, as much as the weights themselves; once all are written."""
        self._moments.clear()
        self._made.clear()

    def round(self, name: str, read: Callable[[], Floats], bits: int) -> Rounded | None:
        """See `Rounding`; matrices whose inputs do not fill whole blocks are left to the nearest integers."""
        moments = self._moments.get(name)
        if moments is None:
            return self._otherwise.round(name, read, bits) if self._otherwise else None
        if len(moments) % block_size(len(moments), bits):
            return None
        if name not in self._made:
            self._made[name] = compensated(read(), moments, bits)
        return self._made[name]


def best_scales(block: Floats, bits: int) -> Floats:
    """The tried scale with the least squared error for each output, f32 [outputs], of a block [inputs, outputs]."""
    most = 2 ** (bits - 1)
    widest = np.maximum(block.max(axis=0) / (most - 1), block.min(axis=0) / -most)
    widest = np.where(widest <= 0, 1, widest).astype(np.float32)
    best, least = widest, np.full(block.shape[1], np.inf, np.float32)
    for clip in CLIPS:
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


def compensated(matrix: Floats, moments: npt.NDArray[np.floating], bits: int) -> Rounded:
    """Integers and scales for a matrix [outputs, inputs] whose inputs have these moments [inputs, inputs]."""
    outputs, inputs = matrix.shape
    damped = moments + np.eye(inputs) * max(DAMPING * float(np.mean(np.diag(moments))), 1e-12)  # f64 from here
    order = np.argsort(-np.diag(moments), kind="stable")  # what is rounded last has nowhere to pass its error on to
    passing = _upper_root_of_inverse(damped[np.ix_(order, order)]).astype(np.float32)
    moving = damped.astype(np.float32)
    columns = np.ascontiguousarray(matrix.T)  # a column of the matrix is a row here, and lies together
    parts = columns.reshape(-1, block_size(inputs, bits), outputs)
    scales = np.stack([best_scales(part, bits) for part in parts])
    for _ in range(PASSES):
        integers = _round_in_order(columns, scales, passing, order, bits)
        _fit_scales(scales, integers, columns, moving)
    return Rounded(integers.T, np.ascontiguousarray(scales.T))


def _round_in_order(
    columns: Floats, scales: Floats, passing: Floats, order: npt.NDArray[np.intp], bits: int
) -> npt.NDArray[np.int8]:
    """Integers [inputs, outputs] of columns [inputs, outputs], each column's error passed on to those after it."""
    (inputs, outputs), most = columns.shape, 2 ** (bits - 1)
    block = inputs // len(scales)
    rest = columns[order]
    integers = np.empty((inputs, outputs), np.int8)
    for start in range(0, inputs, TOGETHER):
        stop = min(start + TOGETHER, inputs)
        errors = np.empty((stop - start, outputs), np.float32)
        for place in range(start, stop):
            scale = scales[order[place] // block]
            chosen = np.rint(rest[place] / scale).clip(-most, most - 1)
            integers[order[place]] = chosen
            error = errors[place - start] = (rest[place] - chosen * scale) / passing[place, place]
            rest[place + 1 : stop] -= passing[place, place + 1 : stop, None] * error
        rest[stop:] -= passing[start:stop, stop:].T @ errors
    return integers


def _fit_scales(scales: Floats, integers: npt.NDArray[np.int8], columns: Floats, moments: Floats) -> None:
    """Move each scale in turn to where what the layer puts out changes least, given the integers; none to zero."""
    block = len(columns) // len(scales)
    error = columns - integers * np.repeat(scales, block, axis=0)
    for index in range(len(scales)):
        here = slice(index * block, (index + 1) * block)
        own = integers[here].astype(np.float32)
        pull = np.einsum("io,io->o", own, moments[here] @ error)
        weight = np.einsum("io,io->o", own, moments[here, here] @ own)
        change = np.divide(pull, weight, out=np.zeros_like(pull), where=weight > 0)
        change[scales[index] + change <= 0] = 0
        scales[index] += change
        error[here] -= own * change


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
