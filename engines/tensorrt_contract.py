"""What the TensorRT stages need of TensorRT: engines with names, contexts with addresses, a place on a stream.

Purpose: keep the library behind one door, so that everything but the door runs where it is missing. Knows: shapes,
names, optimisation profiles as a plan tells them. Does not know: TensorRT, CUDA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from engines.cuda_api import Stream
from engines.errors import PlanError
from engines.plan_files import AGAIN, Plan
from engines.plan_set import PlanGraph, fitting_profile


class Context(Protocol):
    """One use of an engine: its own addresses and shapes. One thread at a time."""

    def bind(self, addresses: Mapping[str, int]) -> None:
        """Set the address of every tensor of the graph; names it does not have are left out.

        Raises `PlanError` for a tensor of the graph that is not named.
        """
        ...

    def resize(self, sizes: Mapping[str, int]) -> None:
        """Set the sizes of all open dimensions, within the profile the context was made for."""
        ...

    def enqueue(self, stream: Stream) -> None:
        """Put one run on the stream; it reads and writes memory when its turn comes. Raises `DeviceError`."""
        ...


class Engine(Protocol):
    """One loaded engine."""

    names: frozenset[str]
    """Of its inputs and outputs."""
    scratch_bytes: int
    """Memory a run needs beside its tensors."""

    def context(self, scratch: int, sizes: Mapping[str, int], stream: Stream) -> Context:
        """A context whose runs use the memory at `scratch`; `sizes` of the open dimensions, by name.

        Raises `PlanError` where no profile takes the sizes, `DeviceError` when the device cannot.
        """
        ...


class Loader(Protocol):
    """Where engines come from."""

    def load(self, plan: Plan, graph: PlanGraph) -> Engine:
        """One engine of a plan. Raises `PlanError`, `DeviceError`, `GpuError`."""
        ...


def profile_of(graph: PlanGraph, sizes: Mapping[str, int]) -> int:
    """The first optimisation profile that takes these sizes. Raises `PlanError` where there is none."""
    found = fitting_profile(graph, sizes)
    if found is None:
        raise PlanError(f"{graph.file} was not built for {dict(sizes)}; {AGAIN}")
    return found
