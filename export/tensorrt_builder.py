"""TensorRT's builder: from one ONNX graph to one engine. The only module that imports TensorRT to build with it.

Purpose: be as thin as it can be, since it can be tested for real on a GPU only: everything that can be decided
elsewhere is. Written to the part of the API that TensorRT 10.3 to 11.2 have in common; types stand in the graphs, no
precision flag is touched, nothing is refitted or streamed.
Knows: TensorRT's Python API. Does not know: what the graphs compute, files but those it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, SupportsInt

import numpy as np
import tensorrt as trt

from engines.errors import SpeechError
from engines.plan_set import PlanGraph, fitting_profile, open_sizes
from export.build_door import EngineOrder, Gpu, Shapes, Values
from export.cuda_device import DeviceMemory, first_gpu
from export.errors import BuildError, StoppedError
from export.plan_progress import Phases
from export.tensorrt_trouble import NO_GPU, why_failed

_KEPT_ERRORS: Final = 20
_ECHO: Final = "catchCudaError"
"""Where CUDA has failed, TensorRT says so again and again without saying why."""
_RUNTIMES: Final = list[Any]()
"""Never let go."""
_KINDS: Final = {"FLOAT": np.float32, "HALF": np.float16, "INT32": np.int32, "INT64": np.int64}
"""What inputs and outputs of our graphs are, by TensorRT's names."""


class Errors(trt.ILogger):
    """Keeps what TensorRT complains of, for the error that follows; the rest is dropped."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.kept: list[str] = []

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        """Called by TensorRT, from any of its threads."""
        if severity in {trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR}:
            if self.kept and _ECHO in msg:
                return
            self.kept = [*self.kept, msg][-_KEPT_ERRORS:]

    def forget(self) -> None:
        """Something else begins."""
        self.kept = []


ERRORS: Final = Errors()
"""The only one, never let go: TensorRT keeps the first logger that a process shows it and ignores every other."""


class Monitor(trt.IProgressMonitor):
    """Tells how far the builder is, and stops it. Nothing may be raised in here: TensorRT calls it as `noexcept`."""

    def __init__(self, advance: Callable[[float], bool]) -> None:
        trt.IProgressMonitor.__init__(self)
        self._advance, self._phases = advance, Phases()
        self.stopped = False

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: SupportsInt) -> None:
        """A phase begins."""
        self._phases.start(phase_name, parent_phase, int(num_steps))

    def step_complete(self, phase_name: str, step: SupportsInt) -> bool:
        """A step is done; returns whether to go on."""
        try:
            going_on = self._advance(self._phases.step(phase_name, int(step)))
        except Exception:
            going_on = False
        self.stopped = self.stopped or not going_on
        return going_on

    def phase_finish(self, phase_name: str) -> None:
        """A phase is over."""
        self._phases.finish(phase_name)


class TensorRtBuilder:
    """See `export.build_door.EngineBuilder`."""

    version: str = trt.__version__

    def gpu(self) -> Gpu:
        """The GPU that CUDA calls number 0. Raises `BuildError`."""
        return first_gpu()

    def build(self, order: EngineOrder, advance: Callable[[float], bool]) -> None:
        """Build one engine and write it. Raises `BuildError`, `StoppedError`."""
        ERRORS.forget()
        monitor = Monitor(advance)
        try:
            builder = trt.Builder(ERRORS)
        except TypeError as error:  # the factory gave null
            raise BuildError(NO_GPU) from error
        network, parser = self._parse(builder, order)
        config = self._configure(builder, order, monitor)
        made = builder.build_serialized_network(network, config)
        del parser  # it holds weights that the network points to
        if made is None:
            if monitor.stopped:
                raise StoppedError
            raise BuildError(why_failed(f'the engine "{order.name}"', ERRORS.kept))
        order.target.write_bytes(_content(made))
        self._keep_timings(config, order.timing_file)

    def open(self, engine: Path, graph: PlanGraph) -> BuiltSession:
        """A built engine, ready to run. Raises `BuildError`."""
        try:
            return BuiltSession(engine, graph)
        except SpeechError as error:
            raise BuildError(f'the engine "{engine.stem}" was built but cannot be tried: {error}') from error

    def _parse(self, builder: trt.Builder, order: EngineOrder) -> tuple[trt.INetworkDefinition, trt.OnnxParser]:
        network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        parser = trt.OnnxParser(network, ERRORS)
        if not parser.parse_from_file(str(order.graph)):
            told = [parser.get_error(index) for index in range(parser.num_errors)]
            said = [f"{error.node_name()}: {error.desc()}" for error in told] or ERRORS.kept
            raise BuildError(why_failed(f'the graph "{order.name}" (TensorRT {self.version} refuses it)', said[:1]))
        return network, parser

    def _configure(self, builder: trt.Builder, order: EngineOrder, monitor: Monitor) -> trt.IBuilderConfig:
        config = builder.create_builder_config()
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, order.workspace_bytes)
        if order.exact:
            config.clear_flag(trt.BuilderFlag.TF32)
        config.progress_monitor = monitor
        for shapes in order.profiles:
            if config.add_optimization_profile(self._profile(builder, shapes)) < 0:
                raise _refused(f'the engine "{order.name}"', "it does not take a profile")
        self._use_timings(config, order.timing_file)
        return config

    def _profile(self, builder: trt.Builder, shapes: dict[str, Shapes]) -> trt.IOptimizationProfile:
        profile = builder.create_optimization_profile()
        for name, (least, usual, most) in shapes.items():
            try:
                profile.set_shape(name, *(trt.Dims(list(shape)) for shape in (least, usual, most)))
            except (RuntimeError, ValueError) as error:  # its documentation says the second, its source the first
                raise _refused(f"an engine that takes {name} in sizes of {least} to {most}", error) from error
        return profile

    def _use_timings(self, config: trt.IBuilderConfig, file: Path) -> None:
        """Timings of earlier builds; those of another device or library, or damaged, are refused, and begun anew."""
        known = config.create_timing_cache(file.read_bytes() if file.is_file() else b"")
        if known is None or not config.set_timing_cache(known, False):
            config.set_timing_cache(config.create_timing_cache(b""), False)

    def _keep_timings(self, config: trt.IBuilderConfig, file: Path) -> None:
        aside = file.with_name(f".{file.name}")
        aside.write_bytes(_content(config.get_timing_cache().serialize()))
        aside.replace(file)


def _refused(what: str, otherwise: object = "it did not say why") -> BuildError:
    """Why TensorRT did not do something: what it complained of, `otherwise` where it logged nothing."""
    return BuildError(why_failed(what, ERRORS.kept or [str(otherwise)]))


def _content(memory: Any) -> memoryview:
    """TensorRT's memory as bytes; its types do not say that it can be read so."""
    return memoryview(memory)


class BuiltSession:
    """One engine with a stream and memory of its own; every run brings its values over and back. For verification."""

    def __init__(self, engine: Path, graph: PlanGraph) -> None:
        ERRORS.forget()
        self._graph, self._profile = graph, 0
        self._memory = DeviceMemory()
        self._name = engine.stem
        self._what = f'"{self._name}", which was built but does not run'
        _RUNTIMES.append(trt.Runtime(ERRORS))  # must outlive the engine
        if ERRORS.kept:  # it holds nothing then: to call it, or to let it go, would end the process
            self._memory.close()
            raise _refused(f'"{self._name}", which was built but cannot be loaded')
        built = _RUNTIMES[-1].deserialize_cuda_engine(engine.read_bytes())
        context = built.create_execution_context() if built is not None else None
        if context is None:
            self._memory.close()
            raise _refused(f'"{self._name}", which was built but cannot be loaded')
        self._engine, self._context = built, context
        names = [self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors)]
        self._inputs = [name for name in names if self._engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self._outputs = [name for name in names if name not in self._inputs]

    def run(self, values: Values) -> Values:
        """All outputs by name. Raises `BuildError`."""
        ERRORS.forget()
        try:
            return self._run(values)
        except SpeechError as error:
            raise BuildError(f'the engine "{self._name}" was built but does not run: {error}') from error

    def _run(self, values: Values) -> Values:
        arrays = {name: np.ascontiguousarray(values[name]) for name in self._inputs}
        self._choose({name: array.shape for name, array in arrays.items()})
        for name, array in arrays.items():
            self._check(self._context.set_input_shape(name, array.shape))
            self._check(self._context.set_tensor_address(name, self._memory.upload(name, array)))
        made = {}
        for name in self._outputs:
            shape = self._context.get_tensor_shape(name)
            kind = _KINDS[self._engine.get_tensor_dtype(name).name]
            made[name] = np.empty([shape[axis] for axis in range(len(shape))], kind)
            place = self._memory.room(self._place(name), made[name].nbytes)
            self._check(self._context.set_tensor_address(name, place))
        self._check(self._context.execute_async_v3(self._memory.stream))
        for name, array in made.items():
            self._memory.download(self._place(name), array)
        return made

    def _choose(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """The profile that the runtime would choose, or where none fits the last one, for TensorRT to say so."""
        profile = fitting_profile(self._graph, open_sizes(self._graph.inputs, shapes))
        if profile is None:
            profile = len(self._graph.profiles) - 1
        if profile == self._profile:
            return
        try:
            self._context.set_optimization_profile_async(profile, self._memory.stream)
        except RuntimeError as error:  # it never returns that it failed
            raise _refused(self._what, error) from error
        self._profile = profile

    def _check(self, done: bool) -> None:
        """Raise `BuildError` where TensorRT says that it did not do what it was told."""
        if not done:
            raise _refused(self._what)

    def close(self) -> None:
        """Let go of the device's memory."""
        del self._context, self._engine
        self._memory.close()

    def _place(self, output: str) -> str:
        """Whose memory an output is written to: its own, or that of the input it updates in place."""
        if not hasattr(self._engine, "get_aliased_input_tensor"):  # TensorRT before 10.15 updates nothing in place
            return output
        return self._engine.get_aliased_input_tensor(output) or output
