"""An NVIDIA GPU by its device files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engines.errors import GpuError, NoGpuError
from engines.gpu_presence import check_gpu


def test_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()  # the driver without a device
    with pytest.raises(NoGpuError, match="no NVIDIA GPU is here"):
        check_gpu(tmp_path)


@pytest.mark.parametrize("name", ["nvidia0", "nvhost-gpu", "nvgpu/igpu0/ctrl", "dxg"])
def test_a_gpu(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    check_gpu(tmp_path)


def test_a_gpu_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia0").touch()
    monkeypatch.setattr(os, "access", lambda _file, _mode: False)
    with pytest.raises(GpuError, match="groups video and render"):
        check_gpu(tmp_path)
