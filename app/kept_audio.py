"""A sound device that stays open between two playbacks.

Purpose: `KeptAudio`, an `AudioSystem` that keeps PortAudio and the last stream, so that the next sound need not wait
for the device to be opened. Knows: which stream fits a wish, when to start over. Does not know: time, processes, what
is played. Belongs to whoever plays, one at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any

from app.devices import AudioSystem, OutputDevice, StreamFormat
from app.sink import SinkError


class KeptAudio:
    """Stands in for `AudioSystem`; leaving its `with` closes nothing, `release` and `forget` do."""

    def __init__(self, system: Callable[[], Any] = AudioSystem) -> None:
        self._opener = system
        self._system: Any = None
        self._can_do: dict[tuple[str, StreamFormat], bool] = {}
        """What was asked before: a device that is open cannot be asked again."""
        self._kept: KeptStream | None = None

    def __enter__(self) -> KeptAudio:
        self._open_system()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything is kept."""

    def devices(self) -> list[OutputDevice]:
        """Every output there was when PortAudio was opened."""
        found: list[OutputDevice] = self._open_system().devices()
        return found

    def can_do(self, device: OutputDevice, wished: StreamFormat) -> bool:
        """Whether the device takes a format. Raises `SinkError` where it is busy."""
        key = (device.name, wished)
        if key not in self._can_do:
            self.release()
            self._can_do[key] = bool(self._open_system().can_do(device, wished))
        return self._can_do[key]

    def open(self, device: OutputDevice, wished: StreamFormat, period_frames: int) -> KeptStream:
        """The stream that is kept if it is the right one, else a new one. Raises `SinkError`."""
        key = (device.name, wished, period_frames)
        kept, self._kept = self._kept, None
        if kept is not None and kept.key == key:
            kept.start()
            return kept
        if kept is not None:
            kept.let_go()
        return KeptStream(self._open_system().open(device, wished, period_frames), key, self._keep)

    def release(self) -> None:
        """Give the device back to other programs."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.let_go()

    def forget(self) -> None:
        """Start over: devices may have come and gone, which PortAudio sees only when it is opened."""
        self.release()
        self._can_do.clear()
        system, self._system = self._system, None
        if system is not None:
            system.__exit__(None, None, None)

    def absence(self) -> str | None:
        """Why nothing can be played here; None where something may."""
        try:
            if self.devices():
                return None
            self.forget()
            return None if self.devices() else "no sound device was found"
        except SinkError as error:
            return str(error)

    def _open_system(self) -> Any:
        if self._system is None:
            self._system = self._opener()
        return self._system

    def _keep(self, stream: KeptStream) -> None:
        self._kept = stream


class KeptStream:
    """A stream: kept if it was stopped before it was closed; one that is merely closed falls silent at once."""

    def __init__(self, stream: Any, key: object, keep: Callable[[KeptStream], None]) -> None:
        self.key = key
        self._stream = stream
        self._keep = keep
        self._stopped = False

    def start(self) -> None:
        """Make it ready for the next sound. Raises `SinkError`."""
        try:
            self._stream.start_stream()
        except OSError as error:
            self.let_go()
            raise SinkError(f"the sound device does not start again: {error}") from error
        self._stopped = False

    def get_write_available(self) -> int:
        """Frames it takes without waiting."""
        return int(self._stream.get_write_available())

    def write(self, data: bytes, frames: int) -> None:
        """Write, and wait for room."""
        self._stream.write(data, frames)

    def stop_stream(self) -> None:
        """All is out of it."""
        self._stream.stop_stream()
        self._stopped = True

    def close(self) -> None:
        """Keep it for the next sound, or drop what it holds."""
        if self._stopped:
            self._keep(self)
        else:
            self._stream.close()

    def let_go(self) -> None:
        """Really close it."""
        with contextlib.suppress(OSError):
            self._stream.close()
