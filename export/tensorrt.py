"""All graphs of one voice for TensorRT: the set that a runtime builds engines from.

Purpose: say once what is chosen (attention form, shape of the frame, types, slots, rows of the cache), build the graphs
and their common payload, fix their dimensions, write them.
Knows: which graphs a set consists of. Does not know: TensorRT's library, devices, plans.

The payload is apart from the bundle's: TensorRT wants the integers in another layout (see `export.quantise`), narrow
products, and the predictor's heads and tables stacked. So it is made from the checkpoint when engines are built, and
need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from engines.plan_set import SLOTS
from export.attention_tensorrt import AttentionForm
from export.checkpoint import TensorFile, TensorSource
from export.codec_graph import CodecGraph
from export.config import CodecConfig, TalkerConfig, read_checkpoint_config
from export.errors import ExportError
from export.frame_graph import FramePlan, build_frame_graph
from export.graph import GraphBuilder, save_model
from export.lowering import Precision
from export.lowering_tensorrt import OPSETS, TensorRtLowering
from export.payload import Payload
from export.probe_graph import build_probe_graph
from export.rounding import Rounder
from export.stepped_graph import build_prefill_graph, build_step_graph, build_talker_graph

WEIGHTS: Final = "weights.safetensors"


class FrameShape(str, Enum):
    """How a frame is cut into graphs; which is faster only the hardware can tell."""

    UNROLLED = "unrolled"
    """One graph: the talker and all passes of the predictor."""
    STEPPED = "stepped"
    """The talker's graph, then the predictor's run once per residual code (`engines.step_names`)."""


class Role(str, Enum):
    """What a graph of a set is for."""

    PREFILL = "prefill"
    """Rows of one slot's prompt into its cache; S is left open. All others run one slot or more, and leave B open."""
    FRAME = "frame"
    TALKER = "talker"
    STEP = "step"
    """S is left open: 2 rows in a frame's first run, 1 in the others."""
    CODEC = "codec"
    """T is left open."""


FRAME_ROLES: Final = {FrameShape.UNROLLED: (Role.FRAME,), FrameShape.STEPPED: (Role.TALKER, Role.STEP)}


@dataclass(frozen=True, slots=True)
class TensorRtChoice:
    """What is chosen when engines are built."""

    form: AttentionForm = AttentionForm.IN_PLACE
    shape: FrameShape = FrameShape.UNROLLED
    dtype: npt.DTypeLike = np.float16
    """Of products, caches and codec states."""
    precision: Precision = Precision.INT4
    """Of the matrices of talker and predictor; heads, embeddings and the codec are as wide as `dtype`."""
    slots: int = 4
    positions: int = 1024
    """Rows of each slot's cache; all of them are read in every step."""
    down: Precision | None = None
    """Of the down projections, the most sensitive matrices, where it is to be another; FP32 is as wide as `dtype`."""

    def __post_init__(self) -> None:
        if self.slots not in SLOTS:
            raise ExportError(f"{self.slots} slots: TensorRT engines are built for one of {SLOTS}")
        if self.down is Precision.FP8:
            raise ExportError("down projections cannot be fp8: what they are given may exceed its range")

    @property
    def down_precision(self) -> Precision:
        """Of the down projections."""
        if self.down is not None:
            return self.down
        return Precision.FP32 if self.precision is Precision.FP8 else self.precision

    def plan_word(self, precision: Precision) -> str:
        """What plans call a precision of this choice's matrices: FP32 is as wide as `dtype`."""
        if precision is not Precision.FP32:
            return str(precision.value)
        return "fp32" if np.dtype(self.dtype) == np.float32 else "fp16"

    @property
    def rounds(self) -> bool:
        """Whether any matrix is so narrow that rounding has something to learn."""
        return Precision.INT4 in (self.precision, self.down_precision)


@dataclass(frozen=True, slots=True)
class TensorRtSource:
    """What the graphs are made from."""

    talker: TalkerConfig
    codec: CodecConfig
    model_file: TensorSource
    codec_file: TensorSource
    max_top_k: int
    max_positions: int


def read_source(checkpoint: Path, max_top_k: int, max_positions: int) -> TensorRtSource:
    """An official checkpoint's directory; `max_top_k` and `max_positions` as in the bundle made from it."""
    config = read_checkpoint_config(checkpoint)
    return TensorRtSource(
        talker=config.model.talker_config,
        codec=config.codec,
        model_file=TensorFile(checkpoint / "model.safetensors"),
        codec_file=TensorFile(checkpoint / "speech_tokenizer" / "model.safetensors"),
        max_top_k=max_top_k,
        max_positions=max_positions,
    )


@dataclass(slots=True)
class TensorRtGraphs:
    """The graphs of one choice, not yet written."""

    choice: TensorRtChoice
    rounder: Rounder | None = None
    payload: Payload = field(default_factory=Payload)
    graphs: dict[Role, GraphBuilder] = field(default_factory=dict)

    def model(self, role: Role) -> ModelProto:
        """One graph, its weights in `WEIGHTS`. B is left open where there is more than one slot (see `Role`)."""
        one_slot = {"B": 1} if role is Role.PREFILL or self.choice.slots == 1 else {}
        one_row = {"S": 1} if role in (Role.FRAME, Role.TALKER) else {}
        return fix_dimensions(self.graphs[role].model(WEIGHTS), one_slot | one_row)

    def write(self, folder: Path, advance: Callable[[int], None] = lambda _: None) -> None:
        """The graphs as `ROLE.onnx`, and the weights beside them; `advance` is told the bytes of each tensor."""
        self.payload.write(folder / WEIGHTS, advance)
        for role in self.graphs:
            save_model(self.model(role), folder / f"{role.value}.onnx")


def build_tensorrt(source: TensorRtSource, choice: TensorRtChoice, rounder: Rounder | None = None) -> TensorRtGraphs:
    """Build all graphs of a choice; weights are only read when the payload is written.

    `rounder`, where it has learnt of the voice (`export.quality_gate`), rounds the int4 matrices.
    """
    if not 1 <= choice.positions <= source.max_positions:
        raise ExportError(f"{choice.positions} rows of cache: the rotary tables reach from 1 to {source.max_positions}")
    made, plan = TensorRtGraphs(choice, rounder), _plan(source, choice)
    builders = {
        Role.PREFILL: build_prefill_graph,
        Role.FRAME: build_frame_graph,
        Role.TALKER: build_talker_graph,
        Role.STEP: build_step_graph,
    }
    for role in (Role.PREFILL, *FRAME_ROLES[choice.shape]):
        builders[role](*_begin(made, role), plan)
    graph, low = _begin(made, Role.CODEC)
    CodecGraph(graph, low, source.codec, source.codec_file).build()
    return made


def write_probe(
    source: TensorRtSource, choice: TensorRtChoice, rounder: Rounder | None, folder: Path, name: str
) -> None:
    """The measurement's graph (`export.probe_graph`) with weights as a set of this choice has them."""
    graph = GraphBuilder("probe", Payload(), OPSETS[choice.form])
    build_probe_graph(graph, TensorRtLowering(graph, choice.form, choice.dtype, rounder), _plan(source, choice))
    graph.payload.write(folder / WEIGHTS, lambda _: None)
    save_model(graph.model(WEIGHTS), folder / name)


def _plan(source: TensorRtSource, choice: TensorRtChoice) -> FramePlan:
    return FramePlan(
        config=source.talker, file=source.model_file, precision=choice.precision, head_precision=Precision.FP32,
        max_top_k=source.max_top_k, max_positions=source.max_positions, cache_rows=choice.positions,
        down_precision=choice.down_precision,
    )  # fmt: skip


def _begin(made: TensorRtGraphs, role: Role) -> tuple[GraphBuilder, TensorRtLowering]:
    form = made.choice.form
    graph = made.graphs[role] = GraphBuilder(role.value, made.payload, OPSETS[form])
    return graph, TensorRtLowering(graph, form, made.choice.dtype, made.rounder)


def fix_dimensions(model: ModelProto, sizes: Mapping[str, int]) -> ModelProto:
    """Put numbers in the place of named dimensions of inputs and outputs; changes and returns `model`."""
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in sizes:
                dimension.dim_value = sizes[dimension.dim_param]
    return model
