"""Files: what is in them, when they get their name, and that a failure leaves nothing half done."""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from app.executor import BoundedExecutor
from app.file_sink import STDOUT, FileSink, format_for
from app.sink import SinkError, to_pcm16
from app.wishes import FileFormat
from tests.fake_engine import sine

RATE = 24000


@pytest.fixture
def pool() -> Iterator[BoundedExecutor]:
    made = BoundedExecutor("audio", workers=2, max_waiting=8)
    yield made
    made.shutdown()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


async def fill(sink: FileSink, blocks: int = 3) -> None:
    for number in range(blocks):
        await sink.write(sine(1, number))


async def fill_all(sink: FileSink) -> None:
    """A few seconds of sound, to the end."""
    await fill(sink, 60)
    await sink.finish()


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def read_back(path: Path) -> Any:
    samples, rate = soundfile.read(path, dtype="int16")
    assert rate == RATE
    return samples


@pytest.mark.parametrize("file_format", [FileFormat.WAV, FileFormat.FLAC])
def test_a_file_holds_the_samples(tmp_path: Path, pool: BoundedExecutor, file_format: FileFormat) -> None:
    path = tmp_path / "out.sound"

    async def scenario() -> None:
        sink = FileSink(str(path), file_format, RATE, pool)
        await fill(sink)
        assert not path.exists(), "the final name is given at the end"
        assert path.with_name("out.sound.part").exists()
        await sink.finish()
        await sink.abort()

    run(scenario())
    assert names(tmp_path) == ["out.sound"]
    assert np.array_equal(read_back(path), to_pcm16(sine(3)))
    assert soundfile.info(path).subtype == "PCM_16"


def test_raw_is_samples_alone(tmp_path: Path, pool: BoundedExecutor) -> None:
    path = tmp_path / "out.raw"

    async def scenario() -> None:
        sink = FileSink(str(path), FileFormat.RAW, RATE, pool)
        await fill(sink)
        await sink.finish()

    run(scenario())
    assert path.read_bytes() == to_pcm16(sine(3)).tobytes()


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_stop_leaves_a_valid_file(tmp_path: Path, pool: BoundedExecutor, file_format: FileFormat) -> None:
    path = tmp_path / "out.sound"

    async def scenario() -> None:
        sink = FileSink(str(path), file_format, RATE, pool)
        await fill(sink, 2)
        await sink.stop()

    run(scenario())
    assert names(tmp_path) == ["out.sound"]
    if file_format is not FileFormat.RAW:
        assert len(read_back(path)) == 2 * 1920


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_silence_is_a_valid_file(tmp_path: Path, pool: BoundedExecutor, file_format: FileFormat) -> None:
    path = tmp_path / "out.sound"
    run(FileSink(str(path), file_format, RATE, pool).finish())
    if file_format is FileFormat.RAW:
        assert path.read_bytes() == b""
    else:
        assert len(read_back(path)) == (file_format is FileFormat.FLAC), "flac has no empty file: one zero stands in"


def test_abort_leaves_nothing_and_keeps_what_was_there(tmp_path: Path, pool: BoundedExecutor) -> None:
    path = tmp_path / "out.wav"
    path.write_text("older")

    async def scenario() -> None:
        sink = FileSink(str(path), FileFormat.WAV, RATE, pool)
        await fill(sink)
        await sink.abort()
        await sink.abort()

    run(scenario())
    assert names(tmp_path) == ["out.wav"]
    assert path.read_text() == "older"


def test_a_stale_part_is_replaced_and_a_living_one_respected(tmp_path: Path, pool: BoundedExecutor) -> None:
    path = tmp_path / "out.wav"
    path.with_name("out.wav.part").write_bytes(b"x" * 100_000)

    async def scenario() -> None:
        first = FileSink(str(path), FileFormat.WAV, RATE, pool)
        await fill(first)
        second = FileSink(str(path), FileFormat.WAV, RATE, pool)
        with pytest.raises(SinkError, match="another program is writing"):
            await fill(second)
        await second.abort()
        await first.finish()

    run(scenario())
    assert len(read_back(path)) == 3 * 1920


@pytest.mark.parametrize("end", ["finish", "abort"])
def test_a_writer_who_ends_just_as_another_begins_keeps_its_file(
    tmp_path: Path, pool: BoundedExecutor, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """Between opening the part and holding it, that may become the other's complete file."""
    path = tmp_path / "out.wav"

    async def scenario() -> None:
        first, second = (FileSink(str(path), FileFormat.WAV, RATE, pool) for _ in range(2))
        await fill(first)
        opened, ended, hold = threading.Event(), threading.Event(), fcntl.flock

        def late(descriptor: int, how: int) -> None:
            opened.set()
            assert ended.wait(30)
            hold(descriptor, how)

        monkeypatch.setattr(fcntl, "flock", late)
        beginning = asyncio.ensure_future(fill(second, 1))
        while not opened.is_set():
            await asyncio.sleep(0)
        await getattr(first, end)()
        ended.set()
        await beginning
        if end == "finish":
            assert len(read_back(path)) == 3 * 1920, "until the second one is complete"
        await second.finish()

    run(scenario())
    assert len(read_back(path)) == 1920
    assert names(tmp_path) == ["out.wav"]


def test_links_and_permissions_survive(tmp_path: Path, pool: BoundedExecutor) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.wav"
    link.symlink_to(tmp_path / "real" / "file.wav")

    async def scenario() -> None:
        sink = FileSink(str(link), FileFormat.WAV, RATE, pool)
        await fill(sink)
        await sink.finish()

    mask = os.umask(0o027)
    try:
        run(scenario())
    finally:
        os.umask(mask)
    assert link.is_symlink()
    assert stat.S_IMODE((tmp_path / "real" / "file.wav").stat().st_mode) == 0o640


def test_what_comes_after_the_end_changes_nothing(tmp_path: Path, pool: BoundedExecutor) -> None:
    async def scenario() -> None:
        sink = FileSink(str(tmp_path / "a.raw"), FileFormat.RAW, RATE, pool)
        await fill(sink, 1)
        await sink.finish()
        await sink.write(sine(1))
        await sink.finish()
        await sink.abort()
        assert (tmp_path / "a.raw").read_bytes() == to_pcm16(sine(1)).tobytes()

    run(scenario())


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_a_full_disk_is_said(pool: BoundedExecutor, file_format: FileFormat) -> None:
    async def scenario() -> None:
        sink = FileSink("/dev/full", file_format, RATE, pool)
        with pytest.raises(SinkError, match=r"cannot write '/dev/full': No space left on device$"):
            await fill_all(sink)
        await sink.abort()

    run(scenario())


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_a_full_disk_leaves_nothing(tmp_path: Path, pool: BoundedExecutor, file_format: FileFormat) -> None:
    """The same failure on a file that has a name: its part is taken away."""
    path = tmp_path / "out.sound"

    async def scenario() -> None:
        sink = FileSink(str(path), file_format, RATE, pool)
        await fill(sink, 1)
        descriptor = sink._file.fileno() if sink._file else -1
        full = os.open("/dev/full", os.O_RDWR)
        os.dup2(full, descriptor)
        os.close(full)
        with pytest.raises(SinkError, match="No space left on device; what had been written of it was removed"):
            await fill_all(sink)

    run(scenario())
    assert names(tmp_path) == []


def test_a_directory_in_the_way_is_said_before_anything_is_written(tmp_path: Path, pool: BoundedExecutor) -> None:
    path = tmp_path / "out.wav"
    path.mkdir()

    async def scenario() -> None:
        with pytest.raises(SinkError, match="Is a directory"):
            await FileSink(str(path), FileFormat.WAV, RATE, pool).write(sine(1))

    run(scenario())
    assert names(tmp_path) == ["out.wav"]


def test_what_can_work_is_not_refused_beforehand(
    tmp_path: Path, pool: BoundedExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").mkdir()
    FileSink(STDOUT, FileFormat.WAV, RATE, pool).check()
    FileSink("a.flac", FileFormat.FLAC, RATE, pool).check()
    assert names(tmp_path) == ["-"], "nothing is written"


def test_refuses_what_cannot_work(tmp_path: Path, pool: BoundedExecutor) -> None:
    for path, says in [
        (tmp_path, "it is a directory"),
        (tmp_path / "no" / "out.wav", "there is no directory"),
    ]:
        with pytest.raises(SinkError, match=says):
            FileSink(str(path), FileFormat.WAV, RATE, pool).check()
    with pytest.raises(SinkError, match="flac cannot be written to a pipe"):
        FileSink(STDOUT, FileFormat.FLAC, RATE, pool)


@pytest.mark.parametrize(
    ("output", "wished", "found"),
    [
        ("a.wav", None, FileFormat.WAV),
        ("a.FLAC", None, FileFormat.FLAC),
        ("a.pcm", None, FileFormat.RAW),
        ("a.wav", FileFormat.RAW, FileFormat.RAW),
        (STDOUT, None, FileFormat.WAV),
        ("/dev/null", None, FileFormat.WAV),
    ],
)
def test_the_format_follows_from_the_name(output: str, wished: FileFormat | None, found: FileFormat) -> None:
    assert format_for(output, wished) is found


def test_an_unknown_ending_is_refused() -> None:
    with pytest.raises(SinkError, match=r"cannot tell the format of 'a\.mp3'.*--format"):
        format_for("a.mp3", None)


def test_sixteen_bits_round_and_clip() -> None:
    samples = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 0.5 / 32767, 0.6 / 32767], np.float32)
    assert to_pcm16(samples).tolist() == [0, 32767, -32767, 32767, -32768, 0, 1]
