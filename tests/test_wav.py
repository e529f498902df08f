"""Headers of wav files, as others read them."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from app.executor import BoundedExecutor
from app.file_sink import FileSink
from app.sink import to_pcm16
from app.wav import streaming_wav_header, wav_header
from app.wishes import FileFormat
from tests.fake_engine import sine
from tests.test_file_sink import RATE, fill, pool, read_back, run

__all__ = ["pool"]  # a fixture


def test_streaming_wav_is_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "stream.wav"
    path.write_bytes(streaming_wav_header(RATE) + to_pcm16(sine(2)).tobytes())
    assert np.array_equal(read_back(path), to_pcm16(sine(2)))


def test_a_complete_wav_says_how_long_it_is(tmp_path: Path, pool: BoundedExecutor) -> None:
    """Python's `wave`, and whatever else goes by the header, would find two billion samples."""

    async def scenario() -> None:
        sink = FileSink(str(tmp_path / "a.wav"), FileFormat.WAV, RATE, pool)
        await fill(sink, 2)
        await sink.finish()

    run(scenario())
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getnframes(), file.getframerate()) == (2 * 1920, RATE)
    size = (tmp_path / "a.wav").stat().st_size
    assert int.from_bytes((tmp_path / "a.wav").read_bytes()[4:8], "little") == size - 8


def test_a_length_beyond_32_bits_stays_unknown() -> None:
    assert wav_header(RATE, 2**32) == streaming_wav_header(RATE)
    assert len(wav_header(RATE, 10)) == 44
