"""Plans for tests: whole directories with short files in the place of engines."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from engines.plan_files import folder_name, write_plan_set
from engines.plan_set import PLAN_FORMAT, PlanFile, PlanGraph, PlanKey, PlanRole, PlanSet, PlanSizes, Verification

KEY = PlanKey(bundle="b" * 64, tensorrt="10.15.1.29", device="Orin", architecture="sm_87", precision="int4")
SIZES = PlanSizes(slots=4, positions=1024, prefill_rows=64, codec_chunk_frames=25)
GOOD = Verification(
    reference="ONNX Runtime 1.31", frames=8, agreement=1.0, least_agreement=0.9, logits_error=0.0,
    most_logits_error=0.01, pcm_error=0.0, most_pcm_error=0.01,
)  # fmt: skip
UNROLLED: tuple[PlanRole, ...] = ("prefill", "frame", "codec")
STEPPED: tuple[PlanRole, ...] = ("prefill", "talker", "step", "codec")


def write_plan(cache: Path, *, key: PlanKey = KEY, sizes: PlanSizes = SIZES, **other: Any) -> Path:
    """A plan that can be read; `other` replaces fields of `plan.json`. Returns its folder."""
    folder = cache / folder_name(key, sizes)
    folder.mkdir(parents=True)
    stepped = other.get("frame") == "stepped"
    roles = STEPPED if stepped else UNROLLED
    graphs = tuple(_graph(folder, role, sizes) for role in roles)
    plan = PlanSet(
        format_version=PLAN_FORMAT, key=key, sizes=sizes, attention="in_place", frame="unrolled", dtype="float16",
        down_precision="int8",
        graphs=graphs, tables=_file(folder, "tables.safetensors") if stepped else None, voice="default",
        created="2026-11-20T12:00:00Z", build_s=60.0, verification=GOOD,
    )  # fmt: skip
    write_plan_set(folder, msgspec.structs.replace(plan, **other))
    return folder


def _graph(folder: Path, role: PlanRole, sizes: PlanSizes) -> PlanGraph:
    file = _file(folder, f"{role}.engine")
    return PlanGraph(
        role=role, inputs={"codes": (sizes.slots, "T", 16)}, profiles=({"T": (1, 4, 25)},), file=file.file,
        bytes=file.bytes, sha256=file.sha256,
    )  # fmt: skip


def _file(folder: Path, name: str) -> PlanFile:
    content = f"the bytes of {name}".encode()
    (folder / name).write_bytes(content)
    return PlanFile(file=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
