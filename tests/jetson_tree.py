"""The files of a Jetson Orin Nano's kernel that `app.sensors` reads, laid out as JetPack 6 documents them."""

from __future__ import annotations

from pathlib import Path


def write(root: Path, name: str, text: str) -> None:
    """One file."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def write_orin(root: Path) -> None:
    """A cool board in its 25 W mode, of which the GPU may have 625 of its 1020 MHz."""
    thermal, hwmon = "sys/class/thermal", "sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3"
    gpu = "sys/class/devfreq/17000000.gpu"
    files = {
        f"{thermal}/thermal_zone0/type": "cpu-thermal",
        f"{thermal}/thermal_zone0/temp": "51500",
        f"{thermal}/thermal_zone1/type": "cv0-thermal",
        f"{thermal}/thermal_zone1/temp": "-256000",
        f"{thermal}/thermal_zone2/type": "gpu-thermal",
        f"{thermal}/thermal_zone2/temp": "49000",
        f"{thermal}/thermal_zone3/type": "tj-thermal",
        f"{thermal}/cooling_device0/type": "pwm-fan",
        f"{thermal}/cooling_device0/cur_state": "2",
        f"{thermal}/cooling_device1/type": "gpu-throttle-alert",
        f"{thermal}/cooling_device1/cur_state": "0",
        f"{hwmon}/in1_label": "VDD_IN",
        f"{hwmon}/in1_input": "5000",
        f"{hwmon}/curr1_input": "2400",
        f"{hwmon}/in2_label": "VDD_SOC",
        f"{hwmon}/in2_input": "off",
        "sys/class/hwmon/hwmon1/oc1_event_cnt": "0",
        f"{gpu}/cur_freq": "306000000",
        f"{gpu}/max_freq": "625000000",
        f"{gpu}/available_frequencies": "306000000 510000000 625000000 1020000000",
        f"{gpu}/device/load": "735",
        "sys/class/devfreq/154c0000.nvenc/cur_freq": "115200000",
        "var/lib/nvpmodel/status": "pmode:0001",
        "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=1 NAME=25W >\n",
        "proc/device-tree/model": "NVIDIA Jetson Orin Nano Developer Kit\0",
        "proc/meminfo": "MemTotal:        7802500 kB\nMemFree:  100 kB\nMemAvailable:    4000000 kB",
    }
    for name, text in files.items():
        write(root, name, text + "\n")
