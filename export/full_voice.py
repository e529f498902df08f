"""A checkpoint's full weights, ready to speak, for sets of weights that are not bundles.

Purpose: let such a set learn how to round, and be measured, as a bundle is while it is made.
Knows: how an export sets its reference up. Does not know: what is measured against it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from export.exporter import Export, most_reference_bytes
from export.lowering import Precision
from export.progress import Progress
from export.quality_gate import Reference, Texts

LIGHT_REFERENCE_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class FullVoice:
    """The reference, and texts as its ids."""

    reference: Reference
    learning: Texts
    measured: Texts


@contextmanager
def full_voice(
    checkpoint: Path, progress: Progress, measured: bool | None, scratch: Path
) -> Iterator[FullVoice | None]:
    """The full weights of an official checkpoint, in a folder of `scratch` that is gone afterwards.

    `measured` as for `export_checkpoint`, whose errors this raises too, but that None measures no voice above
    `LIGHT_REFERENCE_BYTES`: node by node that takes long, and nobody may be there who asked for it. Gives None where
    nothing is to be measured.
    """
    if measured is False:
        yield None
        return
    most = most_reference_bytes(measured, LIGHT_REFERENCE_BYTES)
    made = Export(checkpoint, Precision.INT4, Precision.INT4, progress, most)
    if not made.measures:
        yield None
        return
    with tempfile.TemporaryDirectory(dir=scratch) as home, made.reference(Path(home)) as reference:
        yield FullVoice(reference, *made.probes())
