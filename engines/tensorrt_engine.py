"""The border to TensorRT: built engines, loaded and put on a stream.

Purpose: one engine of a plan as names with addresses. Knows: TensorRT's Python runtime, the part of it that is the same
from 10.3 to 11. Does not know: what the graphs compute, where the memory comes from. Tests put another one in its
place, which runs the same graphs on the processor.

All execution contexts on one stream may share their scratch memory, since they run one after the other; so it is theirs
who make the contexts, and TensorRT allocates nothing but the weights and its own small state.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import tensorrt as trt

from engines.cuda_api import Stream
from engines.errors import DeviceError, DeviceLostError, GpuError, PlanError
from engines.plan_files import AGAIN, Plan
from engines.plan_set import PlanGraph, open_shapes
from engines.tensorrt_contract import Context, Engine, profile_of

_log = logging.getLogger(__name__)


class _Logger(trt.ILogger):  # type: ignore[misc, unused-ignore]  # untyped where TensorRT has no stubs
    """TensorRT's messages to Python's logging; complaints are kept for the error that follows."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.forget()

    def forget(self) -> None:
        """Something else begins."""
        self.first = self.last = ""
        self.no_room = False

    def log(self, severity: Any, message: str) -> None:
        if severity in {trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR}:
            self.first = self.first or message
            if not self.last or _ECHO not in message:
                self.last = message
            said = message.lower()
            self.no_room = self.no_room or ("memory" in said and "illegal" not in said)  # an access is none of size
            _log.error("TensorRT: %s", message)
        elif severity == trt.ILogger.Severity.WARNING:
            _log.warning("TensorRT: %s", message)


_ECHO: Final = "catchCudaError"
"""Where CUDA has failed, TensorRT says so again and again without saying why."""
_LOGGER: Final = _Logger()
"""The only one, never let go: TensorRT keeps the first that a process shows it and ignores every other."""
_RUNTIMES: Final = list[Any]()
"""Never let go either."""


@cache
def _runtime() -> trt.Runtime:
    """Of all engines of the process. Raises `GpuError` where TensorRT cannot use CUDA."""
    _LOGGER.forget()
    runtime = trt.Runtime(_LOGGER)
    _RUNTIMES.append(runtime)
    if _LOGGER.first:  # what was made holds nothing: to call it, or to let it go, would end the process
        raise GpuError(f"TensorRT {trt.__version__} cannot use the GPU ({_LOGGER.first})")
    return runtime


class TensorRtLoader:
    """Loads engines; all of one process share a runtime."""

    def load(self, plan: Plan, graph: PlanGraph) -> Engine:
        """One engine of a plan. Raises `PlanError` when TensorRT refuses it, `DeviceError` when it does not fit."""
        runtime = _runtime()
        _LOGGER.forget()
        engine = runtime.deserialize_cuda_engine(plan.read(graph))
        if engine is None:
            reason = _LOGGER.first or "no reason given"
            if _LOGGER.no_room:
                raise DeviceError(f"{graph.file} does not fit the device ({reason}); give its memory free")
            raise PlanError(f"TensorRT {trt.__version__} cannot load {plan.folder / graph.file} ({reason}); {AGAIN}")
        return _LoadedEngine(engine, graph)


class _LoadedEngine:
    """See `engines.tensorrt_contract.Engine`."""

    def __init__(self, engine: trt.ICudaEngine, graph: PlanGraph) -> None:
        self._engine, self._graph = engine, graph
        self.names = frozenset(engine.get_tensor_name(index) for index in range(engine.num_io_tensors))
        self.scratch_bytes = int(engine.device_memory_size_v2)
        for name in self.names:
            if engine.get_tensor_location(name) != trt.TensorLocation.DEVICE:
                raise PlanError(f"{graph.file} wants {name} in the host's memory, which is not foreseen; {AGAIN}")
        outputs = [name for name in self.names if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT]
        self._updated: dict[str, str | None] = dict.fromkeys(outputs)
        if hasattr(engine, "get_aliased_input_tensor"):  # since 10.15
            self._updated = {name: engine.get_aliased_input_tensor(name) for name in outputs}

    def context(self, scratch: int, sizes: Mapping[str, int], stream: Stream) -> Context:
        _LOGGER.forget()
        made = self._engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
        if made is None:
            raise DeviceError(f"TensorRT cannot make a context of {self._graph.file} ({_LOGGER.first})")
        if self.scratch_bytes:
            made.set_device_memory(scratch, self.scratch_bytes)
        context = _LoadedContext(made, self.names, self._updated, self._graph)
        self._choose(profile_of(self._graph, sizes), made, stream)
        context.resize(sizes)
        return context

    def _choose(self, profile: int, context: trt.IExecutionContext, stream: Stream) -> None:
        """Any but the first, which is chosen already."""
        if not profile:
            return
        try:
            context.set_optimization_profile_async(profile, int(stream))
        except RuntimeError as error:  # it never returns that it failed
            reason = _LOGGER.last or error
            raise DeviceError(f"TensorRT cannot choose profile {profile} of {self._graph.file} ({reason})") from error


class _LoadedContext:
    """See `engines.tensorrt_contract.Context`."""

    def __init__(
        self, context: trt.IExecutionContext, names: frozenset[str], updated: Mapping[str, str | None],
        graph: PlanGraph,
    ) -> None:  # fmt: skip
        """`updated`: by output, the input that it is written over, if it is."""
        self._context, self._names, self._updated, self._graph = context, names, updated, graph

    def bind(self, addresses: Mapping[str, int]) -> None:
        if missing := self._names - addresses.keys():
            raise PlanError(f"{self._graph.file} has tensors this program does not know: {', '.join(sorted(missing))}")
        self._check_updates(addresses)
        for name in self._names:
            if not self._context.set_tensor_address(name, addresses[name]):
                raise DeviceError(f"TensorRT refuses an address for {name} of {self._graph.file} ({_LOGGER.last})")

    def _check_updates(self, addresses: Mapping[str, int]) -> None:
        """An output lies where an input does if the engine was built so, and only then."""
        inputs = {addresses[name] for name in self._names - self._updated.keys()}
        for output, source in self._updated.items():
            fits = addresses[output] == addresses[source] if source else addresses[output] not in inputs
            if not fits:
                wanted = f"over {source}" if source else "apart from what it reads"
                raise PlanError(f"{self._graph.file} was built to write {output} {wanted}; {AGAIN}")

    def resize(self, sizes: Mapping[str, int]) -> None:
        for name, shape in open_shapes(self._graph.inputs, sizes).items():
            if not self._context.set_input_shape(name, shape):
                raise PlanError(f"{self._graph.file} does not take {name} as {shape} ({_LOGGER.last}); {AGAIN}")

    def enqueue(self, stream: Stream) -> None:
        if not self._context.execute_async_v3(int(stream)):
            raise DeviceLostError(f"TensorRT cannot run {self._graph.file}: {_LOGGER.last or 'no reason given'}")
