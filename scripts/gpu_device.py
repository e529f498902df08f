"""The first stage of `scripts/gpu_check`: what this device is, with what may be missing on a bare machine."""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from typing import Final

from app.device_reading import read_device
from engines.errors import GpuError
from engines.gpu_presence import check_gpu
from scripts.gpu_rows import emit, reason

_SMI_S: Final = 10.0
_PACKAGES: Final = (
    "torch", "tensorrt", "tensorrt-cu12", "tensorrt-cu13", "onnxruntime-gpu", "onnxruntime", "cuda-bindings",
    "nvidia-ml-py", "onnx", "numpy",
)  # fmt: skip


def main() -> None:
    """Print what is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget-s", type=float)
    parser.add_argument("--smoke", action="store_true")
    parser.parse_args()
    reading = read_device()
    try:
        check_gpu()
        gpu = "present"
    except GpuError as error:
        gpu = str(error)
    emit(
        case="device", name=reading.name, driver=reading.driver, machine=platform.machine(), gpu=gpu, nvidia_smi=_smi(),
        python=sys.version.split()[0], packages=_versions(), temperatures_c=reading.temperatures_c,
        power_w=reading.power_w, power_mode=reading.power_mode, throttled=reading.throttled,
        memory_total_bytes=reading.memory_total_bytes,
    )  # fmt: skip


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _smi() -> str | None:
    """What the tool says, or why it says nothing; None without it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit"
    try:
        asked = subprocess.run(
            [tool, f"--query-gpu={fields}", "--format=csv,noheader"],
            capture_output=True, text=True, errors="replace", check=False, timeout=_SMI_S,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return reason(error)
    return asked.stdout.strip() or None


if __name__ == "__main__":
    main()
