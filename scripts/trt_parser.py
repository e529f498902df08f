"""The command behind `scripts/trt_parse`: what TensorRT's real parser says of our graphs.

Purpose: write each set of graphs to a scratch folder, parse every graph into a strongly typed network, and print a
table and one JSON line. Knows: TensorRT's parser. Does not know: engines, devices; a parsed graph is not a built one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import ModelProto, TensorProto

from export.attention_tensorrt import FIRST_VERSIONS, AttentionForm
from export.lowering import Precision
from export.tensorrt import (
    WEIGHTS,
    FrameShape,
    Role,
    TensorRtChoice,
    TensorRtGraphs,
    TensorRtSource,
    build_tensorrt,
    read_source,
)
from export.tensorrt_rules import faults_of
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec
from tests.true_shapes import HIDDEN, true_source

SIZES: Final = ("tiny", *HIDDEN)
TELLING: Final = ("KV_CACHE_UPDATE", "ROTARY_EMBEDDING", "DEQUANTIZE", "QUANTIZE")
HEADS: Final = ("size", "form", "shape", "role", "dtype", "prec", "slots", "nodes", "layers", "in", "out", "MB", "s",
                "told")  # fmt: skip
COLUMNS: Final = "{:5} {:8} {:8} {:7} {:9} {:5} {:8} {:>6} {:>6} {:>4} {:>4} {:>7} {:>5} {}"


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What came of one graph."""

    size: str
    form: str
    shape: str
    dtype: str
    role: str
    precision: str
    slots: int
    nodes: int
    layers: int
    inputs: int
    outputs: int
    megabytes: float
    seconds: float
    told: str
    """Layers worth counting, or the parser's error."""
    ok: bool


def bindings() -> Any:
    """TensorRT's Python module, or a clear end."""
    for name in ("tensorrt", "tensorrt_bindings"):
        try:
            return importlib.import_module(name)
        except ImportError as error:
            reason = error
    sys.exit(f"trt_parse: TensorRT cannot be imported ({reason}); see the head of scripts/trt_parse")


def parse(trt: Any, path: Path, model: ModelProto) -> tuple[bool, int, str]:
    """Whether the parser took the graph, into how many layers, and which of them tell something (or its errors).

    A network whose inputs and outputs are not those of `model`, by name, type and shape, counts as refused.
    """
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(str(path)):
        errors = [parser.get_error(index) for index in range(parser.num_errors)]
        return False, network.num_layers, "; ".join(f"{error.node_name()}: {error.desc()}" for error in errors[:3])
    wrong = differences(trt, network, model)
    if wrong:
        return False, network.num_layers, "; ".join(wrong[:3])
    kinds = Counter(network.get_layer(index).type.name for index in range(network.num_layers))
    return True, network.num_layers, " ".join(f"{kind}={kinds[kind]}" for kind in TELLING if kinds[kind])


def differences(trt: Any, network: Any, model: ModelProto) -> list[str]:
    """What TensorRT makes of the inputs and outputs where that is not what the graph declares."""
    kinds = {
        trt.float32: TensorProto.FLOAT, trt.float16: TensorProto.FLOAT16, trt.int32: TensorProto.INT32,
        trt.int64: TensorProto.INT64,
    }  # fmt: skip
    tensors = [network.get_input(index) for index in range(network.num_inputs)]
    tensors += [network.get_output(index) for index in range(network.num_outputs)]
    found = {tensor.name: (kinds.get(tensor.dtype), list(tensor.shape)) for tensor in tensors}
    wrong = []
    for value in (*model.graph.input, *model.graph.output):
        kind, dims = value.type.tensor_type.elem_type, value.type.tensor_type.shape.dim
        shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in dims]
        got_kind, got_shape = found.get(value.name, (None, []))
        fits = len(shape) == len(got_shape) and all(
            -1 in pair or pair[0] == pair[1] for pair in zip(shape, got_shape, strict=True)
        )
        if got_kind != kind or not fits:
            wrong.append(f"{value.name}: declared {kind} {shape}, TensorRT has {got_kind} {got_shape}")
    return wrong


def write_imagined(graphs: TensorRtGraphs, folder: Path) -> None:
    """The graphs with a sparse file of zeros for weights; scales are ones, since the parser looks at them."""
    with (folder / WEIGHTS).open("wb") as file:
        spans = graphs.payload.spans()
        file.truncate(max(start + length for start, length in spans.values()))
        for name, (start, _) in spans.items():
            if name.endswith(".scale"):
                entry = graphs.payload[name]
                file.seek(start)
                file.write(np.ones(entry.shape, entry.dtype).tobytes())
    for role in graphs.graphs:
        (folder / f"{role.value}.onnx").write_bytes(graphs.model(role).SerializeToString())


def choices(options: argparse.Namespace) -> Iterator[tuple[str, TensorRtChoice]]:
    """All asked for combinations; wide products only unquantised, as the reference."""
    for size, form, shape, slots in product(options.sizes, AttentionForm, FrameShape, options.slots):
        for precision in options.precisions:
            yield size, TensorRtChoice(form, shape, np.float16, Precision(precision), slots)
        if options.wide:
            yield size, TensorRtChoice(form, shape, np.float32, Precision.FP32, slots)


def source(size: str, scratch: Path) -> TensorRtSource:
    """Tiny graphs come from a real checkpoint, those of a released size from shapes alone."""
    if size in HIDDEN:
        return true_source(size)
    if size != "tiny":
        return read_source(Path(size), 64, 4096)
    checkpoint = scratch / "tiny"
    return read_source(checkpoint if checkpoint.exists() else write_checkpoint(TinySpec(), checkpoint), 64, 1024)


def run(trt: Any, size: str, choice: TensorRtChoice, scratch: Path) -> Iterator[Parsed]:
    """Parse every graph of one choice."""
    graphs = build_tensorrt(source(size, scratch), choice)
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = Path(name)
        if size in HIDDEN:
            write_imagined(graphs, folder)
        else:
            graphs.write(folder)
        for role in graphs.graphs:
            if role is Role.CODEC and choice.precision is not Precision.FP32:
                continue  # the codec is never quantised
            model = graphs.model(role)
            faults = faults_of(model, FIRST_VERSIONS[choice.form])
            began = time.perf_counter()
            taken, layers, told = parse(trt, folder / f"{role.value}.onnx", model)
            yield Parsed(
                size=Path(size).name, form=choice.form.value, shape=choice.shape.value, role=role.value,
                dtype=np.dtype(choice.dtype).name, precision=choice.precision.value, slots=choice.slots,
                nodes=len(model.graph.node), layers=layers, inputs=len(model.graph.input),
                outputs=len(model.graph.output), megabytes=round(graphs.payload.nbytes / 1e6, 1),
                seconds=round(time.perf_counter() - began, 2), told="; ".join([told, *faults[:3]]),
                ok=taken and not faults,
            )  # fmt: skip


def main() -> int:
    """Parse, print, judge."""
    parser = argparse.ArgumentParser(prog="scripts/trt_parse", description="Feed our graphs to TensorRT's own parser.")
    kinds = [precision.value for precision in Precision]
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=SIZES,
        metavar="SIZE",
        help=f"any of {', '.join(SIZES)}, or checkpoint directories",
    )
    parser.add_argument("--precisions", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--slots", nargs="+", type=int, choices=(1, 2, 4, 8), default=[4])
    parser.add_argument("--wide", action="store_true", help="float32 products too (8 GB of zeros at 1.7B)")
    options = parser.parse_args()
    trt = bindings()
    print(f"TensorRT {trt.__version__}, strongly typed; sizes in MB are the whole set's weights")
    print(COLUMNS.format(*HEADS))
    everything = []
    with tempfile.TemporaryDirectory() as scratch:
        for size, choice in choices(options):
            for one in run(trt, size, choice, Path(scratch)):
                everything.append(one)
                row = (one.size, one.form, one.shape, one.role, one.dtype, one.precision, one.slots, one.nodes,
                       one.layers, one.inputs, one.outputs, one.megabytes, one.seconds, one.told)  # fmt: skip
                print(COLUMNS.format(*row) + ("" if one.ok else "  REFUSED"), flush=True)
    bad = [one for one in everything if not one.ok]
    summary = {"tensorrt": trt.__version__, "graphs": len(everything), "refused": [asdict(one) for one in bad]}
    print(json.dumps(summary))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
