"""A block of sound on the wire: twelve bytes, then the samples.

Purpose: the header's codec. Knows: its layout. Does not know: messages, encodings, sockets.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from app.client_places import PROTOCOL
from app.protocol_errors import ProtocolError

HEADER: Final = struct.Struct("<BBHII")
HEADER_VERSION: Final = 1
LAST_BLOCK: Final = 1
"""Flag: no block of this context follows."""


class BlockHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The 12 bytes before the sound of a block, little-endian."""

    number: int
    """The context's."""
    sequence: int
    """Of the block within its context, from 0."""
    first_sample: int
    """Samples of the context before this block, modulo 2^32."""
    last: bool = False

    def pack(self) -> bytes:
        """The header's bytes."""
        flags = LAST_BLOCK if self.last else 0
        return HEADER.pack(
            HEADER_VERSION, flags, self.number, self.sequence & 0xFFFFFFFF, self.first_sample & 0xFFFFFFFF
        )

    @classmethod
    def unpack(cls, block: bytes) -> BlockHeader:
        """Read the header of a block. Raises `ProtocolError`."""
        if len(block) < HEADER.size:
            raise ProtocolError("bad_field", f"a block has at least {HEADER.size} bytes, not {len(block)}")
        version, flags, number, sequence, first_sample = HEADER.unpack_from(block)
        if version != HEADER_VERSION or flags & ~LAST_BLOCK:
            raise ProtocolError("bad_field", f"a block of version {version} with flags {flags:#x} is not of {PROTOCOL}")
        return cls(number=number, sequence=sequence, first_sample=first_sample, last=bool(flags & LAST_BLOCK))
