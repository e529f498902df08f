"""Sets of graphs for TensorRT as plans, unbuilt: the ONNX files lie where the engines would.

Purpose: what a build would write beside them. Knows: the inputs with open dimensions. Does not know: TensorRT.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np
from safetensors.numpy import load_file, save_file

from engines.manifest import Manifest
from engines.plan_files import Plan, write_plan_set
from engines.plan_set import PLAN_FORMAT, PlanFile, PlanGraph, PlanKey, PlanSet, PlanSizes
from engines.step_names import StepTables
from export.plan_profile import open_inputs, open_ranges
from export.tensorrt import WEIGHTS, FrameShape, TensorRtChoice, TensorRtSource, build_tensorrt

KEY = PlanKey(bundle="b", tensorrt="11.0.0", device="Fake", architecture="sm_00", precision="fp32")


def write_plan(
    source: TensorRtSource, choice: TensorRtChoice, manifest: Manifest, folder: Path, codec_frames: int, rows: int
) -> Plan:
    """Build the graphs of a choice into `folder` and say of them what a plan says; `rows` of a prompt's piece."""
    graphs = build_tensorrt(source, choice)
    graphs.write(folder)
    sizes = PlanSizes(
        slots=choice.slots, positions=choice.positions, prefill_rows=rows, codec_chunk_frames=codec_frames
    )
    files = []
    for role in graphs.graphs:
        file = _about(folder, f"{role.value}.onnx")
        files.append(
            PlanGraph(
                file=file.file,
                bytes=file.bytes,
                sha256=file.sha256,
                role=role.value,
                inputs=open_inputs(graphs.model(role)),
                profiles=open_ranges(role, sizes),
            )
        )
    plan = PlanSet(
        format_version=PLAN_FORMAT,
        key=msgspec.structs.replace(KEY, precision=choice.precision.value),
        sizes=sizes,
        attention=choice.form.value,
        frame=choice.shape.value,
        dtype="float16" if np.dtype(choice.dtype) == np.float16 else "float32",
        down_precision=choice.down_precision.value,
        graphs=tuple(files),
        tables=_write_tables(folder) if choice.shape is FrameShape.STEPPED else None,
        voice="tiny",
        created="2026-01-01T00:00:00Z",
        build_s=0.0,
        verification=None,
    )
    write_plan_set(folder, plan)
    return Plan(folder, plan)


def _write_tables(folder: Path) -> PlanFile:
    weights = load_file(folder / WEIGHTS)
    save_file({name: weights[name] for name in (StepTables.HEADS, StepTables.EMBEDDINGS)}, folder / "tables")
    return _about(folder, "tables")


def _about(folder: Path, name: str) -> PlanFile:
    content = (folder / name).read_bytes()
    return PlanFile(file=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
