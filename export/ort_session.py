"""Graphs run by ONNX Runtime on the CPU, to measure and to verify by.

Purpose: one graph as a call from values to values; which graphs this ONNX Runtime can run. Knows: ONNX Runtime's
options and opsets. Does not know: what the graphs compute.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import onnxruntime as ort

from export.attention_tensorrt import AttentionForm
from export.build_door import Values
from export.lowering_tensorrt import OPSETS

LARGEST_OPSET: Final = 23 if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 24) else 24
"""That this ONNX Runtime runs; 1.23, the last for Python 3.10, ends before the in-place form's."""
_MOST_THREADS: Final = 12
"""Of one session. A verification has four, and all of them must find room in what a service may start."""


def runs_in_onnxruntime(form: AttentionForm) -> bool:
    """Whether graphs of this form can be run here, to measure or to verify."""
    return OPSETS[form] <= LARGEST_OPSET


class OrtSession:
    """One graph; see `export.build_door.Session`."""

    def __init__(self, path: Path, threads: int = 0, *, literally: bool = False, sparing: bool = False) -> None:
        """`threads`: 0 takes what `_threads` says. `literally`: node by node; otherwise products of quantised
        matrices are fused into kernels of ONNX Runtime's own, which narrow more than the graph says. `sparing`: without
        the arena, which takes room by powers of two and gives none back."""
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or _threads()
        options.enable_cpu_mem_arena = not sparing
        if literally:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session: Any = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._inputs = {value.name for value in self._session.get_inputs()}
        self.outputs: dict[str, list[int | str]] = {value.name: value.shape for value in self._session.get_outputs()}
        """The shape of every output, by name."""

    def run(self, values: Values, names: list[str] | None = None) -> Values:
        """Outputs by name, all or those named. Takes more than the graph reads."""
        read = {name: value for name, value in values.items() if name in self._inputs}
        names = names or list(self.outputs)
        return dict(zip(names, self._session.run(names, read), strict=True))


def _threads() -> int:
    """How many a session takes; told no number, ONNX Runtime takes one for each core of the machine.

    Of all its cores, also of those that a container may not use, with a complaint for each. And where a thread cannot
    be had (a service's TasksMax), it waits for it for ever.
    """
    return min(len(os.sched_getaffinity(0)), _MOST_THREADS)
