"""Tensors by name and shape; what damaged checkpoints are refused with is in `tests.test_exporter`."""

from __future__ import annotations

from errno import EACCES, ENOENT
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from export import checkpoint
from export.checkpoint import TensorFile
from export.errors import CheckpointError


def written(folder: Path, **tensors: npt.NDArray[Any]) -> TensorFile:
    save_file({name.replace("__", "."): values for name, values in tensors.items()}, folder / "model.safetensors")
    return TensorFile(folder / "model.safetensors")


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_numbers_of_any_width_come_as_float32(tmp_path: Path, kind: type[np.generic]) -> None:
    file = written(tmp_path, a=np.arange(6).reshape(3, 2).astype(kind))
    file.claim("a", (3, 2))
    assert (file.shape("a"), file.has("a"), file.has("b")) == ((3, 2), True, False)
    assert file.read("a").dtype == file.read_rows("a", 1, 3).dtype == np.float32
    assert file.read("a").tolist() == [[0, 1], [2, 3], [4, 5]]
    assert file.read_rows("a", 1, 3).tolist() == [[2, 3], [4, 5]]


def test_what_is_missing_is_named_however_it_is_asked_for(tmp_path: Path) -> None:
    file = written(tmp_path, a=np.zeros(1, np.float32))
    for ask in (file.read, file.shape, lambda name: file.claim(name, (1,))):
        with pytest.raises(CheckpointError, match=r"model\.safetensors: tensor b is missing"):
            ask("b")


def test_what_nobody_claimed_must_be_known_to_be_of_no_use(tmp_path: Path) -> None:
    one = np.zeros(1, np.float32)
    file = written(tmp_path, used=one, speaker_encoder__x=one, encoder__y=one)
    file.claim("used", (1,))
    assert file.unused() == ("encoder.y", "speaker_encoder.x")
    with pytest.raises(CheckpointError, match="tensor used is unknown"):
        written(tmp_path, used=one).unused()


def test_a_pointer_of_git_lfs_is_told_as_one(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(CheckpointError, match=rf"run `git lfs pull` in {tmp_path}"):
        TensorFile(path)
    path.write_bytes(path.read_bytes() + b"\0" * 1000)
    with pytest.raises(CheckpointError) as caught:
        TensorFile(path)
    assert "git lfs pull" not in str(caught.value), "it is too large for one"


def test_a_file_that_is_not_there_is_told_as_one_and_parts_only_where_they_are(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as safetensors: No such file"):
        TensorFile(tmp_path / "model.safetensors")


def test_a_file_that_may_not_be_read_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root everything may be read: both readers are told what another user's are."""

    def gone(*_: object, **__: object) -> None:
        raise FileNotFoundError(ENOENT, "No such file or directory")  # what safetensors makes of EACCES

    def denied(*_: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    written(tmp_path, a=np.zeros(1, np.float32))
    monkeypatch.setattr(checkpoint, "safe_open", gone)
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as safetensors: Permission denied"):
        TensorFile(tmp_path / "model.safetensors")
