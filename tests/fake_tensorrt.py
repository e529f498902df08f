"""TensorRT's border without a GPU: engines run by ONNX Runtime on the memory of `FakeCuda`.

Purpose: load a set's ONNX files in the place of built engines, bind addresses, check shapes against the profiles, and
put each run on a stream, where it is done when the stream's order allows it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from engines.cuda_api import Stream
from engines.errors import PlanError
from engines.plan_files import Plan
from engines.plan_set import PlanGraph, open_shapes
from engines.tensorrt_contract import profile_of
from tests.fake_cuda import ALIGNMENT, FakeCuda
from tests.stream_races import Region

SCRATCH_BYTES = 512


class FakeLoader:
    """Loads a set's ONNX files in the place of built engines."""

    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda

    def load(self, plan: Plan, graph: PlanGraph) -> FakeEngine:
        return FakeEngine(self._cuda, plan.folder / graph.file, graph)


@lru_cache(maxsize=64)
def _session(path: Path, written_ns: int) -> Any:
    """Opened once for all engines of a graph, as long as nobody writes to its folder: a run leaves nothing in it."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class FakeEngine:
    """One graph in ONNX Runtime."""

    scratch_bytes = SCRATCH_BYTES

    def __init__(self, cuda: FakeCuda, path: Path, graph: PlanGraph) -> None:
        self.session = _session(path, max(file.stat().st_mtime_ns for file in path.parent.iterdir()))
        self.graph, self.cuda = graph, cuda
        self.inputs = {value.name: value for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]
        self.names = frozenset((*self.inputs, *self.outputs))

    def context(self, scratch: int, sizes: Mapping[str, int], stream: Stream) -> FakeContext:
        self.cuda.check(scratch, self.scratch_bytes)
        return FakeContext(self, scratch, profile_of(self.graph, sizes), sizes)


class FakeContext:
    """One use of a graph."""

    def __init__(self, engine: FakeEngine, scratch: int, profile: int, sizes: Mapping[str, int]) -> None:
        self._engine, self._scratch, self._profile = engine, scratch, profile
        self._addresses: dict[str, int] = {}
        self._shapes = {name: tuple(value.shape) for name, value in engine.inputs.items()}
        self.resize(sizes)

    def bind(self, addresses: Mapping[str, int]) -> None:
        assert self._engine.names <= addresses.keys(), self._engine.names - addresses.keys()
        self._addresses = {name: addresses[name] for name in self._engine.names}
        assert not any(address % ALIGNMENT for address in self._addresses.values()), "TensorRT takes none in between"

    def resize(self, sizes: Mapping[str, int]) -> None:
        if profile_of(self._engine.graph, sizes) != self._profile:
            raise PlanError("another profile than the context's")
        self._slots = sizes.get("B", 1)
        for name, shape in open_shapes(self._engine.graph.inputs, sizes).items():
            fixed = [(size, told) for size, told in zip(shape, self._engine.inputs[name].shape, strict=True)]
            assert all(size == told for size, told in fixed if isinstance(told, int)), name
            self._shapes[name] = shape

    def enqueue(self, stream: Stream) -> None:
        addresses, shapes = dict(self._addresses), dict(self._shapes)
        self._engine.cuda.put(stream, self._engine.graph.role, lambda: self._run(addresses, shapes), self._slots)

    def _run(self, addresses: dict[str, int], shapes: dict[str, tuple[int, ...]]) -> None:
        self._engine.cuda.touch(Region(self._scratch, self._engine.scratch_bytes), writes=True)
        given = {}
        for name, value in self._engine.inputs.items():
            given[name] = self._memory(addresses[name], shapes[name], _KINDS[value.type], writes=False).copy()
        for name, made in zip(self._engine.outputs, self._engine.session.run(None, given), strict=True):
            self._memory(addresses[name], made.shape, made.dtype, writes=True)[...] = made

    def _memory(self, address: int, shape: tuple[int, ...], kind: np.dtype[Any], *, writes: bool) -> npt.NDArray[Any]:
        size = prod(shape) * kind.itemsize
        assert address % 8 == 0
        self._engine.cuda.touch(Region(address, size), writes=writes)
        memory: npt.NDArray[Any] = np.ndarray(shape, kind, memoryview((ctypes.c_uint8 * size).from_address(address)))
        return memory


_KINDS: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(int64)": np.dtype(np.int64),
    "tensor(int32)": np.dtype(np.int32),
}
