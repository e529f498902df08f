"""Ctrl-C, SIGTERM and a terminal that goes.

Purpose: hear them at once while a library has the main thread, and let the second one end what the first could not;
elsewhere let all of them end the work as Ctrl-C does. Knows: signals. Does not know: what is stopped.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)
_UNCLEARED: Final = (signal.SIGTERM, signal.SIGHUP)
"""End a process as it is, unless something is done about them."""
_SHOW_CURSOR: Final = b"\x1b[?25h"
"""For terminals, where a bar has hidden it."""


def stop_on_signals() -> threading.Event:
    """An event that they set: an exception inside TensorRT's callbacks would end the process there.

    A thread hears them: while TensorRT tries kernels it neither returns nor calls back, for minutes, and so long Python
    runs no handler. Then the second one ends the process as it is; the next build clears up.
    """
    stopping = threading.Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    for number in _ENDING:
        signal.signal(number, lambda *_: None)  # or the signal is not told
    threading.Thread(target=_listen, args=(heard, stopping), name="signals", daemon=True).start()
    return stopping


def _listen(heard: int, stopping: threading.Event) -> None:
    while True:
        number = os.read(heard, 1)[0]
        if number not in _ENDING:
            continue
        if stopping.is_set():
            if os.isatty(2):
                os.write(2, _SHOW_CURSOR)
            os._exit(128 + number)
        stopping.set()
        with suppress(OSError, ValueError):  # nobody reads that any more
            print("export: stopping; once more ends it at once", file=sys.stderr, flush=True)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """What would end the process as it is raises `KeyboardInterrupt`, once, so that what lies aside is cleared up.

    Once, for `timeout` tells it twice. Whoever ignores one of them, as under `nohup`, goes on doing so.
    """
    heard = [number for number in _UNCLEARED if signal.getsignal(number) is signal.SIG_DFL]

    def hear(*_: object) -> None:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
