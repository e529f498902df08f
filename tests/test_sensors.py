"""What a Jetson's kernel shows: temperatures, power, clocks, throttling, power mode."""

from __future__ import annotations

from pathlib import Path

from app.sensors import (
    GpuClock,
    board,
    gpu_clock,
    gpu_load,
    overcurrent_events,
    power_mode,
    power_w,
    temperatures_c,
    throttled,
)
from tests.jetson_tree import write, write_orin


def test_a_jetson(tmp_path: Path) -> None:
    write_orin(tmp_path)
    sys = tmp_path / "sys"
    assert temperatures_c(sys) == {"cpu-thermal": 51.5, "gpu-thermal": 49.0}
    assert power_w(sys) == {"VDD_IN": 12.0}
    assert gpu_clock(sys) == GpuClock(306e6, 625e6, 1020e6)
    assert gpu_load(sys) == 0.735
    assert throttled(sys) == ()
    assert overcurrent_events(sys) == 0
    assert power_mode(tmp_path) == "25W (1)"
    assert board(tmp_path) == "NVIDIA Jetson Orin Nano Developer Kit"


def test_a_hot_jetson(tmp_path: Path) -> None:
    write_orin(tmp_path)
    sys = tmp_path / "sys"
    write(sys, "class/thermal/cooling_device1/cur_state", "1\n")
    write(sys, "class/hwmon/hwmon1/oc1_event_cnt", "3\n")
    assert throttled(sys) == ("gpu",)
    assert overcurrent_events(sys) == 3


def test_a_rail_that_tells_half_is_left_out(tmp_path: Path) -> None:
    monitor = "bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    for file, text in {"in4_label": "sum", "in4_input": "12", "in5_label": "CPU", "curr5_input": "8"}.items():
        write(tmp_path, f"{monitor}/{file}", f"{text}\n")
    for file, text in {"in6_label": "GPU", "in6_input": "5000", "curr6_input": "400"}.items():
        write(tmp_path, f"{monitor}/{file}", f"{text}\n")
    assert power_w(tmp_path) == {"GPU": 2.0}


def test_a_gpu_whose_clock_is_not_told_has_none(tmp_path: Path) -> None:
    write(tmp_path, "class/devfreq/17000000.gpu/max_freq", "625000000\n")
    assert gpu_clock(tmp_path) is None


def test_a_mode_without_a_name(tmp_path: Path) -> None:
    write(tmp_path, "var/lib/nvpmodel/status", "pmode:0007\n")
    assert power_mode(tmp_path) == "7"


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    assert temperatures_c(tmp_path) == {}
    assert power_w(tmp_path) == {}
    assert gpu_clock(tmp_path) is None
    assert gpu_load(tmp_path) is None
    assert throttled(tmp_path) == ()
    assert overcurrent_events(tmp_path) == 0
    assert power_mode(tmp_path) is None
    assert board(tmp_path) is None
