"""Sound into a file or a pipe: wav, flac, or raw 16-bit samples.

Purpose: `FileSink`. A file is written aside as `NAME.part` and renamed when it is complete, so that the final name
never holds half a file; a pipe, a device or standard output gets a header that promises no length, and is never
rewound. Knows: paths, containers, what disks and pipes do wrong. Does not know: engines, text, sound devices. The
writing itself runs on the executor given to it, never on the event loop.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from app.executor import BoundedExecutor
from app.file_writers import FlacWriter, PlainWriter, Writer
from app.sink import SinkError, to_pcm16
from app.wishes import FileFormat
from engines.contract import Pcm

STDOUT: Final = "-"
_BUFFER_BYTES: Final = 4096  # 85 ms of sound; from Python 3.14 on the usual one holds seconds
_READER_S: Final = 0.05
"""Between two looks whether a pipe has a reader."""


_BY_SUFFIX: Final = {
    ".wav": FileFormat.WAV,
    ".wave": FileFormat.WAV,
    ".flac": FileFormat.FLAC,
    ".raw": FileFormat.RAW,
    ".pcm": FileFormat.RAW,
    ".s16": FileFormat.RAW,
}


def format_for(output: str, wished: FileFormat | None) -> FileFormat:
    """The container for an output name: the one wished for, else by its ending; a pipe gets wav.

    Raises `SinkError` where the ending says nothing.
    """
    if wished is not None:
        return wished
    if output == STDOUT:
        return FileFormat.WAV
    found = _BY_SUFFIX.get(Path(output).suffix.lower())
    if found is None:
        if is_special(Path(output)):
            return FileFormat.WAV
        known = ", ".join(_BY_SUFFIX)
        raise SinkError(
            f"cannot tell the format of '{output}' from its ending ({known}); say --format wav, flac or raw"
        )
    return found


def is_special(path: Path) -> bool:
    """Whether a path is there already as something that must not be replaced: a pipe, a device, a socket."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether a path names what was opened by it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


class FileSink:
    """A `Sink` that fills one file, pipe or device."""

    def __init__(self, output: str, file_format: FileFormat, sample_rate_hz: int, executor: BoundedExecutor) -> None:
        if output == STDOUT and file_format is FileFormat.FLAC:
            raise SinkError("flac cannot be written to a pipe; take --format wav or raw, or give a file name")
        self._output = output
        self._format = file_format
        self._sample_rate_hz = sample_rate_hz
        self._executor = executor
        self._name = "standard output" if output == STDOUT else f"'{output}'"
        self._final: Path | None = None
        self._part: Path | None = None
        self._file: BinaryIO | None = None
        self._writer: Writer | None = None
        self._ended = False
        self._lock = threading.Lock()  # a write given up on by its caller may still be running when the end comes
        self._over = threading.Event()  # and may wait for a reader

    async def write(self, pcm: Pcm) -> None:
        """Append a block; a failure removes the part file."""
        data = to_pcm16(pcm).astype("<i2", copy=False).tobytes()
        await self._executor.run(self._guarded, lambda: self._write(data))

    async def finish(self) -> None:
        """Complete the file and give it its final name."""
        await self._executor.run(self._guarded, self._finish)

    async def stop(self) -> None:
        """The same as `finish`: what has been written is a valid file. A pipe without a reader is not waited for."""
        self._over.set()
        await self._executor.run(self._guarded, self._finish)

    async def abort(self) -> None:
        """Remove the part file."""
        self._over.set()
        await self._executor.run(self._guarded, self._discard)

    def check(self) -> None:
        """Refuse an output that cannot work, before anything is computed for it. Blocks; writes nothing."""
        if self._output == STDOUT:
            return
        path = Path(self._output)
        parent = path.resolve().parent
        if path.is_dir():
            raise SinkError(f"cannot write {self._name}: it is a directory; give a file name")
        if not parent.is_dir():
            raise SinkError(f"cannot write {self._name}: there is no directory '{parent}'")
        if not is_special(path) and not os.access(parent, os.W_OK):
            raise SinkError(f"cannot write {self._name}: no permission to create files in '{parent}'")

    def _guarded(self, action: Callable[[], None]) -> None:
        with self._lock:
            action()

    def _write(self, data: bytes) -> None:
        if self._ended:
            return
        try:
            self._open().write(data)
            if self._part is None and self._file is not None:
                self._file.flush()
        except OSError as error:
            raise self._failure(error) from error

    def _finish(self) -> None:
        if self._ended:
            return
        try:
            self._open().close()
            assert self._file is not None
            if self._part is not None and self._final is not None:
                os.fsync(self._file.fileno())
                self._part.replace(self._final)
                self._part = None
            self._ended = True
            self._file.close()
        except OSError as error:
            raise self._failure(error) from error

    def _open(self) -> Writer:
        if self._writer is not None:
            return self._writer
        if self._output == STDOUT:
            if sys.stdout is None:
                raise SinkError("standard output is closed; give a file name, or redirect it")
            self._file = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        elif is_special(Path(self._output)):
            self._file = os.fdopen(self._open_special(), "wb")
        else:
            self._file = self._open_part()
        if self._format is FileFormat.FLAC:
            self._writer = FlacWriter(self._file, self._sample_rate_hz)
        else:
            wav, rewind = self._format is FileFormat.WAV, self._part is not None
            self._writer = PlainWriter(self._file, self._sample_rate_hz, wav=wav, rewind=rewind)
        return self._writer

    def _open_special(self) -> int:
        """A pipe or a device; for a pipe's reader we wait until it comes or all is over."""
        while True:
            try:
                descriptor = os.open(self._output, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO or not stat.S_ISFIFO(Path(self._output).stat().st_mode):
                    raise
                if self._over.wait(_READER_S):
                    raise BrokenPipeError(errno.EPIPE, "nobody read it") from None
            else:
                os.set_blocking(descriptor, True)
                return descriptor

    def _open_part(self) -> BinaryIO:
        """The part file beside the final name, held against a second writer; links are followed, so they survive."""
        self._final = Path(self._output).resolve()
        if self._final.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = self._final.with_name(self._final.name + ".part")
        while True:
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise SinkError(f"cannot write {self._name}: another program is writing '{part}' right now") from None
            if _is_still(part, descriptor):
                break
            os.close(descriptor)  # its writer has just ended: what we opened bears the final name now, or none
        os.ftruncate(descriptor, 0)
        self._part = part
        return os.fdopen(descriptor, "r+b", _BUFFER_BYTES)

    def _failure(self, error: OSError) -> Exception:
        """Drop what is half done; one clear sentence, or `BrokenPipeError` as it is: the reader has simply left."""
        aside = self._part is not None
        self._discard()
        if isinstance(error, BrokenPipeError):
            return error
        reason = error.strerror or str(error)
        if error.errno == errno.ENOSPC and aside:
            reason += "; what had been written of it was removed"
        return SinkError(f"cannot write {self._name}: {reason}")

    def _discard(self) -> None:
        if not self._ended and self._writer is not None:
            self._writer.drop()
        self._ended = True
        if self._part is not None:
            with contextlib.suppress(OSError):
                self._part.unlink()
            self._part = None
        if self._file is not None:
            with contextlib.suppress(OSError, ValueError):
                self._file.close()
