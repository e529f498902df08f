"""What is built for a bundle on a device, decided before anything is.

Purpose: fill in what a wish leaves open, and refuse what cannot work here with the remedy: precisions the GPU lacks,
forms this TensorRT or ONNX Runtime is too old for, a checkpoint that is missing or another bundle's.
Knows: versions, capabilities, where a bundle's checkpoint lies. Does not know: how anything is built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime as ort

from engines.manifest import Manifest, Tables
from engines.plan_files import plan_precision
from engines.plan_set import PlanSizes
from export.attention_tensorrt import FIRST_VERSIONS, AttentionForm
from export.build_door import Gpu
from export.checkpoint import TensorFile
from export.errors import BuildError
from export.frame_graph import CODEC_EMBEDDING
from export.lowering import Precision
from export.ort_session import runs_in_onnxruntime
from export.tensorrt import FrameShape, TensorRtChoice

USUAL_SHAPE: Final = FrameShape.STEPPED
"""A quarter of the layers to build, and a weight that all passes read is there once for sure. Which shape is faster was
not measured on any device yet."""
_FP8_CAPABILITY: Final = 89
_LEAST_WORKSPACE_BYTES: Final = 64 << 20
_MOST_WORKSPACE_BYTES: Final = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWish:
    """What is asked for."""

    bundle: Path
    cache: Path
    sizes: PlanSizes
    checkpoint: Path | None = None
    """The official checkpoint the bundle was made from; None: see `find_checkpoint`."""
    precision: str = "auto"
    down: str | None = None
    """Precision of the down projections; None: the bundle's own where the plan has the bundle's precision, else no
    other than that of all matrices."""
    attention: AttentionForm | None = None
    shape: FrameShape | None = None
    verified: bool = True
    """Compare the engines with ONNX Runtime before they may serve."""
    measured: bool | None = None
    """As for `export.tensorrt_files.export_tensorrt`."""
    forced: bool = False
    """Keep weights below the quality gate."""
    again: bool = False
    """Build although a plan is there."""
    unattended: bool = False
    """Nobody asked for just this build: do not try again what failed before."""


def choose(wish: PlanWish, manifest: Manifest, version: str, gpu: Gpu) -> tuple[str, TensorRtChoice]:
    """The plan's precision and the graphs to build it from. Raises `BuildError`."""
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < FIRST_VERSIONS[AttentionForm.ROWS]:
        raise BuildError(f"TensorRT {version} is too old: 10.3 or later is needed (JetPack 6.1 or later on a Jetson)")
    precision = plan_precision(wish.precision, manifest)
    if precision == "fp8" and gpu.capability < _FP8_CAPABILITY:
        raise BuildError(
            f"{gpu.name} ({gpu.architecture}) cannot multiply fp8, which came with sm_89 (Ada, Hopper);"
            " take --precision int8 or int4"
        )
    form = wish.attention or _usual_form(found)
    if found < FIRST_VERSIONS[form]:
        raise BuildError(f"TensorRT {version} does not know {form.value} attention (10.15 does); take --attention rows")
    if wish.verified and not runs_in_onnxruntime(form):
        raise BuildError(
            f"{form.value} attention cannot be verified with ONNX Runtime {ort.__version__}; take --attention rows,"
            " --no-verify, or Python 3.11 and later with ONNX Runtime 1.24 and later"
        )
    dtype = np.float32 if precision == "fp32" else np.float16
    shape, sizes, down = wish.shape or USUAL_SHAPE, wish.sizes, plan_down(wish, manifest)
    return precision, TensorRtChoice(
        form, shape, dtype, _matrices(precision), sizes.slots, sizes.positions, _matrices(down) if down else None
    )


def plan_down(wish: PlanWish, manifest: Manifest) -> str | None:
    """Precision of the down projections that a plan is to have; None is none of their own."""
    same = plan_precision(wish.precision, manifest) == plan_precision("auto", manifest)
    return wish.down or (manifest.provenance.down_precision if same else None)


def _matrices(precision: str) -> Precision:
    """How a plan of this precision stores its matrices: the other way of `TensorRtChoice.plan_word`."""
    return Precision(precision) if precision in {"int4", "int8", "fp8"} else Precision.FP32


def _usual_form(version: tuple[int, ...]) -> AttentionForm:
    """In place where TensorRT and, to verify it, ONNX Runtime can."""
    form = AttentionForm.IN_PLACE
    return form if version >= FIRST_VERSIONS[form] and runs_in_onnxruntime(form) else AttentionForm.ROWS


def find_checkpoint(wish: PlanWish, manifest: Manifest) -> Path:
    """The checkpoint a bundle was made from: the named one, or a directory of its name beside the bundle.

    The bundle's own bytes will not do: TensorRT wants tables, and may be asked for precisions, that the bundle has not.
    Raises `BuildError` where there is none, or it is another's.
    """
    name = manifest.provenance.checkpoint
    place = wish.checkpoint or wish.bundle.resolve().parent / name
    if not (place / "config.json").is_file():
        said = (
            f"{place} is no checkpoint" if wish.checkpoint else f"'{name}', which {wish.bundle} was made from, is not"
        )
        where = "" if wish.checkpoint else f" at {place}"
        raise BuildError(
            f"engines are built from the official checkpoint, and {said}{where}; name it with --checkpoint DIR, or"
            " link it to that place"
        )
    theirs = TensorFile(place / "model.safetensors").read(CODEC_EMBEDDING)
    ours = TensorFile(wish.bundle / manifest.graphs.weights).read(Tables.CODEC_EMBEDDING)
    if not np.array_equal(theirs, ours):
        raise BuildError(
            f"{place} is not the checkpoint that {wish.bundle} was made from (their codec embeddings differ); name the"
            " right one with --checkpoint DIR, or export the bundle again"
        )
    return place


def workspace_bytes(gpu: Gpu, weights_bytes: int) -> int:
    """Memory the builder may try kernels with: half of what is free beside the weights, twice, within bounds.

    Raises `BuildError` where the weights alone do not fit.
    """
    room = gpu.free_bytes - 2 * weights_bytes
    if gpu.free_bytes < weights_bytes + _LEAST_WORKSPACE_BYTES:
        raise BuildError(
            f"{gpu.name} has {gpu.free_bytes >> 20} MiB of memory free, the weights alone take {weights_bytes >> 20};"
            " end other programs that use the GPU, or take a lower precision (--precision)"
        )
    return min(max(room // 2, _LEAST_WORKSPACE_BYTES), _MOST_WORKSPACE_BYTES)
