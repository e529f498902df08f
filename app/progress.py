"""Progress for a person at a terminal.

Purpose: one moving line on stderr while speech is made; nothing where stderr is not a terminal. It lives in a thread of
its own and only looks, so that neither its drawing nor the loading of rich holds up any sound. Knows: rich (loaded
late), a session's report. Does not know: how speech is made.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Final

from app.session import SessionReport

_INTERVAL_S: Final = 0.25
_DELAY_S: Final = 0.5
"""A run shorter than this shows nothing."""


class Progress:
    """Shows a session's report while its `with` lasts."""

    def __init__(self, report: SessionReport, sample_rate_hz: int) -> None:
        self._report = report
        self._sample_rate_hz = sample_rate_hz
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, name="speakd-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._ended.wait(_DELAY_S):
            return
        from rich.console import Console

        with Console(stderr=True).status(self._line()) as status:
            while not self._ended.wait(_INTERVAL_S):
                status.update(self._line())

    def _line(self) -> str:
        audio_s = self._report.samples / self._sample_rate_hz
        if not audio_s:
            return "waiting for text"
        segments = f", {self._report.segments} segments" if self._report.segments else ""  # a daemon does not say
        return f"{audio_s:.1f} s of sound{segments} · Ctrl-C stops"
