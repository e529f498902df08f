"""Graphs run on the processor to measure and verify by: how much of it they take."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest

from export.ort_session import OrtSession


@pytest.mark.parametrize(("cores", "threads", "taken"), [(2, 0, 2), (192, 0, 12), (192, 3, 3), (1, 0, 1)])
def test_a_session_is_told_how_many_threads_it_has(
    monkeypatch: pytest.MonkeyPatch, cores: int, threads: int, taken: int
) -> None:
    """Left to itself it takes one for each core of the machine, and hangs where a service may not have so many."""
    told = []

    class Session:
        def __init__(self, _path: Path, options: ort.SessionOptions, **_: Any) -> None:
            told.append(options.intra_op_num_threads)

        def get_inputs(self) -> list[Any]:
            return []

        get_outputs = get_inputs

    monkeypatch.setattr(ort, "InferenceSession", Session)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(cores)))
    OrtSession(Path("graph.onnx"), threads)
    assert told == [taken]
