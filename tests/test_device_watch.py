"""The daemon's eye on the device: what engines are told, what the log says, what people and metrics see."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.device_info import rows
from app.device_metrics import device_families
from app.device_watch import DeviceWatch
from app.sensors import GpuClock
from engines.device_facts import DeviceFacts
from tests.test_device_reading import reading

COOL: dict[str, Any] = {"name": "a board", "power_mode": "25W (1)", "clock": GpuClock(306e6, 918e6, 918e6)}


class Engine:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.speeds: list[float] = []

    def device_runs_at(self, speed: float) -> None:
        self.speeds.append(speed)


def test_engines_are_told_and_news_is_logged() -> None:
    engine = Engine()
    watch = DeviceWatch(lambda: [SimpleNamespace(engine=engine)])  # type: ignore[list-item]
    with capture_logs() as log:
        watch.note(reading(**COOL))
        watch.note(reading(**COOL))
        watch.note(reading(**COOL, throttled=("gpu",)))
        watch.note(reading(**COOL))
        watch.note(reading(**COOL | {"power_mode": "15W (0)", "clock": GpuClock(306e6, 612e6, 918e6)}))
        watch.note(reading(**COOL, overcurrent_events=2))
    assert engine.speeds == [1.0, 1.0, 0.35, 1.0, 0.65, 1.0]
    assert [(entry["log_level"], entry["event"]) for entry in log] == [
        ("info", "the device"),
        ("warning", "the device is throttled"),
        ("info", "the device is no longer throttled"),
        ("info", "the power mode has changed"),
        ("info", "the power mode has changed"),
        ("warning", "the supply was overdrawn; the device cut its clocks"),
    ]


def test_a_machine_that_tells_nothing_is_not_spoken_of() -> None:
    with capture_logs() as log:
        DeviceWatch(lambda: []).note(reading())
    assert log == []


def test_a_device_that_is_throttled_from_the_start_is_told_with_or_without_a_power_mode() -> None:
    with capture_logs() as log:
        DeviceWatch(lambda: []).note(reading(name="a GPU", throttled=("heat",)))
    assert [(entry["log_level"], entry["event"]) for entry in log] == [
        ("info", "the device"),
        ("warning", "the device is throttled"),
    ]


def test_a_person_is_told_everything() -> None:
    facts = DeviceFacts("cpu", "speaking with X (no GPU)", {"TensorRT": "not installed"}, ("int4, 4 slots",))
    told = dict(rows(facts, reading(**COOL, throttled=("gpu",), temperatures_c={"gpu": 91.25}, power_w={"VDD_IN": 24},
                                    gpu_load=0.5, overcurrent_events=2, memory_available_bytes=2**30,
                                    memory_total_bytes=2**33)))  # fmt: skip
    assert told["device"] == "a board"
    assert told["speaks with"] == "speaking with X (no GPU)"
    assert told["TensorRT"] == "not installed"
    assert told["plans"] == "int4, 4 slots"
    assert told["temperature"] == "gpu 91.2 °C"
    assert told["power"] == "VDD_IN 24.0 W"
    assert told["power mode"] == "25W (1)"
    assert told["GPU clock"] == "306 MHz; at most 918 now, 918 ever"
    assert (told["GPU load"], told["throttled"], told["overdrawn"]) == ("50%", "gpu", "2 times since the start")
    assert told["memory"] == "1.0 of 8.0 GiB available"
    untold = dict(rows(DeviceFacts("cpu", "", {}, ()), reading()))
    assert {untold[name] for name in ("temperature", "power", "power mode", "GPU clock", "GPU load")} == {"not told"}


@pytest.mark.parametrize("device", [reading(), reading(**COOL, throttled=("gpu",), gpu_load=0.5)])
def test_metrics_have_names_and_units(device: Any) -> None:
    families = {family.name: family.samples for family in device_families(device)}
    assert families["speakd_device_speed_ratio"][0].value == device.speed
    throttled = [sample.labels["reason"] for sample in families["speakd_throttled"]]
    assert throttled == list(device.throttled)
    clocks = {sample.labels["which"]: sample.value for sample in families["speakd_gpu_clock_hertz"]}
    assert clocks == ({} if device.clock is None else {"now": 306e6, "allowed": 918e6, "most": 918e6})
    assert [sample.value for sample in families["speakd_gpu_load_ratio"]] == ([device.gpu_load] * bool(device.gpu_load))
    [info] = families["speakd_device_info"]
    assert info.labels == {"name": device.name or "", "power_mode": device.power_mode or ""}
    assert info.value == 1.0
