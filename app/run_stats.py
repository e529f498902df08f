"""What a run of `speak` has cost, as one JSON line.

Purpose: `--stats`. Knows: the session's report, the process's own age, what a speaker counted. Does not know: how any
of it came about.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

import msgspec

from app.session import SessionReport
from app.sink import Sink
from app.speaker import SpeakerSink
from engines.contract import VoiceInfo


def process_age_ms() -> float | None:
    """Milliseconds since the kernel started this process; None where the system does not tell."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        started_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return 1000.0 * (time.clock_gettime(time.CLOCK_BOOTTIME) - started_s)
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def print_stats(report: SessionReport, sink: Sink, info: VoiceInfo, seed: int, stream: TextIO) -> None:
    """Write the line. Times: `*_ms` milliseconds, `*_s` seconds; `rtf` is compute seconds per second of sound."""
    audio_s = report.samples / info.sample_rate_hz
    compute_s = report.compute_ms / 1000.0
    line: dict[str, object] = {
        "outcome": report.outcome.value,
        "first_audio_ms": _rounded(report.first_audio_ms),
        "cold_first_audio_ms": _rounded(_cold_ms(report)),
        "audio_s": round(audio_s, 3),
        "compute_s": round(compute_s, 3),
        "rtf": round(compute_s / audio_s, 4) if audio_s else None,
        "frames": report.frames,
        "segments": report.segments or None,  # a daemon does not say
        "seed": seed,
    }
    if isinstance(sink, SpeakerSink):
        played = sink.statistics()
        line |= {
            "device": played.device,
            "device_rate_hz": played.sample_rate_hz,
            "underruns": played.underruns,
            "gap_ms": round(played.gap_ms, 1),
            "device_underruns": played.device_underruns,
        }
    stream.write(msgspec.json.encode(line).decode() + "\n")
    stream.flush()


def _cold_ms(report: SessionReport) -> float | None:
    """From the start of the process to the first sample."""
    age_ms = process_age_ms()
    if age_ms is None or report.first_audio_at is None:
        return None
    return age_ms - 1000.0 * (time.monotonic() - report.first_audio_at)


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 1)
