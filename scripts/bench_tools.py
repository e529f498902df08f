"""What the benches share: the default voice, a graph's bytes, the machine, tables, the closing line, plain faults."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

from engines.errors import SpeechError
from engines.manifest import Manifest

ROOT: Final = Path(__file__).resolve().parents[1]
DEFAULT_BUNDLE: Final = ROOT / "engines/voices/default/bundle"
DEFAULT_CHECKPOINT: Final = ROOT / "engines/voices/default/checkpoint"
STREAMED: Final = ("MatMul", "MatMulNBits")  # operators that read their whole weight at every run

Value = float | int | str | None


def run(main: Callable[[], None]) -> None:
    """All of a bench: a wrong bundle, a full disk and Ctrl-C end it in one line."""
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (SpeechError, OSError) as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def frame_bytes(bundle: Path, manifest: Manifest, context_rows: int) -> int:
    """Bytes one frame must read: every weight once per use, and the cache of `context_rows` rows."""
    graph = onnx.load(bundle / manifest.graphs.frame, load_external_data=False).graph
    sizes = {
        tensor.name: int(next(entry.value for entry in tensor.external_data if entry.key == "length"))
        for tensor in graph.initializer
        if tensor.external_data
    }
    weights = sum(sizes.get(name, 0) for node in graph.node if node.op_type in STREAMED for name in node.input)
    stack = manifest.talker
    cache = 2 * stack.layers * stack.kv_heads * stack.head_dim * np.dtype(np.float32).itemsize * context_rows
    return weights + cache


def machine() -> dict[str, Value]:
    """What the figures were measured on."""
    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    load, _, _ = os.getloadavg()
    return {"cpu": name, "python": platform.python_version(), "load_1min": round(load, 2)}


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
    """Print a table for people."""
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        table.add_row(*map(_cell, row))
    Console(width=160).print(table)


def _cell(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "-" if value is None else str(value)


def close(record: dict[str, object]) -> None:
    """Print the record for machines: one JSON line, the last."""
    print(json.dumps(record))
