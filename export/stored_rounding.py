"""How a bundle's matrices were rounded, for engines that are built from it.

Purpose: a bundle that was measured has learnt how to round; whoever builds for another backend takes its integers
instead of learning again, which takes more memory than some devices have.
Knows: how bundles store 4-bit matrices. Does not know: how they were rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import safe_open

from engines.manifest import read_manifest
from export.lowering import Precision
from export.quantise import packed_shape, unpack_integers
from export.rounding import Floats, Rounded


class StoredRounding:
    """A bundle's matrices as a `Rounding`."""

    def __init__(self, weights: Path) -> None:
        """`weights`: the bundle's file of them."""
        file: Any = safe_open(weights, framework="numpy")
        self._file, self._names = file, set(file.keys())

    def round(self, name: str, read: Callable[[], Floats], bits: int) -> Rounded | None:
        """See `export.rounding.Rounding`; scales below zero are those of the nearest integers, which know nothing."""
        stored = f"{name}.q{bits}"
        if stored not in self._names:
            return None
        packed, scales = self._file.get_tensor(stored), self._file.get_tensor(f"{name}.scale")
        integers = unpack_integers(packed, bits)
        blocks_of_today = packed.shape == packed_shape(len(integers), integers.shape[1], bits)
        return Rounded(integers, scales) if blocks_of_today and (scales > 0).all() else None


def stored_rounding(bundle: Path) -> StoredRounding | None:
    """What a bundle knows; None where it has no 4-bit matrices or was not measured. Raises `BundleError`."""
    manifest = read_manifest(bundle)
    made = manifest.provenance
    if manifest.quality is None or Precision.INT4.value not in (made.precision, made.down_precision):
        return None
    return StoredRounding(bundle / manifest.graphs.weights)
