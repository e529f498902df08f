"""What all processes that the daemon begins have in common.

Purpose: where they are begun, and the environment they get. Knows: where this program lies, what a service manager
says. Does not know: which processes there are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""Their directory, wherever the daemon was started: there `app` and `export` are ours."""
_OURS_ALONE: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID")


def environment_for_children() -> dict[str, str]:
    """This process's environment without what the service manager says to it alone."""
    return {name: value for name, value in os.environ.items() if name not in _OURS_ALONE}
