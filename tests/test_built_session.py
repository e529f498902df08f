"""Running a built engine for its verification: addresses, shapes and copies, at stand-ins for TensorRT and CUDA."""

from __future__ import annotations

import ctypes
import importlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines.errors import DeviceLostError, GpuError
from engines.plan_set import PlanGraph
from export import cuda_device
from export.errors import BuildError

GRAPH = PlanGraph(
    file="talker.engine", bytes=5, sha256="", role="talker", inputs={"x": ("B",)},
    profiles=({"B": (1, 1, 1)}, {"B": (2, 3, 9)}),
)  # fmt: skip
NAMES = {"x": "INPUT", "cache": "INPUT", "y": "OUTPUT", "next_cache": "OUTPUT", "z": "OUTPUT"}
KINDS = {"x": "FLOAT", "y": "FLOAT", "z": "FLOAT", "cache": "HALF", "next_cache": "HALF"}


class HostCuda:
    """CUDA's border on memory of the host."""

    device = types.SimpleNamespace(name="Orin", architecture="sm_87", memory_bytes=8 << 30)
    broken = False
    closed = 0

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def stream(self, *, urgent: bool) -> int:
        return 7

    def free_bytes(self) -> int:
        return 6 << 30

    def allocate(self, size_bytes: int) -> int:
        self._kept.append(ctypes.create_string_buffer(size_bytes))
        return ctypes.addressof(self._kept[-1])

    def upload(self, to: int, source: int, size_bytes: int) -> None:
        ctypes.memmove(to, source, size_bytes)

    def download(self, to: int, source: int, size_bytes: int) -> None:
        if HostCuda.broken:
            raise DeviceLostError("CUDA failed in cudaMemcpy")
        ctypes.memmove(to, source, size_bytes)

    def close(self) -> None:
        HostCuda.closed += 1


class Context:
    """y = 2 x, z = 3 x; the cache's first value grows by one, where the output lies."""

    refuses = ""
    """What is answered with a no, after `complain`."""
    complain: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.places: dict[str, int] = {}
        self.profiles: list[int] = []

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self.shapes |= dict.fromkeys({"x": ("x", "y", "z"), "cache": ("cache", "next_cache")}[name], shape)
        return self.does("set_input_shape")

    def set_optimization_profile_async(self, index: int, stream: int) -> bool:
        if not self.does("profile"):
            raise RuntimeError("Error in set optimization profile async.")
        self.profiles.append(index)
        return True

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shapes[name]

    def set_tensor_address(self, name: str, place: int) -> bool:
        self.places[name] = place
        return self.does(f"set_tensor_address {name}")

    def execute_async_v3(self, stream: int) -> bool:
        assert stream == 7
        for source, target, kind in (
            ("x", "y", ctypes.c_float), ("x", "z", ctypes.c_float), ("cache", "next_cache", ctypes.c_uint16),
        ):  # fmt: skip
            count = int(np.prod(self.shapes[source]))
            values = np.ctypeslib.as_array((kind * count).from_address(self.places[source]))
            out = np.ctypeslib.as_array((kind * count).from_address(self.places[target]))
            if target != "next_cache":
                out[:] = {"y": 2, "z": 3}[target] * values
            else:
                out[:] = values
                out.view(np.float16)[0] += 1
        return self.does("execute_async_v3")

    def does(self, what: str) -> bool:
        if self.refuses == what:
            self.complain()
        return self.refuses != what


class OldEngine:
    """Before 10.15."""

    num_io_tensors = len(NAMES)

    def __init__(self) -> None:
        self.context = Context()

    def get_tensor_name(self, index: int) -> str:
        return list(NAMES)[index]

    def get_tensor_mode(self, name: str) -> str:
        return NAMES[name]

    def get_tensor_dtype(self, name: str) -> Any:
        return types.SimpleNamespace(name=KINDS[name])

    def create_execution_context(self) -> Context:
        return self.context


class NewEngine(OldEngine):
    def get_aliased_input_tensor(self, name: str) -> str:
        return "cache" if name == "next_cache" else ""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`export.tensorrt_builder` over a stand-in for the library; `engine` is what it loads."""
    fake: Any = types.ModuleType("tensorrt")
    fake.__version__ = "10.3.0"
    fake.ILogger = type("ILogger", (), {"Severity": types.SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)})
    fake.IProgressMonitor = type("IProgressMonitor", (), {})
    fake.IBuilderConfig = fake.Builder = fake.INetworkDefinition = fake.OnnxParser = fake.IOptimizationProfile = object
    fake.TensorIOMode = types.SimpleNamespace(INPUT="INPUT")
    fake.engine = NewEngine()
    fake.loggers = []
    fake.Runtime = lambda errors: (
        fake.loggers.append(errors) or types.SimpleNamespace(deserialize_cuda_engine=lambda content: fake.engine)
    )
    monkeypatch.setitem(sys.modules, "tensorrt", fake)
    monkeypatch.setattr(cuda_device, "CudaApi", HostCuda)
    monkeypatch.setattr(HostCuda, "closed", 0)
    sys.modules.pop("export.tensorrt_builder", None)
    fake.border = importlib.import_module("export.tensorrt_builder")
    yield fake
    sys.modules.pop("export.tensorrt_builder", None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "talker.engine").write_bytes(b"built")
    return tmp_path / "talker.engine"


@pytest.mark.parametrize("engine", [OldEngine, NewEngine])
def test_values_go_over_and_come_back(library: Any, file: Path, engine: type[OldEngine]) -> None:
    library.engine = engine()
    session = library.border.TensorRtBuilder().open(file, GRAPH)
    cache = np.arange(4, dtype=np.float16)
    for rows in (3, 1, 5):  # a larger one than before finds another place
        x = np.arange(rows, dtype=np.float32)
        made = session.run({"x": x, "cache": cache, "never read": x})
        assert set(made) == {"y", "z", "next_cache"}
        np.testing.assert_array_equal(made["y"], 2 * x)
        np.testing.assert_array_equal(made["z"], 3 * x)
        np.testing.assert_array_equal(made["next_cache"], [1, 1, 2, 3])
    assert library.engine.context.profiles == [1, 0, 1]
    places = library.engine.context.places
    assert (places["cache"] == places["next_cache"]) == (engine is NewEngine)
    session.close()
    assert HostCuda.closed == 1


def test_sizes_that_no_profile_takes_are_for_tensorrt_to_refuse(library: Any, file: Path) -> None:
    session = library.border.TensorRtBuilder().open(file, GRAPH)
    session.run({"x": np.zeros(10, np.float32), "cache": np.zeros(1, np.float16)})
    assert library.engine.context.profiles == [1], "the last"


def test_what_does_not_load_or_run_is_said(library: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder, values = library.border.TensorRtBuilder(), {"x": np.zeros(1, np.float32), "cache": np.zeros(1, np.float16)}
    monkeypatch.setattr(HostCuda, "broken", True)
    with pytest.raises(BuildError, match='engine "talker" was built but does not run: CUDA failed in cudaMemcpy'):
        builder.open(file, GRAPH).run(values)
    library.engine = None
    with pytest.raises(BuildError, match='"talker", which was built but cannot be loaded'):
        builder.open(file, GRAPH)
    assert HostCuda.closed == 1


def test_a_runtime_without_a_gpu_is_not_touched(library: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorRT logs that it could make none, and gives an object; to let that go ends the process, too."""
    made: list[Any] = []

    class Nothing:
        pass

    def dead(errors: Any) -> Any:
        errors.log(0, "CUDA initialization failure with error: 999")
        errors.log(1, "[checkMacros.cpp::catchCudaError::229] Error Code 1: Cuda Runtime (In catchCudaError)")
        made.append(weakref.ref(nothing := Nothing()))
        return nothing

    monkeypatch.setattr(library, "Runtime", dead)
    with pytest.raises(BuildError, match="TensorRT finds no GPU it can use"):
        library.border.TensorRtBuilder().open(file, GRAPH)
    assert library.border.ERRORS.kept == ["CUDA initialization failure with error: 999"]
    assert made[0]() is not None


def test_a_warning_at_the_start_stops_nothing(library: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = library.Runtime

    def talkative(errors: Any) -> Any:
        errors.log(2, "CUDA lazy loading is not enabled")
        return quiet(errors)

    monkeypatch.setattr(library, "Runtime", talkative)
    library.border.TensorRtBuilder().open(file, GRAPH).close()


@pytest.mark.parametrize(
    "refuses",
    ["profile", "set_input_shape", "set_tensor_address cache", "set_tensor_address next_cache", "execute_async_v3"],
)
def test_what_tensorrt_refuses_has_its_reason(
    library: Any, file: Path, monkeypatch: pytest.MonkeyPatch, refuses: str
) -> None:
    builder = library.border.TensorRtBuilder()
    library.engine, one = None, library.engine
    with pytest.raises(BuildError):
        builder.open(file, GRAPH)
    library.engine = one
    session = builder.open(file, GRAPH)  # of the two loggers only the first would be heard
    values = {"x": np.zeros(3, np.float32), "cache": np.zeros(1, np.float16)}
    monkeypatch.setattr(Context, "refuses", refuses)
    told = "Error in set optimization profile async" if refuses == "profile" else "it did not say why"
    with pytest.raises(BuildError, match=f'"talker", which was built but does not run: {told}'):
        session.run(values)
    monkeypatch.setattr(Context, "complain", staticmethod(lambda: library.loggers[0].log(1, "because of the weather")))
    with pytest.raises(BuildError, match="does not run: because of the weather"):
        session.run(values)


def test_the_device_as_plans_name_it(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = library.border.TensorRtBuilder().gpu()
    assert (gpu.name, gpu.architecture, gpu.capability, gpu.free_bytes) == ("Orin", "sm_87", 87, 6 << 30)

    def none() -> None:
        raise GpuError("this machine shows no NVIDIA GPU to this process")

    monkeypatch.setattr(cuda_device, "CudaApi", none)
    with pytest.raises(BuildError, match="built on the GPU that runs them: this machine shows no NVIDIA GPU"):
        library.border.TensorRtBuilder().gpu()
