"""Standard streams that somebody closed before this program began.

Purpose: `hold_open`. Without it the next socket or file would be number 2, whatever libraries print would go into it,
and a message for stderr would come out of stdout, among the sound. It imports nothing that a bare interpreter has not
loaded already. Knows: their three numbers. Does not know: who writes what.
"""

from __future__ import annotations

import os
import sys


def hold_open() -> None:
    """Let those that are closed lead nowhere, for children too. `sys.stdin` and `sys.stdout` still say they are not."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest that is free
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
