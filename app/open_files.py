"""As many open files as there may be sockets.

Purpose: `allow_for` raises what this process may open to what its bound on sockets needs, or says that it cannot: a
process without a file left can neither accept nor refuse, and the event loop complains of that by the hundred. Knows:
the kernel's limits. Does not know: sockets.
"""

from __future__ import annotations

import resource
from typing import Final

from app.config import Config, ConfigError
from app.gate import RESERVE

OTHERS: Final = 512
"""Bundles, devices, logs, the text worker, the player: 20 with the default voice; a GPU's driver takes dozens. And
newcomers that the gate has not counted yet: a hundred in each turn of the loop, in a flood. With 160, a flood of 3,000
brought 945 complaints, with 512 none."""


def allow_for(config: Config) -> None:
    """Raise the limit as far as it is needed. Raises `ConfigError` where it may not be raised so far."""
    needed = config.limits.sockets + RESERVE + OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = hard
    if hard == resource.RLIM_INFINITY or hard >= needed:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            return
        except (OSError, ValueError):  # a sandbox may forbid it
            most = soft
    raise ConfigError(
        f"limits.sockets is {config.limits.sockets}, for which this process needs {needed} open files, and it may have "
        f"{most}: lower it, or allow more (`ulimit -n` in a shell, LimitNOFILE in a drop-in of the service)"
    )
