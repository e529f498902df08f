"""A trace as a picture: rows over time, one box per piece of work, as SVG that any browser shows.

Knows: Chrome's trace events as `scripts.trace_run` makes them. Does not know: the engine.
"""

from __future__ import annotations

from typing import Any, Final
from xml.sax.saxutils import escape

COLOURS: Final = {"prefill": "#c0504d", "step": "#4f81bd", "codec": "#9bbb59", "sound": "#d9d9d9"}
OTHER: Final = "#f2c14e"
LABEL_PX, ROW_PX, BOX_PX, WIDTH_PX, HEAD_PX = 110, 22, 16, 1100, 34
TICKS: Final = 10


def picture(events: list[dict[str, Any]], until_ms: float) -> str:
    """SVG of the first `until_ms` milliseconds of a trace."""
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and "name" in event["args"]}
    rows = {tid: index for index, tid in enumerate(sorted(names))}
    scale = WIDTH_PX / until_ms
    bottom = HEAD_PX + ROW_PX * len(rows)
    parts = [_open(LABEL_PX + WIDTH_PX + 30, bottom + 30)]
    for tick in range(TICKS + 1):
        x = LABEL_PX + WIDTH_PX * tick / TICKS
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD_PX - 4}" y2="{bottom}" stroke="#e8e8e8"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{until_ms * tick / TICKS:.0f} ms</text>'
        )
    for tid, index in rows.items():
        parts.append(f'<text x="4" y="{HEAD_PX + ROW_PX * index + 13}">{escape(names[tid])}</text>')
    for event in events:
        if event["ph"] != "X" or event["ts"] / 1000 >= until_ms:
            continue
        begin_ms, length_ms = event["ts"] / 1000, event["dur"] / 1000
        wide = max(min(length_ms, until_ms - begin_ms) * scale, 0.6)
        y = HEAD_PX + ROW_PX * rows[event["tid"]]
        colour = COLOURS.get(event["name"], OTHER)
        parts.append(
            f'<rect x="{LABEL_PX + begin_ms * scale:.1f}" y="{y}" width="{wide:.1f}" height="{BOX_PX}" fill="{colour}">'
            f"<title>{escape(event['name'])} {length_ms:.1f} ms</title></rect>"
        )
    return "\n".join([*parts, *_legend(), "</svg>", ""])


def _open(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        f' font-size="11"><rect width="{width}" height="{height}" fill="white"/>'
    )


def _legend() -> list[str]:
    parts, x = [], LABEL_PX
    for name, colour in {**COLOURS, "waiting": OTHER}.items():
        parts.append(
            f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/><text x="{x + 16}" y="18">{name}</text>'
        )
        x += 90
    return parts
