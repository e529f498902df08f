"""The client's side of RFC 6455 as bytes: the handshake, frames out and frames in.

Purpose: what `SmallWebSocket` and the quick path of `speak` both need of it; our own daemon never cuts messages, so
neither do these. It imports nothing that a bare interpreter has not loaded already. Knows: bytes. Does not know:
sockets, what is said.
"""

from __future__ import annotations

import os

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MOST_BYTES = 1 << 24
"""Of one message; the daemon's blocks are far smaller."""


def handshake(target: str, subprotocol: str, key: bytes) -> bytes:
    """The request that opens a WebSocket; `key` is 16 random bytes in base64."""
    return (
        f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {subprotocol}\r\n"
        f"Sec-WebSocket-Key: {key.decode()}\r\n\r\n"
    ).encode()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """Status line and headers of an answer; their names in small letters."""
    status, *lines = head.decode("latin-1").split("\r\n")
    return status, {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def client_frame(kind: int, payload: bytes) -> bytes:
    """A frame as a client must send it: whole, and masked."""
    size = len(payload)
    if size < 126:
        head = bytes([0x80 | kind, 0x80 | size])
    elif size < 1 << 16:
        head = bytes([0x80 | kind, 0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([0x80 | kind, 0x80 | 127]) + size.to_bytes(8, "big")
    key = os.urandom(4)
    mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
    return head + key + (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big")


def take_frame(data: bytearray) -> tuple[int, bytes] | None:
    """The first frame in `data`, which loses it; None while it is not whole. Raises `ValueError` for a foreign one."""
    if len(data) < 2:
        return None
    size, start = data[1] & 0x7F, 2
    if size >= 126:
        start = 4 if size == 126 else 10
        if len(data) < start:
            return None
        size = int.from_bytes(data[2:start], "big")
    if data[0] & 0xF0 != 0x80 or data[1] & 0x80 or size > MOST_BYTES:
        raise ValueError("a frame that our daemon does not send")
    if len(data) < start + size:
        return None
    kind, payload = data[0] & 0x0F, bytes(data[start : start + size])
    del data[: start + size]
    return kind, payload


def close_reason(payload: bytes) -> tuple[int, str]:
    """Code and reason of a close frame."""
    code = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 1005
    return code, payload[2:].decode(errors="replace")
