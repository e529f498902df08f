"""A page to look at and listen to: the voice beside its teacher, as spectrograms, with what was heard.

Knows: pictures, HTML. Does not know: how anything was made or scored. The page is one file and needs nothing else.
"""

from __future__ import annotations

import base64
import html
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import soundfile

from export.train.alike import Wave, log_mel

_DARKEST_DB: Final = -75.0
_SCALE: Final = 2  # pixels per mel band and per column

_STYLE: Final = """body{font:15px/1.4 sans-serif;margin:2em auto;max-width:76em;background:#fff;color:#222}
td{vertical-align:top;padding:.2em .6em .8em 0}img{display:block;max-width:100%}audio{height:2em;width:16em}
.wrong{color:#b00}h2{margin-top:2em}small{color:#666}"""


@dataclass(frozen=True)
class Row:
    """One sentence: what was said, what was heard, and both sounds."""

    kind: str
    text: str
    heard: str
    wrong: bool
    taught: Wave
    made: Wave


def png(grey: npt.NDArray[np.uint8]) -> bytes:
    """A greyscale picture [rows, columns] as a PNG file."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    height, width = grey.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), grey], axis=1)  # filter 0 in front of each line
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def spectrogram(wave: Wave, rate: int) -> bytes:
    """Mel bands over time, high bands at the top, loud parts dark, as a PNG file."""
    bands = log_mel(wave, rate).T[::-1]
    share = np.clip((bands - bands.max()) / _DARKEST_DB, 0, 1)
    return png(np.repeat(np.repeat((share * 255).astype(np.uint8), _SCALE, axis=0), _SCALE, axis=1))


def _inline(kind: str, body: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(body).decode()}"


def _cell(name: str, wave: Wave, rate: int) -> str:
    sound = io.BytesIO()
    soundfile.write(sound, wave, rate, format="OGG", subtype="OPUS")
    picture = _inline("image/png", spectrogram(wave, rate))
    return (
        f'<td><small>{name}, {len(wave) / rate:.2f} s</small><img alt="" src="{picture}">'
        f'<audio controls preload="none" src="{_inline("audio/ogg", sound.getvalue())}"></audio></td>'
    )


def write_page(path: Path, title: str, rows: dict[str, list[Row]], rate: int) -> None:
    """Write the page: a table of sentences for every speaker."""
    out = [f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>']
    out.append(f"<h1>{html.escape(title)}</h1>")
    for speaker, sentences in rows.items():
        out.append(f"<h2>{html.escape(speaker)}</h2><table>")
        for row in sentences:
            mark = ' class="wrong"' if row.wrong else ""
            out.append(
                f"<tr><td colspan=2><b>{html.escape(row.text)}</b> <small>{row.kind}</small><br>"
                f"<span{mark}>heard: {html.escape(row.heard)}</span></td></tr>"
                f"<tr>{_cell('teacher', row.taught, rate)}{_cell('voice', row.made, rate)}</tr>"
            )
        out.append("</table>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(out), encoding="utf-8")
