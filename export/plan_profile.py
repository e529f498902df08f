"""Optimisation profiles: between which sizes an engine's open dimensions may lie.

Purpose: from a graph and the sizes of a plan to what TensorRT is told. Knows: the names of open dimensions (B slots, S
rows, T frames), which roles have them. Does not know: TensorRT.
"""

from __future__ import annotations

from typing import Final

from onnx import ModelProto

from engines.plan_set import OpenInputs, PlanSizes, Range, open_shapes
from export.build_door import Shapes
from export.tensorrt import Role

USUAL_CODEC_FRAMES: Final = 4
"""What the codec's kernels are chosen for; listeners get blocks of 1 to the most."""


def open_ranges(role: Role, sizes: PlanSizes) -> tuple[dict[str, Range], ...]:
    """The ranges of the open dimensions of a role's graph, by name, one for each profile; none where none is open.

    What is run again and again has a profile of just its size: a lone listener, the predictor's one row, a single
    frame. Whoever has company shares the kernels that suit all slots.
    """
    slots, rows, frames = sizes.slots, sizes.prefill_rows, sizes.codec_chunk_frames
    if role is Role.PREFILL:
        return ({"S": (1, rows, rows)},)
    lone, company = {"B": (1, 1, 1)}, {"B": (2, slots, slots)}
    by_slots = [lone, company] if slots > 1 else [{}]
    by_length: dict[Role, list[dict[str, Range]]] = {
        Role.STEP: [{"S": (1, 1, 1)}, {"S": (2, 2, 2)}],
        Role.CODEC: [{"T": (1, 1, 1)}, {"T": (1, min(USUAL_CODEC_FRAMES, frames), frames)}],
    }
    both = (one | other for one in by_slots for other in by_length.get(role, [{}]))
    return tuple(ranges for ranges in both if ranges)


def open_inputs(model: ModelProto) -> OpenInputs:
    """The shapes of the inputs with named dimensions, by name."""
    shapes = {
        value.name: tuple(dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in model.graph.input
    }
    return {name: shape for name, shape in shapes.items() if any(isinstance(size, str) for size in shape)}


def profile_shapes(inputs: OpenInputs, profiles: tuple[dict[str, Range], ...]) -> tuple[dict[str, Shapes], ...]:
    """For each profile the least, usual and largest shape of every open input, as TensorRT wants them."""
    told = []
    for ranges in profiles:
        least, usual, most = (
            open_shapes(inputs, {name: sizes[which] for name, sizes in ranges.items()}) for which in range(3)
        )
        told.append({name: (least[name], usual[name], most[name]) for name in inputs})
    return tuple(told)
