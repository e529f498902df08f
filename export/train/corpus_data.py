"""Training examples of the talker from codes and phone times: symbol strings, frames, and who is spoken when.

Knows: alignments (phone end times in seconds), the pause convention, cutting at pauses and joining.
Does not know: networks, prompts.

The pause convention: a pause mark stands where, and only where, the teacher paused (its own mark if the text had one,
else a comma). So at run time a comma makes a pause.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from export.train.lexicon import read_alignments
from export.train.phoneset import letter

LEAD_FRAMES = 1  # frames of silence before the first phone that are cut away
MARKS = set(",.?!")


@dataclass(frozen=True)
class Example:
    """A spoken stretch: letters, frames [n, G], the first and last letter spoken in every frame, the speaker."""

    symbols: str
    frames: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    speaker: str = "anna"


def mark_of(text: str, final: bool) -> str:
    """Pause mark for the punctuation that the teacher reports ("0" is none)."""
    for char in reversed(text):
        if char in MARKS:
            return char
    return "." if final else ","


def letters_and_times(segments: list[list[object]]) -> tuple[str, list[float], list[int]]:
    """Symbol string, end time of every symbol [s], and the symbol indices of pause marks."""
    symbols, ends, pauses = "", [], []
    word = ""
    for i, (phone, end, stress, now) in enumerate(segment[:4] for segment in segments):
        if phone == "pau":
            if symbols and symbols[-1] not in MARKS:
                symbols += mark_of(str(segments[i - 1][4] if len(segments[i - 1]) > 4 else "0"), i == len(segments) - 1)
                pauses.append(len(symbols) - 1)
                ends.append(float(str(end)))
            elif symbols:
                ends[-1] = float(str(end))
            word = ""
            continue
        if symbols and now != word:
            symbols += " "
            ends.append(ends[-1])
        word = str(now)
        symbols += letter(str(phone), int(str(stress)))
        ends.append(float(str(end)))
    return symbols, ends, pauses


def example(
    segments: list[list[object]], frames: NDArray[np.int64], seconds: float, speaker: str
) -> tuple[Example, list[int]]:
    """One utterance as an example, and the pause symbols inside it. `seconds` is the length of a frame."""
    symbols, ends, pauses = letters_and_times(segments)
    n = len(frames)
    starts = np.arange(n) * seconds
    times = np.array(ends)
    first = np.searchsorted(times, starts + 1e-6, side="right")
    last = np.searchsorted(times, starts + seconds - 1e-6, side="right")
    top = len(symbols) - 1
    made = Example(symbols, frames, first.clip(0, top), last.clip(0, top), speaker)
    return cut(made, LEAD_FRAMES, n, 0, len(symbols)), pauses[:-1]


def cut(e: Example, frame0: int, frame1: int, symbol0: int, symbol1: int) -> Example:
    """Frames frame0..frame1-1 and symbols symbol0..symbol1-1 of an example."""
    top = symbol1 - symbol0 - 1
    return Example(
        e.symbols[symbol0:symbol1],
        e.frames[frame0:frame1],
        (e.first[frame0:frame1] - symbol0).clip(0, top),
        (e.last[frame0:frame1] - symbol0).clip(0, top),
        e.speaker,
    )


def split_at_pause(e: Example, pause: int) -> tuple[Example, Example] | None:
    """Cut an example in the middle of the pause of symbol `pause`; None when either side would be empty."""
    inside = np.flatnonzero((e.first <= pause) & (e.last >= pause))
    if len(inside) == 0 or pause + 2 >= len(e.symbols):
        return None
    frame = int(inside[-1]) if len(inside) > 1 else int(inside[0]) + 1
    if not 2 < frame < len(e.frames) - 2:
        return None
    left = cut(e, 0, frame, 0, pause + 1)
    right = cut(e, frame, len(e.frames), pause + 2, len(e.symbols))
    return left, right


def join(parts: list[Example]) -> Example:
    """Speak examples of one speaker one after the other, a space between their letters."""
    symbols, frames, first, last = "", [], [], []
    for part in parts:
        base = len(symbols) + (1 if symbols else 0)
        symbols += (" " if symbols else "") + part.symbols
        frames.append(part.frames)
        first.append(part.first + base)
        last.append(part.last + base)
    return Example(symbols, np.concatenate(frames), np.concatenate(first), np.concatenate(last), parts[0].speaker)


def load(codes: Path, alignments: Path, speaker: str, seconds: float = 0.08) -> list[tuple[Example, list[int]]]:
    """All utterances of one speaker's corpus: (example, inner pauses)."""
    stored = np.load(codes)
    offsets, frames = stored["offsets"], stored["codes"].astype(np.int64)
    out = []
    for i, utterance in enumerate(read_alignments(alignments)):
        segments: list[list[object]] = utterance["segments"]  # type: ignore[assignment]
        out.append(example(segments, frames[offsets[i] : offsets[i + 1]], seconds, speaker))
    return out
