"""What people are told when CUDA does not start or cuda-python is not the right one."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from engines.cuda_api import _LEAST, CudaApi, _complain_if_old
from engines.errors import GpuError
from tests.fake_driver import Driver, Error


def test_without_a_device_the_remedy_is_told(driver: Driver) -> None:
    driver.errors["cuInit"] = Error.CUDA_ERROR_NO_DEVICE
    with pytest.raises(GpuError, match="shows no NVIDIA GPU"):
        CudaApi()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (Error.CUDA_ERROR_SYSTEM_NOT_READY, "nvidia-fabricmanager"),
        (Error.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "LD_LIBRARY_PATH"),
        (Error.CUDA_ERROR_DEVICE_UNAVAILABLE, "nvidia-smi -c 0"),
        (Error.CUDA_ERROR_UNKNOWN, "modprobe nvidia-uvm"),
    ],
)
def test_a_cuda_that_does_not_start_is_not_to_be_cured_by_starting_again(
    driver: Driver, error: Error, remedy: str
) -> None:
    driver.errors["cuInit"] = error
    with pytest.raises(GpuError, match=remedy) as raised:
        CudaApi()
    assert "must be started again" not in str(raised.value)


def test_without_cuda_python_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(GpuError, match="extra `tensorrt`"):
        CudaApi()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (RuntimeError("Failed to dlopen libcuda.so.1"), r"dlopen libcuda.so.1; the NVIDIA driver's library"),
        (KeyError(1234), r"cuInit: .* does not know \(1234\); CUDA does not start here"),
        (ValueError("1234 is not a valid CUresult"), r"does not know \(1234 is not a valid CUresult\); CUDA"),
    ],
)
def test_what_cuda_python_raises_is_told_as_what_it_answers(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, raised: Exception, told: str
) -> None:
    """A driver that is missing (12.8), and codes of one that is younger than cuda-python (12.9.1, later ones)."""

    def fails(_flags: int) -> None:
        raise raised

    monkeypatch.setattr(driver, "cuInit", fails, raising=False)
    with pytest.raises(GpuError, match=told):
        CudaApi()


@pytest.mark.parametrize(("version", "complaints"), [("12.9.0", 1), ("12.9.1", 0), ("13.0.0", 0), (None, 0)])
def test_a_cuda_python_that_holds_everybody_up_is_told_once(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str | None,
    complaints: int,
) -> None:  # fmt: skip
    """Until 12.9.0 its `cuEventSynchronize` keeps the interpreter, so that nobody is answered in the meantime."""

    def found(package: str) -> str:
        if package != "cuda-bindings" or version is None:
            raise metadata.PackageNotFoundError(package)
        return version

    monkeypatch.setattr(metadata, "version", found)
    _complain_if_old.cache_clear()
    CudaApi()
    CudaApi()
    said = [record.getMessage() for record in caplog.records]
    told = f"cuda-python {version} holds up the whole program whenever it waits for the GPU; install 12.9.1 or later"
    assert said == [told] * complaints
    _complain_if_old.cache_clear()


def test_every_place_that_asks_for_cuda_python_asks_for_one_that_does_not() -> None:
    root = Path(__file__).parent.parent
    places = ["pyproject.toml", "export/tensorrt_trouble.py", "scripts/setup_gpu.sh"]
    texts = "".join((root / place).read_text(encoding="utf-8") for place in places)
    asked = re.findall(r"(?:cuda-python>=|least=)([\d.]+)", texts)
    assert asked == [".".join(map(str, _LEAST))] * 4
