"""What the daemon and its player say to each other, through two pipes.

Purpose: the messages, and their frames: one byte of kind, four of length, then JSON or samples. Knows: msgspec, forms.
Does not know: processes, devices, contexts.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Annotated, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta

from engines.contract import Pcm

How = Literal["played", "cut", "interrupted", "failed"]
"""How a playback ended."""
_HEAD: Final = struct.Struct("<BI")
_MESSAGE, _SOUND = 0, 1
_MOST_BYTES: Final = 1 << 22
"""Of one frame; a second of sound has a twentieth of it."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Base of every message."""


class Play(_Part, frozen=True):
    """To the player: open the device; sound follows. One at a time."""

    number: int
    """Names this playback in what follows."""
    sample_rate_hz: Annotated[int, Meta(ge=1)]
    """Of the sound; samples are float32."""
    now: bool
    """Interrupt another program's speech, rather than wait."""


class End(_Part, frozen=True):
    """To the player: no more sound; play what is there."""

    number: int


class Cut(_Part, frozen=True):
    """To the player: silence at once."""

    number: int


class Look(_Part, frozen=True):
    """To the player: look again which devices there are, unless one plays; `Present` answers, always."""


class Present(_Part, frozen=True):
    """From the player: whether there is anything to play on."""

    absence: str | None
    """Why not, for people."""


class Sounding(_Part, frozen=True):
    """From the player: the first sample is in the device."""

    number: int
    device: str
    at_s: float
    """By the machine's monotonic clock."""


class Taken(_Part, frozen=True):
    """From the player: it has room again for so many samples."""

    number: int
    samples: int
    underruns: int
    """Gaps heard so far."""


class Ended(_Part, frozen=True):
    """From the player: the last word of a playback."""

    number: int
    how: How
    error: str | None
    underruns: int
    gap_ms: float


ToPlayer = Play | End | Cut | Look
FromPlayer = Present | Sounding | Taken | Ended

_encoder: Final = msgspec.json.Encoder()
_to_player: Final[msgspec.json.Decoder[ToPlayer]] = msgspec.json.Decoder(ToPlayer)
_from_player: Final[msgspec.json.Decoder[FromPlayer]] = msgspec.json.Decoder(FromPlayer)


def pack(message: ToPlayer | FromPlayer) -> bytes:
    """A message as a frame."""
    data = _encoder.encode(message)
    return _HEAD.pack(_MESSAGE, len(data)) + data


def pack_sound(pcm: Pcm) -> bytes:
    """Sound of the present playback as a frame."""
    data = pcm.astype("<f4", copy=False).tobytes()
    return _HEAD.pack(_SOUND, len(data)) + data


async def read_to_player(reader: asyncio.StreamReader) -> ToPlayer | Pcm:
    """The next frame, on the player's side. Raises `asyncio.IncompleteReadError` at the end."""
    kind, data = await _read(reader)
    return np.frombuffer(data, "<f4").astype(np.float32, copy=False) if kind == _SOUND else _to_player.decode(data)


async def read_from_player(reader: asyncio.StreamReader) -> FromPlayer:
    """The next frame, on the daemon's side. Raises `asyncio.IncompleteReadError` at the end."""
    _, data = await _read(reader)
    return _from_player.decode(data)


async def _read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    kind, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if size > _MOST_BYTES:
        raise ValueError(f"a frame of {size} bytes")
    return kind, await reader.readexactly(size)
