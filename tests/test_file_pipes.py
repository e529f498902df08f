"""Sound into pipes and what else lies about as a file: written through, never replaced, never waited for in vain."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from app.executor import BoundedExecutor
from app.file_sink import FileSink, format_for
from app.sink import SinkError, to_pcm16
from app.wav import streaming_wav_header
from app.wishes import FileFormat
from tests.fake_engine import sine
from tests.test_file_sink import RATE, fill, pool, run

__all__ = ["pool"]  # a fixture


def test_a_pipe_is_written_through_and_never_replaced(tmp_path: Path, pool: BoundedExecutor) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()

    async def scenario() -> None:
        sink = FileSink(str(path), format_for(str(path), None), RATE, pool)
        await fill(sink)
        await sink.finish()

    run(scenario())
    reader.join(30)
    assert got == [streaming_wav_header(RATE) + to_pcm16(sine(3)).tobytes()]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_pipe_is_told_even_a_little_sound_at_once(tmp_path: Path, pool: BoundedExecutor) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)

    async def scenario() -> None:
        sink = FileSink(str(fifo), FileFormat.RAW, RATE, pool)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        await sink.write(sine(1)[:10])
        assert os.read(reader, 100) == to_pcm16(sine(1)[:10]).tobytes()
        await sink.finish()
        os.close(reader)

    run(scenario())


@pytest.mark.parametrize("end", ["stop", "abort"])
def test_a_pipe_that_nobody_reads_can_be_given_up(tmp_path: Path, pool: BoundedExecutor, end: str) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    async def scenario() -> None:
        sink = FileSink(str(path), FileFormat.WAV, RATE, pool)
        writing = asyncio.ensure_future(sink.write(sine(1)))
        while not sink._lock.locked():
            await asyncio.sleep(0)
        await getattr(sink, end)()
        with pytest.raises(BrokenPipeError):
            await writing

    run(scenario())
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_socket_is_no_file(tmp_path: Path, pool: BoundedExecutor) -> None:
    async def scenario() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tmp_path / "socket"))
            with pytest.raises(SinkError, match="No such device"):
                await FileSink(str(tmp_path / "socket"), FileFormat.WAV, RATE, pool).write(sine(1))

    run(scenario())
