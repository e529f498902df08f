"""What `scripts/gpu_check` makes of its results: shares, the table, the aims; and what a frame reads."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.gpu_engine import CUDA, TENSORRT
from scripts.gpu_report import aims, table, with_shares
from scripts.gpu_shape import BITS, SMOKE, Shape, copied_bytes, plain


def case(slots: int, **found: Any) -> dict[str, Any]:
    """A result of the 0.6B model at int4 on TensorRT, as it is built unless another form is asked for."""
    facts = {"case": "tensorrt 0.6b, stepped", "backend": "tensorrt", "model": "0.6b", "shape": "stepped"}
    return {**facts, "precision": "int4", "slots": slots, **found}


def rows() -> list[dict[str, Any]]:
    reads = {"frame_bytes": 1.5e9, "frame_bytes_once": 0.9e9, "predictor_bytes": 40e6}
    return [
        {"case": "copy", "bandwidth_gb_s": 1000.0},
        {"case": "PyTorch eager", "slots": 1, "frame_ms": 1.0},
        {"case": "PyTorch CUDA graph, a", "slots": 1, "frame_ms": 10.0},
        {"case": "PyTorch CUDA graph, b", "slots": 1, "frame_ms": 8.0},
        {"case": "PyTorch CUDA graph, b", "slots": 2, "fault": "memory"},
        {"case": "PyTorch CUDA graph, b", "slots": 4, "frame_ms": 9.0},
        case(1, frame_ms=2.0, **reads, period_ms=2.06, device_ms=2.0, memory_mb=900.0, l2_bytes=4e6),
        case(4, frame_ms=3.0, **reads, period_ms=3.03, device_ms=3.0, memory_mb=1300.0, fault="it died then"),
        {**case(1, frame_ms=200.0, **reads, period_ms=2.06, device_ms=0.1), "shape": "unrolled"},
        case(8, fault="it died at once"),
    ]


@pytest.mark.parametrize(("free_bytes", "size_bytes"), [(140 << 30, 4 << 30), (7 << 30, 7 << 28)])
def test_bandwidth_is_measured_on_small_devices_too(free_bytes: int, size_bytes: int) -> None:
    """The copy and its source fit, with room for others."""
    assert copied_bytes(free_bytes) == size_bytes


def test_the_aims_are_judged_by_the_worst() -> None:
    judged = aims(with_shares(rows()))
    assert [aim.get("value") for aim in judged] == [0.5, pytest.approx(0.03), 3.0, 1300.0]
    assert [aim["holds"] for aim in judged] == [False, False, True, False]
    assert [aim["holds"] for aim in aims([])] == [None] * 4


@pytest.mark.parametrize("l2_bytes", [60e6, None])
def test_a_predictor_that_the_cache_may_hold_is_read_once(l2_bytes: float | None) -> None:
    told = rows()
    told[6]["l2_bytes"] = l2_bytes
    assert aims(with_shares(told))[0]["value"] == pytest.approx(0.3)


def test_the_table() -> None:
    lines = table(with_shares(rows())).splitlines()
    assert len(lines) == 8  # of ten rows, one is no measurement of a frame and two measured nothing
    assert "0.75" in lines[5]
    assert "0.45" in lines[5]


def test_what_a_frame_reads() -> None:
    assert Shape().layer_weights == 15_728_640  # as engineered: 0.6B has 28 of these and runs 5 of them 15 times
    assert Shape().reads(plain(16), 1, 300)["frame_bytes"] == pytest.approx(3.344e9, rel=1e-3)
    assert Shape().reads(plain(16), 1, 300)["frame_bytes_once"] == pytest.approx(1.142e9, rel=1e-3)
    int4 = Shape().reads(BITS["tensorrt", "int4"], 1, 300)
    assert int4["frame_bytes"] == pytest.approx(0.939e9, rel=1e-3)
    assert int4["predictor_bytes"] == pytest.approx(40.6e6, rel=1e-2)
    assert Shape().reads(BITS["cuda", "int4"], 1, 300)["frame_bytes"] == pytest.approx(0.931e9, rel=1e-3)
    assert SMOKE.reads(plain(32), 2, 8)["frame_bytes"] > SMOKE.reads(plain(32), 1, 8)["frame_bytes"]


def test_every_case_of_the_large_model_is_known() -> None:
    measured = [("tensorrt", case) for case in TENSORRT] + [("cuda", case) for case in CUDA]
    assert {(backend, case.precision) for backend, case in measured if case.model == "0.6b"} <= set(BITS)
