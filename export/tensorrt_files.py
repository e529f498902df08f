"""A checkpoint's graphs for TensorRT as a directory, for whoever builds engines from them.

Purpose: choose, build, round, write aside, rename; beside the graphs lies `choice.json`, which says what was chosen.
Knows: what a set needs beside its graphs. Does not know: TensorRT's library, bundles.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from export.config import read_generation_config, read_model_config
from export.exporter import MAX_POSITIONS, graph_top_k, learn_rounding
from export.lowering import Precision
from export.placing import aside, check_target, into_place
from export.progress import Progress, Silent
from export.tensorrt import WEIGHTS, TensorRtChoice, build_tensorrt, read_source

CHOICE_FILE: Final = "choice.json"


class ChoiceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`choice.json`."""

    form: str
    """How the cache is written: "in_place" (TensorRT 10.15 and later) or "rows" (10.3 and later)."""
    shape: str
    """How a frame is cut into graphs: "unrolled" or "stepped"."""
    dtype: str
    """Of products, caches and codec states: "float16" or "float32"."""
    precision: str
    slots: int
    positions: int
    learned: bool
    """Whether int4 matrices were rounded with what the full weights speak."""
    weights: str
    graphs: tuple[str, ...]


def export_tensorrt(
    checkpoint: Path, folder: Path, choice: TensorRtChoice, progress: Progress | None = None, *, learn: bool = True
) -> ChoiceRecord:
    """Write the graphs of `choice` for an official checkpoint into a new directory.

    `learn`: let int4 rounding learn from what the full weights speak (see `learn_rounding`). Raises `ExportError`,
    `CheckpointError`; nothing is left behind then.
    """
    folder, progress = folder.absolute(), progress or Silent()
    talker = read_model_config(checkpoint).talker_config
    top_k = graph_top_k(read_generation_config(checkpoint), talker)
    learned = learn and choice.precision is Precision.INT4
    rounder = learn_rounding(checkpoint, progress) if learned else None
    made = build_tensorrt(read_source(checkpoint, top_k, MAX_POSITIONS), choice, rounder)
    check_target(folder, made.payload.nbytes)
    record = ChoiceRecord(
        form=choice.form.value,
        shape=choice.shape.value,
        dtype=np.dtype(choice.dtype).name,
        precision=choice.precision.value,
        slots=choice.slots,
        positions=choice.positions,
        learned=learned,
        weights=WEIGHTS,
        graphs=tuple(f"{role.value}.onnx" for role in made.graphs),
    )
    with aside(folder) as scratch:
        made.write(scratch, progress.stage("weights", made.payload.nbytes))
        (scratch / CHOICE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
        into_place(scratch, folder)
    return record
