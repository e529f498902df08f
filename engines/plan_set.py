"""What is written of a plan: the records of `plan.json`, and the numbers of slots that plans and their runs have.

Knows: names, sizes, what may be so. Does not know: where plans lie, which one serves, TensorRT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from engines.errors import PlanError
from engines.manifest import with_down
from engines.records import Record

PLAN_FORMAT: Final = 3
"""Raised whenever graphs of the same names come to compute something else: plans made before are stale then."""
SLOTS: Final = (1, 2, 4, 8)
"""Slots that plans are built for, and that one run can have: then the first ones of the plan."""
PRECISIONS: Final = ("int4", "int8", "fp8", "fp16", "fp32")

PlanRole = Literal["prefill", "frame", "talker", "step", "codec"]
"""What an engine is for. A plan has "prefill", "codec", and "frame" (unrolled) or "talker" and "step" (stepped)."""
OpenInputs = dict[str, tuple[int | str, ...]]
Range = tuple[int, int, int]
"""Least, usual and largest size of an open dimension."""


class PlanKey(Record, frozen=True, kw_only=True):
    """What a plan was built for; all of it must be so where it is loaded."""

    bundle: str
    """`bundle_hash` of the voice."""
    tensorrt: str
    """Version of the library in full, such as "10.15.1.29"."""
    device: str
    """Name of the GPU, such as "NVIDIA GeForce RTX 4090" or "Orin"."""
    architecture: str
    """Its compute capability, such as "sm_87"."""
    precision: str
    """Of talker and predictor, one of `PRECISIONS`: quantised matrices and fp16 products, or fp16 or fp32 for all."""


class PlanSizes(Record, frozen=True, kw_only=True):
    """How much a plan holds; it serves wishes up to that."""

    slots: int
    """Most utterances of one run of the frame's graphs and of the codec ("prefill" has one)."""
    positions: int
    """Rows of each slot's cache."""
    prefill_rows: int
    """Most rows of one piece of a prompt."""
    codec_chunk_frames: int
    """Most frames of one codec call."""

    def within(self, positions: int) -> PlanSizes:
        """These sizes for a model of so many positions at most; no piece of a prompt is longer than its cache."""
        fitting = min(self.positions, positions)
        return msgspec.structs.replace(self, positions=fitting, prefill_rows=min(self.prefill_rows, fitting))


class PlanFile(Record, frozen=True, kw_only=True):
    """One file of a plan."""

    file: str
    """Its name in the plan's directory."""
    bytes: int
    sha256: str


class PlanGraph(PlanFile, frozen=True, kw_only=True):
    """One built engine."""

    role: PlanRole
    inputs: OpenInputs
    """Shapes of the inputs with open dimensions, which are named: B slots, S rows, T frames."""
    profiles: tuple[dict[str, Range], ...]
    """By optimisation profile, in TensorRT's order: the open dimensions, by name; empty where none is open."""


class Verification(Record, frozen=True, kw_only=True):
    """What the built engines did on a short probe, teacher forced, against ONNX Runtime on the CPU."""

    reference: str
    """What ran the reference."""
    frames: int
    agreement: float
    """Share of codes that are the same, 0 to 1."""
    least_agreement: float
    """The gate."""
    logits_error: float
    """Root mean square of the difference of the talker's logits over that of the logits."""
    most_logits_error: float
    """The gate."""
    pcm_error: float
    """Root mean square of the difference of the codec's sound over that of the sound."""
    most_pcm_error: float
    """The gate."""

    @property
    def passed(self) -> bool:
        """Whether the plan may serve."""
        return (
            self.agreement >= self.least_agreement
            and self.logits_error <= self.most_logits_error
            and self.pcm_error <= self.most_pcm_error
        )


class PlanSet(Record, frozen=True, kw_only=True):
    """`plan.json`."""

    format_version: int
    key: PlanKey
    sizes: PlanSizes
    attention: Literal["in_place", "rows"]
    """How engines write the caches: in place (an output is the input's memory), or new rows come out, to be copied."""
    frame: Literal["unrolled", "stepped"]
    """One engine a frame, or the talker's and the predictor's, run once per residual code (`engines.step_names`)."""
    dtype: Literal["float16", "float32"]
    """Of products, caches, codec states and `tables`."""
    down_precision: str
    """Of the down projections, one of `PRECISIONS`, as the key's is that of the other matrices."""
    graphs: tuple[PlanGraph, ...]
    tables: PlanFile | None
    """Safetensors file with `StepTables`, for the stepped frame."""
    voice: str
    """Name of the bundle's directory, for people."""
    created: str
    """UTC, ISO 8601."""
    build_s: float
    verification: Verification | None
    """None where the build was told not to verify."""

    @property
    def files(self) -> tuple[PlanFile, ...]:
        """All files but `plan.json`."""
        return (*self.graphs, self.tables) if self.tables else self.graphs

    @property
    def stored(self) -> str:
        """How the matrices are stored, for people."""
        return with_down(self.key.precision, self.down_precision)

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(file.bytes for file in self.files)

    def graph(self, role: PlanRole) -> PlanGraph:
        """The engine of a role. Raises `KeyError` where the plan has none."""
        for graph in self.graphs:
            if graph.role == role:
                return graph
        raise KeyError(role)


def plan_slots(wanted: int) -> int:
    """The least number of slots, of those that plans and their runs can have, that holds `wanted`.

    A lone listener's run has one. Raises `PlanError` beyond the largest.
    """
    for slots in SLOTS:
        if slots >= wanted:
            return slots
    raise PlanError(f"{wanted} slots: TensorRT plans hold at most {SLOTS[-1]}; lower the number of slots")


def buckets(slots: int) -> tuple[int, ...]:
    """All numbers of slots, ascending, that runs of so many slots or fewer have (`plan_slots`)."""
    return tuple(size for size in SLOTS if size <= plan_slots(slots))


def fitting_profile(graph: PlanGraph, sizes: Mapping[str, int]) -> int | None:
    """The first optimisation profile of an engine that takes open dimensions of these sizes; None where none does."""
    for index, profile in enumerate(graph.profiles):
        if all(low <= sizes[name] <= high for name, (low, _, high) in profile.items()):
            return index
    return None if graph.profiles else 0


def open_sizes(inputs: OpenInputs, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The sizes of the open dimensions where inputs have these shapes: the other way of `open_shapes`."""
    return {
        name: size
        for told, shape in inputs.items()
        for name, size in zip(shape, shapes[told], strict=True)
        if isinstance(name, str)
    }


def open_shapes(inputs: OpenInputs, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs whose open dimensions have these sizes."""
    return {
        name: tuple(size if isinstance(size, int) else sizes[size] for size in shape) for name, shape in inputs.items()
    }
