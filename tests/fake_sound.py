"""A sound device made of values: it keeps what it plays, and can be made to hang or fail."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.devices import OutputDevice, StreamFormat

WAIT_S = 30.0


@dataclass
class FakeStream:
    """A device that keeps what it plays; it can be made to hang or fail."""

    channels: int = 1
    written: list[bytes] = field(default_factory=list)
    fail_after: int | None = None
    gate: threading.Event | None = None
    stopped: bool = False
    closed: bool = False

    def get_write_available(self) -> int:
        return 960

    def write(self, data: bytes, frames: int) -> None:
        assert len(data) == 2 * self.channels * frames
        if self.gate is not None:
            assert self.gate.wait(WAIT_S)
        if self.fail_after is not None and len(self.written) >= self.fail_after:
            raise OSError(-9999, "Unanticipated host error")
        self.written.append(data)

    def stop_stream(self) -> None:
        self.stopped = True

    def close(self) -> None:
        self.closed = True

    @property
    def samples(self) -> Any:
        return np.frombuffer(b"".join(self.written), np.int16)


@dataclass
class FakeSystem:
    """One device called "fake"."""

    stream: FakeStream = field(default_factory=FakeStream)
    rates: tuple[int, ...] = (24000, 48000)
    error: Exception | None = None

    def __enter__(self) -> FakeSystem:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def devices(self) -> list[OutputDevice]:
        return [OutputDevice(index=0, name="fake", channels=2, default_rate_hz=48000, is_default=True)]

    def can_do(self, _: OutputDevice, wished: StreamFormat) -> bool:
        return wished.sample_rate_hz in self.rates and wished.channels == self.stream.channels

    def open(self, *_: object) -> FakeStream:
        if self.error is not None:
            raise self.error
        return self.stream
