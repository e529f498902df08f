"""A device's state out of its sources, and what it means for speed; NVML and jetson-stats are recorded stand-ins."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from app import device_reading, jetson_stats, nvml
from app.device_reading import DeviceReading, read_device
from app.jetson_stats import JtopReading, read_jtop
from app.sensors import GpuClock
from tests.jetson_tree import write, write_orin


def reading(**changes: Any) -> DeviceReading:
    facts: dict[str, Any] = {
        "name": None, "temperatures_c": {}, "power_w": {}, "clock": None, "gpu_load": None, "throttled": (),
        "power_mode": None, "memory_available_bytes": None, "memory_total_bytes": None,
    }  # fmt: skip
    return DeviceReading(**facts | changes)


class NvmlError(Exception):
    """As pynvml's."""


def nvidia(**changes: Any) -> ModuleType:
    """A `pynvml` with a busy desktop GPU."""

    def refuse(*_: object) -> None:
        raise NvmlError("not supported")

    module = ModuleType("pynvml")
    calls = {
        "NVMLError": NvmlError,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_CLOCK_SM": 1,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda _: "gpu",
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=2**30, total=24 * 2**30),
        "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=40),
        "nvmlDeviceGetPowerUsage": lambda _: 215_500,
        "nvmlDeviceGetName": lambda _: b"NVIDIA GeForce RTX 4090",
        "nvmlSystemGetDriverVersion": lambda: "580.1",
        "nvmlDeviceGetTemperature": lambda _, kind: 71,
        "nvmlDeviceGetClockInfo": lambda _, kind: 1500,
        "nvmlDeviceGetMaxClockInfo": lambda _, kind: 3000,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: 0x21,
    }
    for name, call in (calls | {name: refuse if call is None else call for name, call in changes.items()}).items():
        setattr(module, name, call)
    return module


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nvml._library.cache_clear()
    monkeypatch.setitem(sys.modules, "pynvml", None)  # not installed
    monkeypatch.setattr(jetson_stats, "_SOCKET", tmp_path / "no.sock")
    monkeypatch.setattr(device_reading, "read_jtop", lambda: read_jtop(tmp_path / "no.sock"))


def test_a_jetson_by_its_files(tmp_path: Path) -> None:
    write_orin(tmp_path)
    found = read_device(tmp_path)
    assert found.name == "NVIDIA Jetson Orin Nano Developer Kit"
    assert (found.power_mode, found.gpu_load, found.throttled) == ("25W (1)", 0.735, ())
    assert found.memory_available_bytes == 4_000_000 * 1024
    assert found.speed == pytest.approx(625 / 1020)  # what the mode allows, not what an idle moment has
    write(tmp_path, "sys/class/thermal/cooling_device1/cur_state", "1\n")
    hot = read_device(tmp_path)
    assert hot.throttled == ("gpu",)
    assert hot.speed == pytest.approx(306 / 1020)


def test_a_desktop_by_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvidia())
    found = read_device(tmp_path)
    assert (found.name, found.driver) == ("NVIDIA GeForce RTX 4090", "580.1")
    assert (found.temperatures_c, found.power_w, found.gpu_load) == ({"gpu": 71.0}, {"gpu": 215.5}, 0.4)
    assert found.throttled == ("heat",)  # an idle clock, bit 1, is none of these
    assert found.speed == 0.5
    assert found.clock == GpuClock(1500e6, 3000e6, 3000e6)
    assert found.memory_available_bytes == 23 * 2**30


@pytest.mark.parametrize(("workers", "chosen"), [({}, "first"), ({"second": os.getpid()}, "second")])
def test_of_two_gpus_the_one_in_use_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: dict[str, int], chosen: str
) -> None:
    two = nvidia(
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: ("first", "second")[index],
        nvmlDeviceGetComputeRunningProcesses=lambda card: [SimpleNamespace(pid=workers.get(card, 1))],
        nvmlDeviceGetName=lambda card: card,
    )
    monkeypatch.setitem(sys.modules, "pynvml", two)
    assert read_device(tmp_path).name == chosen


def test_a_gpu_that_answers_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = dict.fromkeys(
        ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage",
         "nvmlDeviceGetTemperature", "nvmlDeviceGetName", "nvmlDeviceGetClockInfo",
         "nvmlDeviceGetCurrentClocksThrottleReasons")
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", nvidia(**silent))
    found = read_device(tmp_path)
    assert (found.name, found.power_w, found.clock) == ("NVIDIA GPU", {}, None)
    assert (found.throttled, found.speed) == ((), 1.0)


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_a_package_without_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvidia(**{broken: None}))
    assert read_device(tmp_path).name is None


def test_jetson_stats_fills_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        stats, nvpmodel = {"GPU": 42}, "MAXN"

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def ok(self) -> bool:
            return True

    module = ModuleType("jtop")
    module.jtop = Client  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jtop", module)
    socket = tmp_path / "jtop.sock"
    assert read_jtop(socket) is None  # no service, no import
    socket.touch()
    assert read_jtop(socket) == JtopReading(0.42, "MAXN")
    monkeypatch.setattr(device_reading, "read_jtop", lambda: read_jtop(socket))
    found = read_device(tmp_path)
    assert (found.gpu_load, found.power_mode) == (0.42, "MAXN")
    monkeypatch.setattr(Client, "ok", lambda _: 1 / 0)  # whatever another version does
    assert read_jtop(socket) is None


def test_speed_without_a_clock_is_full() -> None:
    assert reading(throttled=("gpu",)).speed == 1.0
    assert reading(clock=GpuClock(0.0, 0.0, 0.0)).speed == 1.0
    assert reading(clock=GpuClock(1.0, 1e9, 1e9), throttled=("gpu",)).speed == 0.05
