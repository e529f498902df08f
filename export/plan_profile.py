"""Optimisation profiles: between which shapes an engine's open dimensions may lie.

Purpose: from a graph and the sizes of a plan to the shapes TensorRT is told. Knows: the names of open dimensions, which
roles have them. Does not know: TensorRT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from onnx import ModelProto

from engines.plan_files import Shapes
from export.tensorrt import Role

USUAL_CODEC_FRAMES: Final = 4
"""What the codec's kernels are chosen for; listeners get blocks of 1 to the most."""
Range = tuple[int, int, int]
"""Least, usual, most."""


def open_ranges(role: Role, prefill_rows: int, codec_frames: int) -> tuple[dict[str, Range], ...]:
    """The ranges of the open dimensions of a role's graph (S rows, T frames), by name, one for each profile.

    What is run again and again has a profile of just its shape: the predictor's one row, a listener's single frame.
    """
    if role is Role.STEP:
        return {"S": (1, 1, 1)}, {"S": (2, 2, 2)}
    if role is Role.CODEC:
        return {"T": (1, 1, 1)}, {"T": (1, min(USUAL_CODEC_FRAMES, codec_frames), codec_frames)}
    return ({"S": (1, prefill_rows, prefill_rows)},)


def open_profiles(model: ModelProto, ranges: tuple[dict[str, Range], ...]) -> tuple[dict[str, Shapes], ...]:
    """For each of `ranges` the least, usual and largest shape of every input with a named dimension; none without."""
    return tuple(shapes for shapes in (_open_shapes(model, sizes) for sizes in ranges) if shapes)


def which_profile(profiles: tuple[dict[str, Shapes], ...], shapes: Mapping[str, tuple[int, ...]]) -> int:
    """The first profile that takes these inputs; the last one where none does, for TensorRT to say so."""
    for index, profile in enumerate(profiles):
        if all(
            low <= size <= high
            for name, (least, _, most) in profile.items()
            for low, size, high in zip(least, shapes[name], most, strict=True)
        ):
            return index
    return max(len(profiles) - 1, 0)


def _open_shapes(model: ModelProto, sizes: dict[str, Range]) -> dict[str, Shapes]:
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
