"""Graphs run by ONNX Runtime on the processor.

Purpose: load an ONNX file whose weights lie in a file beside it, and run it on memory bound once. Knows: ONNX Runtime's
sessions, bindings and options. Does not know: what the graphs compute, bundles, slots.

ONNX Runtime lets the interpreter lock go while it runs, so the talker's and the codec's threads overlap. Its worker
threads do not spin between runs (the other thread needs the core); with one thread per session there are none. Memory
patterns are off: they are kept per input shape, and prompts have many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from engines.errors import BundleError, DeviceError
from engines.runner import Place, Tensor

_SMALLER = "memory has run out: end other programs, or take a voice exported with --precision int8 or int4"
_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register

Providers = Sequence[str | tuple[str, dict[str, str]]]


class OrtBinding:
    """Tensors bound to one session; see `engines.runner.Binding`."""

    def __init__(
        self, session: ort.InferenceSession, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
    ) -> None:
        self._session = session
        self._memory = (*inputs.values(), *outputs.values())
        self._binding = session.io_binding()
        for name, tensor in inputs.items():
            self._binding.bind_input(name, "cpu", 0, tensor.dtype, tensor.shape, tensor.address)
        for name, tensor in outputs.items():
            self._binding.bind_output(name, "cpu", 0, tensor.dtype, tensor.shape, tensor.address)

    def run(self) -> None:
        """Run once, synchronously."""
        run_bound(self._session, self._binding)


class OrtRunner:
    """One graph in one session on the processor; see `engines.runner.Runner`."""

    def __init__(self, graph: Path, threads: int = 1, *, spinning: bool = False) -> None:
        """Load `graph`, to be run by `threads` threads (the caller's is one of them).

        `spinning` lets idle worker threads burn their core for a little less latency. Raises `BundleError` when the
        file cannot be loaded.
        """
        self._session = open_session(graph, ["CPUExecutionProvider"], threads, spinning=spinning)
        self._names = GraphNames(graph.name, self._session)

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike, place: Place) -> Tensor:
        """Zeroed, aligned host memory; on the processor both places are the host."""
        return host_tensor(shape, dtype)

    def clear(self, tensor: Tensor) -> None:
        """Fill with zeros."""
        tensor.host.fill(0)

    def bind(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> OrtBinding:
        """Tie tensors to names; every input must be given. Raises `BundleError` naming what does not match."""
        self._names.check(inputs, outputs)
        return OrtBinding(self._session, inputs, outputs)

    def close(self) -> None:
        """Drop the session; its memory goes with the last binding."""
        del self._session


class GraphNames:
    """The names one graph has."""

    def __init__(self, graph: str, session: ort.InferenceSession) -> None:
        self._graph = graph
        self._inputs = frozenset(value.name for value in session.get_inputs())
        self._outputs = frozenset(value.name for value in session.get_outputs())

    def check(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]) -> None:
        """Raise `BundleError` naming what does not match; every input must be given."""
        if missing := self._inputs - inputs.keys():
            raise BundleError(f"{self._graph} wants inputs this program does not know: {', '.join(sorted(missing))}")
        if unknown := (inputs.keys() - self._inputs) | (outputs.keys() - self._outputs):
            raise BundleError(f"{self._graph} lacks {', '.join(sorted(unknown))}; export the bundle again")


def open_session(
    graph: Path | bytes, providers: Providers, threads: int = 1, *, spinning: bool = False
) -> ort.InferenceSession:
    """A session of a graph's file (or bytes) on the first of `providers` that works.

    Raises `BundleError` when the graph cannot be loaded.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return ort.InferenceSession(source, options, providers=list(providers))
    except Exception as error:  # the binding's exception classes share no public base
        name = "a graph of this program" if isinstance(graph, bytes) else graph
        remedy = _SMALLER if "bad_alloc" in str(error) else "export the bundle again"
        raise BundleError(f"{name} cannot be loaded: {error}; {remedy}") from error


def run_bound(session: ort.InferenceSession, binding: ort.IOBinding) -> None:
    """Run once and wait for the end. Raises `DeviceError`."""
    try:
        session.run_with_iobinding(binding)
    except Exception as error:
        raise DeviceError(f"ONNX Runtime failed: {error}") from error


def host_tensor(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Tensor:
    """Zeroed, aligned memory of the host, all of it there: the kernel gives none page by page while someone listens."""
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    raw = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    raw.fill(0)
    offset = -raw.ctypes.data % _ALIGNMENT
    array: npt.NDArray[Any] = raw[offset : offset + size].view(kind).reshape(shape)
    return Tensor(shape, kind, array.ctypes.data, raw, array)
