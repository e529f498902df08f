"""The door to whoever builds engines: what is ordered, what comes back.

Purpose: name what a build needs of TensorRT and of the GPU, so that everything else can be tested without either.
Knows: orders. Does not know: TensorRT, CUDA.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from engines.plan_set import PlanGraph

Values = dict[str, npt.NDArray[Any]]
Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Least, usual and largest shape of one input."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """The device engines are built on and for."""

    name: str
    architecture: str
    """As `PlanKey.architecture`."""
    free_bytes: int

    @property
    def capability(self) -> int:
        """The architecture's number: 87 for "sm_87"."""
        return int(self.architecture.removeprefix("sm_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOrder:
    """One engine to build."""

    name: str
    graph: Path
    """ONNX file; its weights lie beside it."""
    target: Path
    profiles: tuple[dict[str, Shapes], ...]
    workspace_bytes: int
    exact: bool
    """Whether float32 products must not be shortened (TF32)."""
    timing_file: Path
    """Read where it is there, and written."""


class Session(Protocol):
    """One graph or engine, ready to run."""

    def run(self, values: Values) -> Values:
        """All outputs by name; takes more values than the graph reads."""
        ...


class BuiltEngine(Session, Protocol):
    """An engine that can be run."""

    def close(self) -> None:
        """Let its memory go."""
        ...


class EngineBuilder(Protocol):
    """TensorRT on this machine; `export.tensorrt_builder` is the real one."""

    version: str

    def gpu(self) -> Gpu:
        """The device. Raises `BuildError` where there is none."""
        ...

    def build(self, order: EngineOrder, advance: Callable[[float], bool]) -> None:
        """Build one engine and write it; `advance` is told the share done, from any thread, and answers whether to go
        on. Raises `BuildError`, `StoppedError`."""
        ...

    def open(self, engine: Path, graph: PlanGraph) -> BuiltEngine:
        """Load an engine that was built as `graph` says. Raises `BuildError`."""
        ...
