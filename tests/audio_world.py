"""Sound devices made for a test: no hardware, and nothing of the machine's own configuration.

Purpose: an ALSA configuration whose devices write files, and a PulseAudio server of the test's own with a null sink
that plays at the pace of real time and can be recorded. Knows: ALSA, PulseAudio. Does not know: what is played.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

_FILES_CONF = """
</usr/share/alsa/alsa.conf>
pcm.tofile24 {{ type file slave.pcm "null" file "{folder}/tofile24.raw" format "raw" }}
pcm.file24 {{ type plug slave {{ pcm "tofile24" rate 24000 channels 1 format S16_LE }} hint.description "mono file" }}
pcm.tofile48 {{ type file slave.pcm "null" file "{folder}/tofile48.raw" format "raw" }}
pcm.file48 {{ type plug slave {{ pcm "tofile48" rate 48000 channels 2 format S16_LE }} }}
pcm.!default {{ type plug slave {{ pcm "tofile24" rate 24000 channels 1 format S16_LE }} }}
"""
_PULSE_CONF = """
</usr/share/alsa/alsa.conf>
pcm.!default { type pulse }
ctl.!default { type pulse }
"""
_PULSE_PA = """
load-module module-null-sink sink_name=paced rate=24000 channels=1 format=s16le
load-module module-native-protocol-unix socket={folder}/pulse.sock auth-anonymous=1
"""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a child that must see only the test's world."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULSE_", "ALSA_", "JACK_"))}
    return {**kept, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "JACK_NO_START_SERVER": "1", **more}


def file_devices(folder: Path) -> dict[str, str]:
    """Devices `file24`, `file48` and the default, which write what they play to `tofile24.raw` and `tofile48.raw`."""
    path = folder / "asound.conf"
    path.write_text(_FILES_CONF.format(folder=folder))
    return environment(folder, ALSA_CONFIG_PATH=str(path))


def no_devices(folder: Path) -> dict[str, str]:
    """A machine without sound, provided it has no sound card."""
    return environment(folder, ALSA_CONFIG_PATH="/usr/share/alsa/alsa.conf")


def missing_pyaudio() -> str | None:
    """Why nothing can be played here."""
    if find_spec("pyaudio") is None:
        return "LIVE PLAYBACK IS NOT TESTED: no PyAudio (apt install portaudio19-dev; pip install pyaudio)"
    return None


@cache
def missing_for_playback() -> str | None:
    """Why devices of ALSA alone cannot be played on here."""
    if missing := missing_pyaudio():
        return missing
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "import pyaudio; pyaudio.PyAudio().terminate()"]
        started = subprocess.run(command, env=no_devices(Path(folder)), capture_output=True, check=False)
    if started.returncode:
        return "this PortAudio does not start without a sound server: LIVE PLAYBACK IS NOT TESTED ON ALSA'S DEVICES"
    return None


def missing_for_pacing() -> str | None:
    """What the paced device needs and this machine does not have."""
    for program in ("pulseaudio", "parec"):
        if shutil.which(program) is None:
            return f"PACED PLAYBACK IS NOT TESTED: no {program} (apt install pulseaudio pulseaudio-utils)"
    if not list(Path("/usr/lib").glob("*/alsa-lib/libasound_module_pcm_pulse.so")):
        return "PACED PLAYBACK IS NOT TESTED: no pulse plugin of ALSA's (apt install libasound2-plugins)"
    return None


def _needs(missing: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(missing is not None, reason=missing or "")


needs_pyaudio = _needs(missing_pyaudio())
needs_playback = _needs(missing_for_playback())
needs_pacing = _needs(missing_for_pacing())


@contextmanager
def paced_device(folder: Path) -> Iterator[dict[str, str]]:
    """While this lasts, the default device plays at real time into a null sink; yields the environment to use it."""
    script, conf = folder / "pulse.pa", folder / "pulse.conf"
    script.write_text(_PULSE_PA.format(folder=folder))
    conf.write_text(_PULSE_CONF)
    world = environment(folder, ALSA_CONFIG_PATH=str(conf), PULSE_SERVER=f"unix:{folder}/pulse.sock")
    server = subprocess.Popen(
        [
            "pulseaudio",
            "-n",
            "--daemonize=no",
            "--use-pid-file=no",
            "--exit-idle-time=-1",
            "--disable-shm=yes",
            "-vvv",
            "--log-target=stderr",
            "-F",
            str(script),
        ],
        env=world,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    ready = any("Daemon startup complete" in line for line in server.stderr)
    drain = threading.Thread(target=server.stderr.read, daemon=True)
    drain.start()
    try:
        assert ready, "pulseaudio did not start"
        yield world
    finally:
        server.terminate()
        server.wait(30)
        drain.join(30)
        server.stderr.close()


@contextmanager
def recording(world: dict[str, str], file: Path) -> Iterator[None]:
    """Record what the paced device plays, as raw 16-bit samples; begins once the recorder hears."""
    with file.open("wb") as out:
        recorder = subprocess.Popen(
            [
                "parec",
                "-d",
                "paced.monitor",
                "--format=s16le",
                "--rate=24000",
                "--channels=1",
                "--latency-msec=20",
            ],
            env=world,
            stdout=out,
            stderr=subprocess.PIPE,
        )
        try:
            until = time.monotonic() + 30
            while not file.stat().st_size:  # only what is played after the first sample came is surely recorded
                assert recorder.poll() is None, "the recorder ended"
                assert time.monotonic() < until, "the recorder hears nothing"
                time.sleep(0.005)
            yield
        finally:
            recorder.terminate()
            recorder.communicate(timeout=30)


def run_python(code: str, world: dict[str, str], *arguments: str, timeout_s: float = 120) -> str:
    """Run a piece of Python in a world of its own; returns its stdout, and fails with its stderr."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**world, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def find_in(haystack: npt.NDArray[np.int16], needle: npt.NDArray[np.int16]) -> int | None:
    """Where `needle` stands in `haystack`, exactly; None if it does not."""
    at = haystack.tobytes().find(needle.tobytes())
    while at > 0 and at % 2:
        at = haystack.tobytes().find(needle.tobytes(), at + 1)
    return None if at < 0 else at // 2
