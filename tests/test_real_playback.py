"""Real PyAudio into devices that keep what they play, compared sample by sample, and into one that plays at the pace of
real time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.sink import to_pcm16
from tests.audio_world import (
    file_devices,
    find_in,
    needs_pacing,
    needs_playback,
    needs_pyaudio,
    no_devices,
    paced_device,
    recording,
    run_python,
)
from tests.fake_engine import sine

RATE = 24000

_PLAY = """
import asyncio, json, sys
from dataclasses import asdict
from app.config import PlaybackConfig
from app.speaker import SpeakerSink
from tests.fake_engine import sine

async def main(name, settings, frames):
    sink = SpeakerSink(24000, PlaybackConfig(**settings), device=name or None)
    for number in range(frames):
        await sink.write(sine(1, number))
    await sink.finish()
    print(json.dumps(asdict(sink.statistics())))

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])))
"""


@needs_playback
@pytest.mark.parametrize("name", ["file24", ""])
def test_real_playback_is_exact(tmp_path: Path, name: str) -> None:
    said = json.loads(run_python(_PLAY, file_devices(tmp_path), name, '{"lead_in_ms": 20}', "25"))
    played = np.frombuffer((tmp_path / "tofile24.raw").read_bytes(), np.int16)
    assert find_in(played, to_pcm16(sine(25))) == 480
    assert said["sample_rate_hz"] == RATE
    assert said["written_samples"] == 25 * 1920


@needs_playback
def test_real_playback_at_another_rate_and_in_stereo(tmp_path: Path) -> None:
    soxr = pytest.importorskip("soxr")
    said = json.loads(
        run_python(_PLAY, file_devices(tmp_path), "file48", '{"sample_rate_hz": 48000, "lead_in_ms": 0}', "10")
    )
    assert said["sample_rate_hz"] == 48000
    expected = to_pcm16(soxr.resample(sine(10), RATE, 48000)).astype(np.int32)
    played = np.frombuffer((tmp_path / "tofile48.raw").read_bytes(), np.int16).reshape(-1, 2)[: len(expected)]
    assert np.abs(played - expected[:, None]).max() <= 1


@needs_pyaudio
@needs_pacing
def test_playback_at_the_pace_of_real_time(tmp_path: Path) -> None:
    """Two seconds arrive whole and without a gap."""
    file = tmp_path / "heard.raw"
    with paced_device(tmp_path) as world, recording(world, file):
        said = json.loads(run_python(_PLAY, world, "", "{}", "25"))
    heard = np.frombuffer(file.read_bytes()[: file.stat().st_size // 2 * 2], np.int16)
    assert find_in(heard, to_pcm16(sine(25))) is not None
    assert (said["underruns"], said["gap_ms"], said["device_underruns"]) == (0, 0.0, 0)


@needs_playback
@pytest.mark.skipif(Path("/proc/asound/cards").exists(), reason="this machine has sound hardware: it cannot look deaf")
def test_a_machine_without_sound_says_so(tmp_path: Path) -> None:
    code = f"""
import asyncio
from app.sink import SinkError
try:
    exec({_PLAY!r})
except SinkError as error:
    print(error)
"""
    assert "no sound device was found" in run_python(code, no_devices(tmp_path), "", "{}", "1")
