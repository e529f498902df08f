"""The border to TensorRT's runtime, at a stand-in for the library: what is refused, and what it is told."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from engines.cuda_api import Stream
from engines.errors import DeviceError, DeviceLostError, GpuError, PlanError
from engines.plan_files import Plan
from engines.plan_set import PlanGraph
from engines.tensorrt_contract import Engine, Loader

GRAPH = PlanGraph(
    file="talker.engine", bytes=0, sha256="", role="talker", inputs={"x": ("B", 3), "cache": ("B", 8)},
    profiles=({"B": (1, 1, 1)}, {"B": (2, 4, 4)}),
)  # fmt: skip
PLACES = {"x": 100, "cache": 200, "next_cache": 200, "y": 300, "of another graph": 400}


class Context:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.profile, self.scratch, self.streams = 0, (0, 0), list[int]()
        self.works, self.refuses, self.takes = True, False, True

    def set_device_memory(self, address: int, size: int) -> None:
        self.scratch = (address, size)

    def set_optimization_profile_async(self, index: int, stream: int) -> bool:
        if self.refuses:
            raise RuntimeError("Error in set optimization profile async.")
        self.profile = index
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self.shapes[name] = shape
        return True

    def set_tensor_address(self, name: str, place: int) -> bool:
        self.places[name] = place
        return self.takes

    def execute_async_v3(self, stream: int) -> bool:
        self.streams.append(stream)
        return self.works


class OldBuilt:
    """Before 10.15: nothing is updated in place."""

    names = ("x", "cache", "next_cache", "y")
    device_memory_size_v2 = 64
    place = "DEVICE"
    refuses = False

    def __init__(self) -> None:
        self.contexts: list[Context] = []

    @property
    def num_io_tensors(self) -> int:
        return len(self.names)

    def get_tensor_name(self, index: int) -> str:
        return self.names[index]

    def get_tensor_location(self, name: str) -> str:
        return self.place

    def get_tensor_mode(self, name: str) -> str:
        return "OUTPUT" if name in {"next_cache", "y"} else "INPUT"

    def create_execution_context(self, strategy: str) -> Context:
        assert strategy == "USER_MANAGED"
        self.contexts.append(Context())
        self.contexts[-1].refuses = self.refuses
        return self.contexts[-1]


class Built(OldBuilt):
    """Its cache is updated in place."""

    def get_aliased_input_tensor(self, name: str) -> str | None:
        return "cache" if name == "next_cache" else None


class Library(types.ModuleType):
    """`tensorrt`, as far as the runtime uses it."""

    __version__ = "10.15.1.29"

    def __init__(self) -> None:
        super().__init__("tensorrt")
        severities = types.SimpleNamespace(ERROR=1, INTERNAL_ERROR=0, WARNING=2)
        self.ILogger = type(
            "ILogger", (), {"Severity": severities, "__init__": lambda self: setattr(self, "made", True)}
        )
        self.ICudaEngine = self.IExecutionContext = object
        self.TensorLocation = types.SimpleNamespace(DEVICE="DEVICE")
        self.TensorIOMode = types.SimpleNamespace(OUTPUT="OUTPUT")
        self.ExecutionContextAllocationStrategy = types.SimpleNamespace(USER_MANAGED="USER_MANAGED")
        self.engine: OldBuilt | None = Built()
        self.complaint, self.consequence = "", ""
        self.dead = ""
        """What the runtime complains of when it is made; then there is nothing in it."""
        self.loggers: list[Any] = []
        self.Runtime = self._runtime

    def _runtime(self, logger: Any) -> Any:
        assert logger.made, "TensorRT's own part of it; without that it takes none"
        self.loggers.append(logger)
        if self.dead:
            logger.log(0, self.dead)
            return types.SimpleNamespace(deserialize_cuda_engine=_segmentation_fault)

        def deserialize(content: bytes) -> OldBuilt | None:
            if self.complaint:
                self.loggers[0].log(1, self.complaint)  # the first is kept, all others are ignored
                self.loggers[0].log(1, self.consequence)
            return self.engine

        return types.SimpleNamespace(deserialize_cuda_engine=deserialize)


def _segmentation_fault(_content: bytes) -> None:
    pytest.fail("the real one would have ended the process")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    fake = Library()
    monkeypatch.setitem(sys.modules, "tensorrt", fake)
    sys.modules.pop("engines.tensorrt_engine", None)
    yield fake
    sys.modules.pop("engines.tensorrt_engine", None)


class Folder:
    """A plan whose files need not be there."""

    folder = Path("/plans/a")

    def read(self, file: PlanGraph) -> bytes:
        return b"built"


def load() -> Engine:
    loader: Loader = importlib.import_module("engines.tensorrt_engine").TensorRtLoader()
    return loader.load(cast("Plan", Folder()), GRAPH)


def test_a_context_is_told_its_profile_shapes_and_addresses(library: Library) -> None:
    engine = load()
    assert engine.names == {"x", "cache", "next_cache", "y"}
    assert isinstance(library.engine, Built)
    context = engine.context(5, {"B": 3}, Stream(7))
    context.bind(PLACES)
    made = library.engine.contexts[0]
    assert (made.profile, made.scratch) == (1, (5, engine.scratch_bytes))
    assert made.shapes == {"x": (3, 3), "cache": (3, 8)}
    assert made.places == {name: PLACES[name] for name in engine.names}
    context.resize({"B": 2})
    assert made.shapes["x"] == (2, 3)
    context.enqueue(Stream(7))
    assert made.streams == [7]
    made.works = False
    with pytest.raises(DeviceLostError, match="cannot run talker"):
        context.enqueue(Stream(7))
    with pytest.raises(PlanError, match="was not built for"):
        engine.context(5, {"B": 5}, Stream(7))


def test_a_run_that_fails_says_what_was_complained_of_last_but_echoes(library: Library) -> None:
    context = load().context(5, {"B": 1}, Stream(7))
    assert library.engine is not None
    library.engine.contexts[0].works = False
    for message in ("shapes were odd", "an illegal memory access", "[catchCudaError] Cuda Runtime"):
        library.loggers[0].log(1, message)
    with pytest.raises(DeviceLostError, match=r"cannot run talker.engine: an illegal memory access$"):
        context.enqueue(Stream(7))


def test_an_address_that_is_not_taken_is_not_run_with(library: Library) -> None:
    context = load().context(5, {"B": 1}, Stream(7))
    assert library.engine is not None
    library.engine.contexts[0].takes = False
    with pytest.raises(DeviceError, match=r"refuses an address for .* of talker\.engine"):
        context.bind(PLACES)


def test_addresses_that_are_missing_are_refused(library: Library) -> None:
    with pytest.raises(PlanError, match="does not know: cache, next_cache, y"):
        load().context(5, {"B": 1}, Stream(7)).bind({"x": 100})


@pytest.mark.parametrize(
    ("built", "next_cache", "why"),
    [
        (Built, 200, None),
        (Built, 500, "write next_cache over cache"),
        (OldBuilt, 500, None),
        (OldBuilt, 200, "write next_cache apart from what it reads"),
        (OldBuilt, 100, "write next_cache apart from what it reads"),
    ],
)
def test_what_is_updated_in_place_is_what_the_engine_was_built_to(
    library: Library, built: type[OldBuilt], next_cache: int, why: str | None
) -> None:
    library.engine = built()
    context = load().context(5, {"B": 1}, Stream(7))
    if why is None:
        context.bind(PLACES | {"next_cache": next_cache})
        return
    with pytest.raises(PlanError, match=why):
        context.bind(PLACES | {"next_cache": next_cache})


def test_what_does_not_load_says_why(library: Library) -> None:
    library.engine, library.complaint = None, "made by another version"
    with pytest.raises(PlanError, match=r"cannot load .*made by another version"):
        load()
    library.complaint, library.consequence = "out of memory", "[catchCudaError] Cuda Runtime (In catchCudaError)"
    with pytest.raises(DeviceError, match=r"does not fit the device \(out of memory\)"):
        load()
    library.complaint = "an illegal memory access was encountered"
    with pytest.raises(PlanError, match=r"cannot load .*illegal memory access"):
        load()
    library.complaint = "expecting library version 10.15"
    with pytest.raises(PlanError, match=r"cannot load .*expecting library version"):
        load()
    library.complaint = ""
    with pytest.raises(PlanError, match="no reason given"):
        load()
    library.engine, library.complaint = Built(), ""
    library.engine.place = "HOST"
    with pytest.raises(PlanError, match="in the host's memory"):
        load()
    assert len(library.loggers) == 1, "all voices share one runtime and one logger"


def test_a_runtime_without_a_gpu_is_not_touched(library: Library) -> None:
    """TensorRT logs that it could make none, and gives an object."""
    library.dead = "CUDA initialization failure with error: 2"
    with pytest.raises(GpuError, match=r"TensorRT 10.15.1.29 cannot use the GPU \(CUDA initialization .* 2\)"):
        load()
    library.dead = ""
    load()


@pytest.mark.parametrize("severity", [2, 3, 4])
def test_what_is_no_complaint_stops_nothing(library: Library, severity: int) -> None:
    """A warning or less, such as that the driver is newer."""
    runtime = library.Runtime

    def talkative(logger: Any) -> Any:
        logger.log(severity, "CUDA lazy loading is not enabled")
        return runtime(logger)

    library.Runtime = talkative
    load()


def test_a_profile_that_is_refused_is_the_devices_fault(library: Library) -> None:
    assert library.engine is not None
    library.engine.refuses = True
    engine = load()
    engine.context(5, {"B": 1}, Stream(7))
    with pytest.raises(DeviceError, match=r"choose profile 1 of talker.engine \(Error in set optimization profile"):
        engine.context(5, {"B": 2}, Stream(7))
