"""A checkpoint's graphs for TensorRT as a directory, for whoever builds engines from them.

Purpose: choose, build, round, write aside, rename; beside the graphs lies `choice.json`, which says what was chosen.
Knows: what a set needs beside its graphs. Does not know: TensorRT's library, bundles.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import onnxruntime as ort

from engines.manifest import Quality
from export.attention_tensorrt import AttentionForm
from export.bundle_manifest import MAX_POSITIONS, graph_top_k
from export.config import read_generation_config, read_model_config
from export.errors import ExportError
from export.full_voice import FullVoice, full_voice
from export.ort_session import LARGEST_OPSET, runs_in_onnxruntime
from export.placing import aside, check_target, into_place
from export.progress import Progress, Silent
from export.quality import PROBE_FILE, Prober, measure
from export.quality_gate import judge
from export.rounding import Rounder
from export.stored_rounding import stored_rounding
from export.tensorrt import (
    WEIGHTS,
    TensorRtChoice,
    TensorRtGraphs,
    TensorRtSource,
    build_tensorrt,
    read_source,
    write_probe,
)

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
    down_precision: str
    """Of the down projections; "fp32" is as wide as `dtype`, as for `precision`."""
    slots: int
    positions: int
    quality: Quality | None
    """What these weights do to the choices, run literally by ONNX Runtime; None where it was not measured."""
    weights: str
    graphs: tuple[str, ...]


def export_tensorrt(
    checkpoint: Path, folder: Path, choice: TensorRtChoice, progress: Progress | None = None, *,
    measured: bool | None = None, force: bool = False, bundle: Path | None = None,
) -> ChoiceRecord:  # fmt: skip
    """Write the graphs of `choice` for an official checkpoint into a new directory.

    `measured`: let int4 rounding learn from what the full weights speak, and measure the set against them; None does so
    for light voices only (see `full_voice`). `force` keeps a measured set also below the gate. Where nothing is learnt,
    int4 is rounded as `bundle`, made from the same checkpoint, was (`export.stored_rounding`). Raises
    `ExportError`, `CheckpointError`, `QualityError`; nothing is left behind then.
    """
    folder, progress = folder.absolute(), progress or Silent()
    talker = read_model_config(checkpoint).talker_config
    top_k = graph_top_k(read_generation_config(checkpoint), talker)
    source = read_source(checkpoint, top_k, MAX_POSITIONS)
    rounder = Rounder(stored_rounding(bundle) if bundle is not None else None)
    made = build_tensorrt(source, choice, rounder)
    check_target(folder, made.payload.nbytes, replaces=False)
    with aside(folder) as scratch:
        quality = None
        with full_voice(checkpoint, progress, measured, scratch) as voice:
            if voice is not None:
                _check_measurable(choice.form)
                if choice.rounds:
                    rounder.learn(voice.reference.moments(voice.learning))
                found = _measure(voice, source, choice, rounder, scratch)
                quality = judge(found, choice.precision, choice.down_precision, force=force)
        record = _record(made, quality)
        made.write(scratch, progress.stage("weights", made.payload.nbytes))
        (scratch / CHOICE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
        into_place(scratch, folder)
    return record


def _record(made: TensorRtGraphs, quality: Quality | None) -> ChoiceRecord:
    choice = made.choice
    return ChoiceRecord(
        form=choice.form.value,
        shape=choice.shape.value,
        dtype=np.dtype(choice.dtype).name,
        precision=choice.precision.value,
        down_precision=choice.down_precision.value,
        slots=choice.slots,
        positions=choice.positions,
        quality=quality,
        weights=WEIGHTS,
        graphs=tuple(f"{role.value}.onnx" for role in made.graphs),
    )


def _check_measurable(form: AttentionForm) -> None:
    if not runs_in_onnxruntime(form):
        raise ExportError(
            f"{form.value} graphs cannot be measured with ONNX Runtime {ort.__version__}, which ends at opset"
            f" {LARGEST_OPSET}; take --form rows, --no-measure, or Python 3.11 or later with ONNX Runtime 1.24 or later"
        )


def _measure(
    voice: FullVoice, source: TensorRtSource, choice: TensorRtChoice, rounder: Rounder, scratch: Path
) -> Quality:
    """The set's weights and types against the full ones."""
    with tempfile.TemporaryDirectory(dir=scratch) as home:
        write_probe(source, choice, rounder, Path(home), PROBE_FILE)
        narrow = Prober(Path(home), voice.reference.manifest, voice.reference.progress, literally=True)
        return measure(voice.reference.prober, narrow, voice.reference.speak(voice.measured))
