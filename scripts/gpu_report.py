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
    "frame_ms": "frame ms",
    "lone_frame_ms": "of one alone",
    "roofline": "of floor",
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


def with_roofline(rows: list[Row]) -> list[Row]:
    """Rows that tell what a frame reads, with the share of the device's measured bandwidth that its time stands for."""
    measured = [row["bandwidth_gb_s"] for row in rows if row.get("bandwidth_gb_s")]
    for row in rows:
        if measured and "frame_bytes" in row and "frame_ms" in row:
            row["roofline"] = row["frame_bytes"] / max(measured) / 1e6 / row["frame_ms"]
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
    """Each aim, what was found, and whether it holds; None where nothing was measured."""
    ours = [row for row in rows if row.get("backend") == "tensorrt" and row.get("model") == "0.6b"]
    int4 = [row for row in ours if row.get("precision") == "int4"]
    torch = [row for row in rows if str(row.get("case", "")).startswith(_TORCH) and "frame_ms" in row]
    rooflines = [row["roofline"] for row in int4 if row.get("roofline") is not None]
    gaps = [row["gap"] for row in ours if row.get("gap") is not None]
    speedups = [
        min(other["frame_ms"] for other in torch if other["slots"] == row["slots"]) / row["frame_ms"]
        for row in int4
        if "frame_ms" in row and any(other["slots"] == row["slots"] for other in torch)
    ]
    memory = [row["memory_mb"] for row in int4 if row.get("slots") == 4 and row.get("memory_mb") is not None]
    return [
        _aim(f"int4 frame reaches {LEAST_ROOFLINE:.0%} of the memory floor", max(rooflines, default=None),
             lambda found: found >= LEAST_ROOFLINE),
        _aim(f"gap between frames at most {MOST_GAP:.0%} of a frame", min(gaps, default=None),
             lambda found: found <= MOST_GAP),
        _aim(f"int4 frame {LEAST_SPEEDUP:g} times faster than the best CUDA-graphed PyTorch, bf16",
             max(speedups, default=None), lambda found: found >= LEAST_SPEEDUP),
        _aim(f"0.6B int4 with 4 slots in {MOST_MEMORY_MB:.0f} MB", min(memory, default=None),
             lambda found: found <= MOST_MEMORY_MB),
    ]  # fmt: skip


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
