"""What `scripts/gpu_check` shows: one table of all results, and what became of the aims.

Purpose: put results that stages printed beside each other. Knows: the names of results. Does not know: where they come
from. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

from typing import Any, Final

Row = dict[str, Any]

COLUMNS: Final = {
    "case": "",
    "precision": "precision",
    "slots": "slots",
    "plan_slots": "of plan",
    "frame_ms": "frame ms",
    "lone_frame_ms": "of one alone",
    "device_ms": "device ms",
    "roofline": "of floor",
    "roofline_once": "read once",
    "gap": "gap/frame",
    "prefill_ms": "prefill ms",
    "codec1_ms": "codec x1",
    "codec_ms": "codec ms/frame",
    "ttfa_ms": "TTFA ms",
    "agreement": "same codes",
    "same_speech": "same speech",
    "sound_error": "sound error",
    "memory_mb": "MB",
    "build_s": "build s",
}
LEAST_ROOFLINE: Final = 0.60
MOST_GAP: Final = 0.02
LEAST_SPEEDUP: Final = 3.0
MOST_MEMORY_MB: Final = 1200.0
_TORCH: Final = "PyTorch CUDA graph"
_JUDGED: Final = ["tensorrt", "0.6b", "stepped"]


def with_shares(rows: list[Row]) -> list[Row]:
    """Rows with the shares that follow from what they tell, which they are given in place.

    `roofline` is the share of the device's measured bandwidth that a frame's time stands for, `roofline_once` the same
    with every matrix read once; `gap` is what the engine adds to a frame's time on the device, the codec at rest.
    """
    measured = [row["bandwidth_gb_s"] for row in rows if row.get("bandwidth_gb_s")]
    for row in rows:
        for share, read in (("roofline", "frame_bytes"), ("roofline_once", "frame_bytes_once")):
            if measured and row.get(read) and row.get("frame_ms"):
                row[share] = row[read] / max(measured) / 1e6 / row["frame_ms"]
        if row.get("period_ms") and row.get("device_ms"):
            row["gap"] = row["period_ms"] / row["device_ms"] - 1
    return rows


def table(rows: list[Row]) -> str:
    """All results that are measurements, one line each."""
    measured = [row for row in rows if len(set(row) & (set(COLUMNS) - {"case", "slots", "precision"})) > 0]
    used = {key: title for key, title in COLUMNS.items() if key == "case" or any(key in row for row in measured)}
    lines = [list(used.values())] + [[_cell(row.get(key)) for key in used] for row in measured]
    widths = [max(len(line[place]) for line in lines) for place in range(len(used))]
    return "\n".join(
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                  for place, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    )  # fmt: skip


def aims(rows: list[Row]) -> list[Row]:
    """Each aim, what the worst case found, and whether it holds; None where nothing was measured.

    Judged are the plans that are built unless another is asked for: the stepped frame's.
    """
    ours = [row for row in rows if [row.get(name) for name in ("backend", "model", "shape")] == _JUDGED]
    int4 = [row for row in ours if row.get("precision") == "int4"]
    l2_bytes = max((row["l2_bytes"] for row in rows if row.get("l2_bytes")), default=None)
    graphed = _best_graphs(rows)
    rooflines = [_honest_roofline(row, l2_bytes) for row in int4 if "roofline" in row]
    gaps = [row["gap"] for row in ours if "gap" in row]
    speedups = [
        graphed[row["slots"]] / row["frame_ms"] for row in int4 if row.get("frame_ms") and row["slots"] in graphed
    ]
    memory = [row["memory_mb"] for row in int4 if row["slots"] == 4 and row.get("memory_mb") is not None]
    return [
        _aim(f"int4 frame reaches {LEAST_ROOFLINE:.0%} of the memory floor", min(rooflines, default=None),
             lambda found: found >= LEAST_ROOFLINE),
        _aim(f"gap between frames at most {MOST_GAP:.0%} of a frame", max(gaps, default=None),
             lambda found: found <= MOST_GAP),
        _aim(f"int4 frame {LEAST_SPEEDUP:g} times faster than the best CUDA-graphed PyTorch, bf16",
             min(speedups, default=None), lambda found: found >= LEAST_SPEEDUP),
        _aim(f"0.6B int4 with 4 slots in {MOST_MEMORY_MB:.0f} MB", max(memory, default=None),
             lambda found: found <= MOST_MEMORY_MB),
    ]  # fmt: skip


def _best_graphs(rows: list[Row]) -> dict[int, float]:
    """By slots, the shortest frame of a captured PyTorch, ms."""
    best: dict[int, float] = {}
    for row in rows:
        if str(row.get("case", "")).startswith(_TORCH) and row.get("frame_ms"):
            best[row["slots"]] = min(row["frame_ms"], best.get(row["slots"], row["frame_ms"]))
    return best


def _honest_roofline(row: Row, l2_bytes: float | None) -> float:
    """The share with every matrix read once where the cache may hold the predictor, or nobody told its size."""
    held = l2_bytes is None or row["predictor_bytes"] <= l2_bytes
    return float(row["roofline_once"] if held else row["roofline"])


def _aim(text: str, found: float | None, holds: Any) -> Row:
    if found is None:
        return {"aim": text, "found": "not measured", "holds": None}
    kept = bool(holds(found))
    return {"aim": text, "found": f"{found:.3g}, {'holds' if kept else 'does not hold'}", "value": found, "holds": kept}


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
