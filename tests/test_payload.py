"""The payload is a safetensors file that the library reads, with the spans it announced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from export.errors import ExportError
from export.payload import PAGE_BYTES, Payload


def test_written_tensors_are_read_back_by_the_library_and_lie_where_announced(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors: dict[str, npt.NDArray[Any]] = {
        "bytes": rng.integers(0, 255, 7, dtype=np.uint8),
        "matrix": rng.standard_normal((3, 5)).astype(np.float32),
        "halves": rng.standard_normal((4,)).astype(np.float16),
    }
    payload = Payload()
    for name, values in tensors.items():
        payload.add(name, values.dtype, values.shape, lambda values=values: values)  # type: ignore[misc]
    told: list[int] = []
    payload.write(tmp_path / "weights.safetensors", told.append)

    found = load_file(tmp_path / "weights.safetensors")
    raw = (tmp_path / "weights.safetensors").read_bytes()
    for name, values in tensors.items():
        np.testing.assert_array_equal(found[name], values)
        offset, length = payload.spans()[name]
        assert raw[offset : offset + length] == values.tobytes()
        assert offset % values.dtype.itemsize == 0
    assert sum(told) == payload.nbytes
    assert min(offset for offset, _ in payload.spans().values()) % PAGE_BYTES == 0, "readers map it"


def test_a_shared_name_keeps_its_first_maker_and_must_agree_in_shape() -> None:
    payload = Payload()
    payload.add("w", np.float32, (2,), lambda: np.ones(2, np.float32))
    payload.add("w", np.float32, (2,), lambda: np.zeros(2, np.float32))
    assert payload["w"].make().tolist() == [1, 1]
    with pytest.raises(ExportError, match="tensor w was registered"):
        payload.add("w", np.float32, (3,), lambda: np.zeros(3, np.float32))


def test_a_maker_that_breaks_its_word_is_named(tmp_path: Path) -> None:
    payload = Payload()
    payload.add("w", np.float32, (2,), lambda: np.ones(3, np.float32))
    with pytest.raises(ExportError, match="tensor w came out"):
        payload.write(tmp_path / "weights.safetensors", lambda _: None)
