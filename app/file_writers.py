"""The insides of a sound file: plain samples, wav, flac.

Purpose: one writer for each container, all taking 16-bit samples as bytes; every failure of the disk comes out as the
`OSError` it was. Knows: containers, libsndfile (loaded late). Does not know: names of files, executors, sinks.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Any, BinaryIO, Protocol

from app.wav import streaming_wav_header, wav_header


class Writer(Protocol):
    """One container being filled; every method blocks."""

    def write(self, data: bytes) -> None:
        """Append samples, 16 bits little-endian. Raises `OSError`."""
        ...

    def close(self) -> None:
        """Make the file complete; it stays open. Raises `OSError`."""
        ...

    def drop(self) -> None:
        """Forget what is not written; the file is no good."""
        ...


class PlainWriter:
    """Raw samples, or wav; the wav header's lengths are set at the end where the file can be rewound."""

    def __init__(self, file: BinaryIO, sample_rate_hz: int, *, wav: bool, rewind: bool) -> None:
        self._file = file
        self._sample_rate_hz = sample_rate_hz
        self._patch = wav and rewind
        self._bytes = 0
        if wav:
            file.write(streaming_wav_header(sample_rate_hz))

    def write(self, data: bytes) -> None:
        """See `Writer`."""
        self._file.write(data)
        self._bytes += len(data)

    def close(self) -> None:
        """See `Writer`."""
        if self._patch:
            self._file.seek(0)
            self._file.write(wav_header(self._sample_rate_hz, self._bytes))
        self._file.flush()

    def drop(self) -> None:
        """Nothing is held that would have to be let go."""


class FlacWriter:
    """FLAC through libsndfile, which is loaded here and not before."""

    def __init__(self, file: BinaryIO, sample_rate_hz: int) -> None:
        import soundfile

        self._file = _RememberingFile(file)
        self._library_error: type[Exception] = soundfile.SoundFileError
        self._empty = True
        try:
            self._sound: Any = soundfile.SoundFile(
                self._file, "w", samplerate=sample_rate_hz, channels=1, format="FLAC", subtype="PCM_16"
            )
        except soundfile.SoundFileError as error:
            raise self._cause(error) from error

    def write(self, data: bytes) -> None:
        """See `Writer`."""
        try:
            self._sound.buffer_write(data, dtype="int16")
        except (self._library_error, AssertionError) as error:
            raise self._cause(error) from error
        self._empty = False
        self._file.check()

    def close(self) -> None:
        """See `Writer`."""
        if self._empty:
            self.write(bytes(2))  # libsndfile leaves a file without samples without a header too
        try:
            self._sound.close()
        except self._library_error as error:
            raise self._cause(error) from error
        self._file.check()
        self._file.file.flush()

    def drop(self) -> None:
        """Let libsndfile go without another byte written."""
        self._file.error = self._file.error or OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        with contextlib.suppress(self._library_error):
            self._sound.close()

    def _cause(self, error: Exception) -> OSError:
        return self._file.error or OSError(errno.EIO, str(error))


class _RememberingFile:
    """What libsndfile writes through: a failure must not be raised inside its callbacks, so it is kept for `check`."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        if self.error is None:
            try:
                return self.file.write(bytes(data))
            except OSError as error:
                self.error = error
        return 0

    def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if self.error is None:
            try:
                return self.file.seek(offset, whence)
            except OSError as error:  # seeking flushes
                self.error = error
        return -1

    def tell(self) -> int:
        return self.file.tell() if self.error is None else -1

    def check(self) -> None:
        if self.error is not None:
            raise self.error
