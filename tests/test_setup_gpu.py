"""The GPU's part of set-up, on made-up machines: what is detected, what is installed, what is said when it fails. The
commands it calls are recorded, not run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts/setup_gpu.sh"
HARNESS = """
set -euo pipefail
root=/checkout venv={home}/venv log={home}/log
say() {{ echo "$*"; }}
die() {{ say "$*"; exit 1; }}
packages_key() {{ echo key; }}
source <(sed -n "/^stamped()/,/^}}/p" {setup})
pip_install() {{ echo "pip install $*" >>{home}/calls; [[ $* != *onnxruntime-gpu* || ! -e {home}/no-gpu-wheel ]]; }}
apt_install() {{ echo "apt install $*" >>{home}/calls; {apt}; }}
source {script}
"""
PYTHON = """#!/bin/bash
case "$*" in
  *version_info*) echo python3.10 ;;
  *purelib*) echo {home}/site ;;
  *--version*) echo Python 3.10.12 ;;
  *"-m pip"*) echo "${{*:2}}" >>{home}/calls ;;
  *"import tensorrt, cuda"*) [[ -e {home}/has-tensorrt ]] ;;
  *"import tensorrt"*) [[ -e {home}/site/tensorrt ]] ;;
  *"import onnxruntime"*) ;;
esac
"""


class Machine:
    """A made-up machine."""

    def __init__(self, home: Path) -> None:
        self.home, self.apt = home, "false"
        self.env = {"PATH": f"{home}/bin:{os.environ['PATH']}", "SPEAKD_SYSROOT": str(home / "sys")}
        for folder in ("venv/bin", "site", "bin"):
            (home / folder).mkdir(parents=True)
        self.command("venv/bin/python", PYTHON.format(home=home))

    def command(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)
        (self.home / name).chmod(0o755)

    def file(self, name: str, text: str = "") -> None:
        path = self.home / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def driver(self, cuda: str) -> None:
        self.file("dev/nvidia0")
        self.command("bin/nvidia-smi", f"#!/bin/bash\necho '| NVIDIA-SMI 580.1  CUDA Version: {cuda}  |'\n")

    def jetson(self, tensorrt: bool = True) -> None:
        self.file("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3\n")
        self.file(
            "usr/local/cuda/version.json", '{\n "cuda" : {\n "name" : "CUDA SDK",\n "version" : "12.6.68"\n }\n}\n'
        )
        if tensorrt:
            self.file("usr/lib/python3.10/dist-packages/tensorrt/__init__.py")
            self.file("usr/lib/python3.10/dist-packages/tensorrt-10.3.0.dist-info/METADATA")
            self.file("usr/lib/python3.10/dist-packages/apt_pkg.py")

    def run(self, what: str) -> str:
        harness = HARNESS.format(home=self.home, setup=SCRIPT.with_name("setup"), script=SCRIPT, apt=self.apt)
        done = subprocess.run(
            ["bash", "-c", harness + what], capture_output=True, text=True, check=False, timeout=60,
            env=os.environ | self.env,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def calls(self) -> list[str]:
        calls = self.home / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_gpu_nothing_happens(machine: Machine) -> None:
    machine.file("dev/nvidiactl")
    assert machine.run("gpu_ready && echo ready; gpu_kind") == "ready\n"


def test_a_gpu_can_be_left_alone(machine: Machine) -> None:
    machine.driver("13.0")
    machine.env["SPEAKD_NO_GPU"] = "1"
    assert machine.run("gpu_ready && echo ready; gpu_kind") == "ready\n"


def test_a_desktop_gets_tensorrt_and_the_other_onnxruntime(machine: Machine) -> None:
    machine.driver("13.0")
    (machine.home / "has-tensorrt").touch()
    machine.run("! gpu_ready; install_gpu; gpu_ready")
    assert machine.calls == [
        "pip install --editable /checkout[tensorrt]",
        "pip uninstall --yes onnxruntime onnxruntime-gpu",
        "pip install onnxruntime-gpu[cuda,cudnn]>=1.23 nvidia-cublas",
    ]


def test_windows_linux_is_a_desktop_where_nvidias_driver_is(machine: Machine) -> None:
    machine.file("dev/dxg")
    assert machine.run("gpu_ready && echo ready; gpu_kind") == "ready\n"
    machine.command("bin/nvidia-smi", "#!/bin/bash\necho '| NVIDIA-SMI 580.1  CUDA Version: 13.0  |'\n")
    (machine.home / "has-tensorrt").touch()
    machine.run("! gpu_ready; install_gpu; gpu_ready")
    assert machine.calls[0] == "pip install --editable /checkout[tensorrt]"


def test_a_driver_of_cuda_12_gets_its_own_tensorrt(machine: Machine) -> None:
    machine.driver("12.4")
    (machine.home / "has-tensorrt").touch()
    said = machine.run("install_gpu; gpu_ready")
    assert machine.calls == ["pip install --editable /checkout[tensorrt-cuda12]"]
    assert "want CUDA 13, the driver knows 12" in said
    assert "processor" not in said


def test_onnxruntime_is_put_back(machine: Machine) -> None:
    machine.driver("13.0")
    (machine.home / "has-tensorrt").touch()
    (machine.home / "no-gpu-wheel").touch()
    assert "taking the plain one again" in machine.run("install_gpu; gpu_ready")
    assert machine.calls[-2:] == [
        "pip uninstall --yes onnxruntime-gpu",
        "pip install --force-reinstall --no-deps onnxruntime",
    ]


@pytest.mark.parametrize(("cuda", "extra"), [("13.3", "tensorrt"), ("12.9", "tensorrt-cuda12")])
def test_newer_drivers_word_it_otherwise(machine: Machine, cuda: str, extra: str) -> None:
    machine.driver("")
    banner = f"| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: {cuda}     |"
    machine.command("bin/nvidia-smi", f"#!/bin/bash\necho '{banner}'\n")
    (machine.home / "has-tensorrt").touch()
    machine.run("install_gpu; gpu_ready")
    assert machine.calls[0] == f"pip install --editable /checkout[{extra}]"


@pytest.mark.parametrize(("cuda", "why"), [(None, "its driver does not answer"), ("11.8", "12 or later is needed")])
def test_a_driver_that_does_not_serve(machine: Machine, cuda: str | None, why: str) -> None:
    machine.driver(cuda or "")
    if cuda is None:
        machine.command("bin/nvidia-smi", "#!/bin/bash\nexit 9\n")
    said = machine.run("install_gpu; gpu_ready")
    assert why in said
    assert "will run on the processor; to try again: rm" in said
    assert machine.calls == []


def test_jetpacks_tensorrt_is_made_visible_and_nothing_else(machine: Machine) -> None:
    machine.jetson()
    assert machine.run("gpu_kind") == "jetson\n"
    machine.run("install_gpu; gpu_ready")
    linked = sorted(path.name for path in (machine.home / "site").iterdir())
    assert linked == ["tensorrt", "tensorrt-10.3.0.dist-info"]
    assert machine.calls == ["pip install cuda-python>=12.9.1,<13"]
    machine.run("install_gpu; gpu_ready")  # again: nothing gets in its own way
    assert sorted(path.name for path in (machine.home / "site").iterdir()) == linked


def test_a_jetson_without_tensorrt_is_told_what_to_install(machine: Machine) -> None:
    machine.jetson(tensorrt=False)
    said = machine.run("install_gpu; gpu_ready")
    assert machine.calls == ["apt install python3-libnvinfer"]
    assert "sudo apt install tensorrt python3-libnvinfer" in said


def test_a_jetson_where_apt_may_be_used(machine: Machine) -> None:
    machine.jetson(tensorrt=False)
    place = machine.home / "sys/usr/lib/python3.10/dist-packages/tensorrt"
    machine.apt = f"mkdir -p {place}"
    machine.run("install_gpu; gpu_ready")
    assert machine.calls == ["apt install python3-libnvinfer", "pip install cuda-python>=12.9.1,<13"]
    assert (machine.home / "site/tensorrt").is_symlink()


def test_new_packages_are_a_reason_to_look_again(machine: Machine) -> None:
    machine.jetson()
    machine.run("install_gpu; gpu_ready; packages_key() { echo other; }; ! gpu_ready")
