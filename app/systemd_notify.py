"""The service manager's notification protocol, sd_notify(3), the part we speak.

Purpose: tell systemd how far we are, over the datagram socket it names. Without one, every call does nothing.
Knows: the protocol's words. Does not know: when there is what to say.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class SystemdNotify:
    """Says things to the service manager; never raises, never waits."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        if self._address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
        self.watchdog_s = _watchdog_s(environment)
        """The watchdog's patience; None where nobody watches."""

    def ready(self, status: str) -> None:
        """We serve."""
        self._say("READY=1", f"STATUS={status}")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._say(f"STATUS={text}")

    def watchdog(self) -> None:
        """We are alive."""
        self._say("WATCHDOG=1")

    def reloading(self) -> None:
        """The configuration is being read again; `ready` ends it."""
        self._say("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self, status: str) -> None:
        """We are about to end."""
        self._say("STOPPING=1", f"STATUS={status}")

    def extend_timeout(self, seconds: float) -> None:
        """Starting, reloading or stopping takes so long from now on."""
        self._say(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")

    def close(self) -> None:
        """Let go of the socket; the last status goes with it, or `systemctl status` would show it ever after."""
        if self._socket is not None:
            self._say("STATUS=")
            self._socket.close()
            self._socket = None

    def _say(self, *lines: str) -> None:
        if self._socket is None:
            return
        message = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            self._socket.sendto(message.encode(errors="replace"), self._address)  # names of files may be no text
        except OSError:
            return  # nobody listens, or its buffer is full: the watchdog's next word comes soon


def _watchdog_s(environment: Mapping[str, str]) -> float | None:
    """WATCHDOG_USEC, if it is meant for this process."""
    pid = environment.get("WATCHDOG_PID")
    try:
        if pid is not None and int(pid) != os.getpid():
            return None
        patience_us = int(environment.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return patience_us / 1e6 if patience_us > 0 else None
