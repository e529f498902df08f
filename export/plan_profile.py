"""Optimisation profiles: between which shapes an engine's open dimensions may lie.

Purpose: from a graph and the sizes of a plan to the shapes TensorRT is told. Knows: the names of open dimensions, which
roles have them. Does not know: TensorRT.
"""

from __future__ import annotations

from typing import Final

from onnx import ModelProto

from engines.plan_files import Shapes
from export.tensorrt import Role

USUAL_CODEC_FRAMES: Final = 4
"""What the codec's kernels are chosen for; listeners get blocks of 1 to the most."""
Range = tuple[int, int, int]
"""Least, usual, most."""


def open_sizes(role: Role, prefill_rows: int, codec_frames: int) -> dict[str, Range]:
    """The range of each open dimension of a role's graph, by its name: S rows, T frames."""
    if role is Role.STEP:
        return {"S": (1, 1, 2)}
    return {"S": (1, prefill_rows, prefill_rows), "T": (1, min(USUAL_CODEC_FRAMES, codec_frames), codec_frames)}


def open_shapes(model: ModelProto, sizes: dict[str, Range]) -> dict[str, Shapes]:
    """Least, usual and largest shape of every input of a graph that has a named dimension of `sizes`."""
    shapes: dict[str, Shapes] = {}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if any(dim.dim_param for dim in dims):
            least, usual, most = (
                tuple(sizes[dim.dim_param][which] if dim.dim_param else dim.dim_value for dim in dims)
                for which in range(3)
            )
            shapes[value.name] = (least, usual, most)
    return shapes
