"""TensorRT as a test wishes it: builds at once, and what was built is run by ONNX Runtime.

Purpose: stand in for `export.tensorrt_builder` at its door. Knows: the door. Does not know: what an engine is; a built
one is the name of its graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from engines.plan_set import PlanGraph, fitting_profile, open_sizes
from export.build_door import EngineOrder, Gpu, Values
from export.errors import BuildError, StoppedError
from export.ort_session import OrtSession
from export.tensorrt_trouble import why_failed

ORIN = Gpu(name="Orin", architecture="sm_87", free_bytes=6 << 30)


@dataclass
class FakeBuilder:
    """See `export.build_door.EngineBuilder`."""

    version: str = "10.3.0"
    device: Gpu | BuildError = ORIN
    fail_at: str = ""
    """Engine whose build fails, with `complaints`."""
    complaints: tuple[str, ...] = ("[graph.cpp] no kernel",)
    raising: Exception | None = None
    """Raised in the place of a build's end."""
    wrong_by: float = 0.0
    """Added to every float the engines give."""
    orders: list[EngineOrder] = field(default_factory=list)
    closed: int = 0

    def gpu(self) -> Gpu:
        if isinstance(self.device, BuildError):
            raise self.device
        return self.device

    def build(self, order: EngineOrder, advance: Callable[[float], bool]) -> None:
        self.orders.append(order)
        order.target.write_text(str(order.graph))
        for done in (0.25, 0.5, 1.0):
            if not advance(done):
                raise StoppedError
        if self.raising is not None:
            raise self.raising
        if order.name == self.fail_at:
            raise BuildError(why_failed(f'the engine "{order.name}"', self.complaints))
        order.timing_file.write_bytes(b"timings")

    def open(self, engine: Path, graph: PlanGraph) -> FakeEngine:
        return FakeEngine(self, Path(engine.read_text()), graph)


class FakeEngine:
    """A graph run by ONNX Runtime, in the sizes that it was built for."""

    def __init__(self, builder: FakeBuilder, path: Path, graph: PlanGraph) -> None:
        self._builder, self._session, self._graph = builder, OrtSession(path, 1, literally=True), graph

    def run(self, values: Values) -> Values:
        sizes = open_sizes(self._graph.inputs, {name: array.shape for name, array in values.items()})
        if fitting_profile(self._graph, sizes) is None:
            raise BuildError(f"no profile of {self._graph.role} takes {sizes}")
        made = self._session.run(values)
        if self._builder.wrong_by:
            for name, array in made.items():
                if array.dtype.kind == "f":
                    made[name] = (array + self._builder.wrong_by).astype(array.dtype)
        return made

    def close(self) -> None:
        self._builder.closed += 1
