"""The service manager's end of the notification socket: a real datagram socket."""

from __future__ import annotations

import socket


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)
        self.heard: list[str] = []

    def listen(self) -> list[str]:
        """Every line so far."""
        while True:
            try:
                self.heard += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.heard


def environment(manager: Manager, **extra: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": manager.socket.getsockname(), **extra}
