"""Codes on their way into a file, or into what must not be replaced by one."""

from __future__ import annotations

import io
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from app.codes_file import CodesFile
from app.sink import SinkError

CODES = np.arange(32, dtype=np.int32).reshape(2, 16)


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "codes.npy"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    CodesFile(pipe).write(CODES)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(30)
    assert (np.load(io.BytesIO(heard[0])) == CODES).all()
    assert [file.name for file in tmp_path.iterdir()] == ["codes.npy"]


def test_a_file_is_replaced_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "old.npy").write_bytes(b"old")
    link = tmp_path / "link.npy"
    link.symlink_to("old.npy")
    CodesFile(link).write(CODES)
    assert link.is_symlink()
    assert (np.load(tmp_path / "old.npy") == CODES).all()


def test_a_place_that_is_a_directory_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="no file can be created there"):
        CodesFile(tmp_path)
