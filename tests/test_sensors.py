"""Temperatures and power as a Jetson's kernel shows them."""

from __future__ import annotations

from pathlib import Path

from app.sensors import power_w, temperatures_c


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_a_jetson(tmp_path: Path) -> None:
    write(tmp_path, "class/thermal/thermal_zone0/type", "cpu-thermal\n")
    write(tmp_path, "class/thermal/thermal_zone0/temp", "51500\n")
    write(tmp_path, "class/thermal/thermal_zone1/type", "cv0-thermal\n")
    write(tmp_path, "class/thermal/thermal_zone1/temp", "-256000\n")
    write(tmp_path, "class/thermal/thermal_zone2/type", "gpu-thermal\n")
    monitor = "bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    write(tmp_path, f"{monitor}/in1_label", "VDD_IN\n")
    write(tmp_path, f"{monitor}/in1_input", "5000\n")
    write(tmp_path, f"{monitor}/curr1_input", "2400\n")
    write(tmp_path, f"{monitor}/in2_label", "VDD_SOC\n")
    write(tmp_path, f"{monitor}/in2_input", "off\n")
    assert temperatures_c(tmp_path) == {"cpu-thermal": 51.5}
    assert power_w(tmp_path) == {"VDD_IN": 12.0}


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    assert temperatures_c(tmp_path) == {}
    assert power_w(tmp_path) == {}
