"""What of the engine builder can be tried with TensorRT's real libraries but without a GPU: all but the building.

Purpose: run `export.tensorrt_builder` on graphs of every role and form: network, parser, profile, builder
configuration, timing cache and progress monitor are TensorRT's own. The build itself must fail, since kernels cannot be
tried: 11.2 refuses it at once, 10.15 optimises the network first and tells its progress. Prints one JSON line. Started
by `tests/test_tensorrt_builder.py` in a Python of its own, as `scripts/trt_parse` is. Knows: the builder's private
steps. Does not know: what a built engine does.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

try:
    import tensorrt as trt
except ImportError:  # wheels of the bare bindings call it otherwise
    trt = sys.modules["tensorrt"] = importlib.import_module("tensorrt_bindings")

from engines.plan_set import PlanSizes
from export.attention_tensorrt import AttentionForm
from export.build_door import EngineOrder, Shapes
from export.errors import BuildError, StoppedError
from export.lowering import Precision
from export.plan_profile import open_inputs, open_ranges, profile_shapes
from export.tensorrt import FrameShape, TensorRtChoice, build_tensorrt, read_source
from export.tensorrt_builder import ERRORS, Monitor, TensorRtBuilder
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec


def try_graph(builder: TensorRtBuilder, order: EngineOrder) -> dict[str, Any]:
    """Everything up to the build, step by step, with TensorRT's own objects."""
    made = trt.Builder(ERRORS)
    network, _parser = builder._parse(made, order)
    config = builder._configure(made, order, Monitor(lambda _: True))
    found = {"layers": network.num_layers, "profiles": config.num_optimization_profiles, "tf32": tf32(config)}
    found["workspace_mib"] = config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) >> 20
    told = {profile_of(made, builder, network, shapes) for shapes in order.profiles or ({},)}
    found["profile"] = ", ".join(sorted(told))
    builder._keep_timings(config, order.timing_file)
    found["timing_bytes"] = order.timing_file.stat().st_size
    return found


def try_build(builder: TensorRtBuilder, order: EngineOrder) -> dict[str, Any]:
    """A build that must fail, and one that is stopped at its first word."""
    shares: list[float] = []

    def advance(share: float) -> bool:
        shares.append(share)
        return True

    found: dict[str, Any] = {}
    try:
        builder.build(order, advance)
    except BuildError as error:
        found["refusal"] = str(error)
    found |= {"words": len(shares), "grows": shares == sorted(shares), "most": max(shares, default=0.0)}
    try:
        builder.build(order, lambda _: False)
    except (BuildError, StoppedError) as error:
        found["stopped"] = isinstance(error, StoppedError)
    return found


def tf32(config: Any) -> bool:
    """Whether float32 products may be shortened."""
    return bool(config.get_flag(trt.BuilderFlag.TF32))


def profile_of(made: Any, builder: TensorRtBuilder, network: Any, shapes: dict[str, Shapes]) -> str:
    """Whether the profile says something for every open input, and TensorRT finds it whole."""
    inputs = [network.get_input(index) for index in range(network.num_inputs)]
    opened = {tensor.name for tensor in inputs if -1 in tuple(tensor.shape)}
    if opened != set(shapes):
        return f"open inputs are {sorted(opened)}, the profile names {sorted(shapes)}"
    profile = builder._profile(made, shapes)
    for name, wanted in shapes.items():
        if [tuple(shape) for shape in profile.get_shape(name)] != [tuple(shape) for shape in wanted]:
            return f"{name} came back otherwise"
    return "whole" if not shapes or profile.__bool__() else "not whole"


def main() -> int:
    """Try every role of both shapes, in both forms."""
    builder = TensorRtBuilder()
    told: dict[str, Any] = {"tensorrt": builder.version, "graphs": []}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        sizes = PlanSizes(slots=2, positions=64, prefill_rows=16, codec_chunk_frames=25)
        source = read_source(write_checkpoint(TinySpec(), place / "tiny"), 64, 4096)
        for form in AttentionForm:
            for shape in FrameShape:
                folder = place / f"{form.value}-{shape.value}"
                folder.mkdir()
                choice = TensorRtChoice(form, shape, np.float16, Precision.INT4, sizes.slots, sizes.positions)
                graphs = build_tensorrt(source, choice)
                graphs.write(folder)
                for role in graphs.graphs:
                    order = EngineOrder(
                        name=role.value, graph=folder / f"{role.value}.onnx", target=folder / f"{role.value}.engine",
                        profiles=profile_shapes(open_inputs(graphs.model(role)), open_ranges(role, sizes)),
                        workspace_bytes=256 << 20, exact=shape is FrameShape.STEPPED, timing_file=place / "timing",
                    )  # fmt: skip
                    found = try_graph(builder, order) | try_build(builder, order)
                    told["graphs"].append({"form": form.value, "shape": shape.value, "role": role.value, **found})
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
