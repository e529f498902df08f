"""What TensorRT's builder is told of an order, at a stand-in for the library; what it refuses is a reason to stop."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from export.build_door import EngineOrder
from export.errors import BuildError, StoppedError


class Profile:
    """Takes every shape, unless told otherwise."""

    raises: Exception | None = None

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[list[int], ...]] = {}

    def set_shape(self, name: str, *shapes: list[int]) -> None:
        self.shapes[name] = shapes
        if self.raises is not None:
            raise self.raises


class Config:
    """Takes everything, unless told otherwise."""

    progress_monitor: Any = None
    profile = 0
    """The number of the next."""
    damaged = b""
    """Content that makes no timing cache."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def set_memory_pool_limit(self, pool: str, size_bytes: int) -> None:
        self.told.append((pool, size_bytes))

    def clear_flag(self, flag: str) -> None:
        self.told.append(("without", flag))

    def add_optimization_profile(self, profile: Profile) -> int:
        self.told.append(("profile", profile.shapes))
        return self.profile

    def create_timing_cache(self, content: bytes) -> Any:
        if content and content == self.damaged:
            return None
        return types.SimpleNamespace(serialize=lambda: content + b" and more")

    def set_timing_cache(self, cache: Any, ignore_mismatch: bool) -> bool:
        assert not ignore_mismatch
        if cache is None:
            raise TypeError("incompatible function arguments")
        self.timings = cache
        return True

    def get_timing_cache(self) -> Any:
        return self.timings


class Library(types.ModuleType):
    """`tensorrt`, as far as an order is told it."""

    __version__ = "10.15.1.29"

    def __init__(self) -> None:
        super().__init__("tensorrt")
        self.network, self.config, self.profile = object(), Config(), Profile()
        severities = types.SimpleNamespace(ERROR=1, INTERNAL_ERROR=0)
        self.ILogger = type(
            "ILogger", (), {"Severity": severities, "__init__": lambda self: setattr(self, "made", True)}
        )
        self.IProgressMonitor = type("IProgressMonitor", (), {"__init__": lambda self: None})
        self.NetworkDefinitionCreationFlag = types.SimpleNamespace(STRONGLY_TYPED=1)
        self.MemoryPoolType = types.SimpleNamespace(WORKSPACE="WORKSPACE")
        self.BuilderFlag = types.SimpleNamespace(TF32="TF32")
        self.Dims = list
        self.OnnxParser = self._parser
        self.Builder = self._builder
        self.dead, self.parses, self.parsed = False, True, list[tuple[str, str]]()
        self.made: bytes | None = b"built"
        self.complaints: list[str] = []
        self.logger: Any = None
        self.build: Callable[[object, Config], bytes | None] = lambda network, config: self._answer(self.made)

    def _parser(self, network: object, logger: Any) -> Any:
        errors = [types.SimpleNamespace(node_name=node.strip, desc=why.strip) for node, why in self.parsed]
        return types.SimpleNamespace(
            parse_from_file=lambda path: self._answer(self.parses),
            num_errors=len(errors), get_error=lambda index: errors[index],
        )  # fmt: skip

    def _builder(self, logger: Any) -> Any:
        assert logger.made, "TensorRT's own part of it; without that it takes none"
        self.logger = self.logger or logger
        if self.dead:
            raise TypeError("factory function returned nullptr")
        return types.SimpleNamespace(
            create_network=lambda flags: self.network,
            create_builder_config=lambda: self.config,
            create_optimization_profile=lambda: self.profile,
            build_serialized_network=self.build,
        )

    def _answer(self, answer: Any) -> Any:
        for message in self.complaints:
            self.logger.log(1, message)
        return answer


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    fake = Library()
    monkeypatch.setitem(sys.modules, "tensorrt", fake)
    sys.modules.pop("export.tensorrt_builder", None)
    yield fake
    sys.modules.pop("export.tensorrt_builder", None)


@pytest.fixture
def order(tmp_path: Path) -> EngineOrder:
    return EngineOrder(
        name="talker", graph=tmp_path / "talker.onnx", target=tmp_path / "talker.engine",
        profiles=({"x": ((1,), (2,), (4,))},), workspace_bytes=1 << 20, exact=True, timing_file=tmp_path / "timings",
    )  # fmt: skip


def build(order: EngineOrder, advance: Callable[[float], bool] = lambda _: True) -> None:
    importlib.import_module("export.tensorrt_builder").TensorRtBuilder().build(order, advance)


@pytest.mark.usefixtures("library")
def test_what_was_built_is_written_with_its_timings(order: EngineOrder) -> None:
    build(order)
    assert order.target.read_bytes() == b"built"
    assert order.timing_file.read_bytes() == b" and more"


@pytest.mark.parametrize("exact", [True, False])
def test_what_is_ordered_is_what_the_library_is_told(library: Library, order: EngineOrder, exact: bool) -> None:
    build(replace(order, exact=exact))
    expected = [("WORKSPACE", 1 << 20), *[("without", "TF32")] * exact, ("profile", {"x": ([1], [2], [4])})]
    assert library.config.told == expected


def test_without_a_gpu_there_is_no_builder(library: Library, order: EngineOrder) -> None:
    library.dead = True
    with pytest.raises(BuildError, match="finds no GPU it can use"):
        build(order)


def test_a_graph_that_is_refused_says_where(library: Library, order: EngineOrder) -> None:
    library.parses, library.parsed = False, [("layers.3/MatMul", "no importer"), ("layers.4/MatMul", "no importer")]
    with pytest.raises(BuildError, match=r"10\.15\.1\.29 refuses it\): layers\.3/MatMul: no importer; another"):
        build(order)
    library.parsed, library.complaints = [], ["the file is no model"]
    with pytest.raises(BuildError, match=r"refuses it\): the file is no model; another"):
        build(order)
    assert not order.target.exists()


def test_what_one_engine_was_blamed_for_is_not_said_of_the_next(library: Library, order: EngineOrder) -> None:
    library.complaints = ["out of memory, but another kernel did"]
    build(order)
    order.target.unlink()
    library.complaints, library.made = ["no kernel", "[catchCudaError] Cuda Runtime"], None
    with pytest.raises(BuildError, match='could not build the engine "talker": no kernel; another'):
        build(order)
    assert not order.target.exists()


@pytest.mark.parametrize(("complaints", "told"), [
    (["[catchCudaError] Cuda Runtime"], r"\[catchCudaError\] Cuda Runtime"),
    (["a tactic failed", "no kernel", "[catchCudaError] Cuda Runtime"], "no kernel"),
])  # fmt: skip
def test_the_last_complaint_counts_but_echoes(
    library: Library, order: EngineOrder, complaints: list[str], told: str
) -> None:
    library.complaints, library.made = complaints, None
    with pytest.raises(BuildError, match=f'"talker": {told}; another'):
        build(order)


def test_a_build_that_was_stopped_has_not_failed(library: Library, order: EngineOrder) -> None:
    """Though TensorRT completes another step before it gives up."""
    answers, told = iter([True, False, True]), list[float]()

    def advance(done: float) -> bool:
        told.append(done)
        return next(answers)

    def steps(_network: object, config: Config) -> None:
        monitor = config.progress_monitor
        monitor.phase_start("building", None, 2)
        monitor.phase_start("timing", "building", 4)
        assert [monitor.step_complete("timing", 1), monitor.step_complete("timing", 2)] == [True, False]
        monitor.phase_finish("timing")
        assert monitor.step_complete("building", 0)

    library.build = steps
    with pytest.raises(StoppedError):
        build(order, advance)
    assert told == [0.25, 0.375, 0.5]


def test_who_cannot_be_told_stops_the_build(library: Library, order: EngineOrder) -> None:
    """What TensorRT calls must not raise."""

    def advance(_done: float) -> bool:
        raise OSError("the terminal has gone")

    library.build = lambda _network, config: config.progress_monitor.step_complete("building", 0) or None
    with pytest.raises(StoppedError):
        build(order, advance)


@pytest.mark.parametrize(("raises", "profile", "told"), [
    (RuntimeError("Shape provided for min is inconsistent"), 0, "x in sizes of .* Shape provided for min"),
    (ValueError("an inconsistency"), 0, "x in sizes of .* an inconsistency"),
    (None, -1, 'engine "talker": it does not take a profile'),
])  # fmt: skip
def test_sizes_that_are_refused_stop_the_build(
    library: Library, order: EngineOrder, raises: Exception | None, profile: int, told: str
) -> None:
    library.profile.raises, library.config.profile = raises, profile
    with pytest.raises(BuildError, match=f"could not build .*{told}"):
        build(order)
    assert not order.target.exists()


def test_a_damaged_timing_cache_is_begun_anew(library: Library, order: EngineOrder) -> None:
    order.timing_file.write_bytes(b"torn")
    library.config.damaged = b"torn"
    build(order)
    assert order.timing_file.read_bytes() == b" and more"
    build(order)
    assert order.timing_file.read_bytes() == b" and more and more"
