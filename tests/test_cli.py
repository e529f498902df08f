"""The whole product as a person uses it: `speak` in a process of its own, with a small model of random weights."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
import soundfile

from app.config import PlaybackConfig
from tests.audio_world import REPOSITORY, environment, file_devices, no_devices

_TIMEOUT_S = 60.0
TEXT = "The quick brown fox jumps over the lazy dog. A second sentence follows the first one here. And then a third."
_LEAD_IN = 24000 * PlaybackConfig().lead_in_ms // 1000
FRAMES = ("--max-frames", "12", "--seed", "5")


class Speak:
    """Runs `speak` with a bundle, in a folder, in an environment of its own."""

    def __init__(self, bundle: Path, folder: Path) -> None:
        self.bundle = bundle
        self.folder = folder
        self.world = environment(folder)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "app.cli", "--bundle", str(self.bundle), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**self.world, "PYTHONPATH": str(REPOSITORY)}

    def __call__(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        given: dict[str, Any] = {"capture_output": True, "stdin": None, **options}
        if "input" in given:
            del given["stdin"]
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            timeout=_TIMEOUT_S,
            check=False,
            **given,
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        streams: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, env=self.environment, bufsize=0, **streams)


@pytest.fixture
def speak(tiny_bundle: Path, tmp_path: Path) -> Speak:
    return Speak(tiny_bundle, tmp_path)


def says(done: subprocess.CompletedProcess[bytes], *parts: str, code: int = 1) -> None:
    """It failed, with one clear line and no traceback."""
    text = done.stderr.decode()
    assert done.returncode == code, text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1, text
    assert text.startswith("speak: ")
    for part in parts:
        assert part in text


def samples_of(file: Path) -> Any:
    return soundfile.read(file, dtype="int16")[0]


def raw_samples(data: bytes) -> Any:
    return np.frombuffer(data, "<i2")


def alike(one: Any, other: Any) -> bool:
    """The same sound: blocks are cut by the clock, which may turn the last bit (the codec's promise is 1e-5)."""
    return len(one) == len(other) > 0 and int(np.abs(one.astype(np.int32) - other.astype(np.int32)).max()) <= 1


def wait_until(reached: Any, process: subprocess.Popen[bytes]) -> None:
    """Look until something holds; fails when the process ends or never gets there."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not reached():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.002)


def pipe_of(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


# --- what comes out -------------------------------------------------------------------------------------


def test_every_output_holds_the_same_samples(speak: Speak) -> None:
    for name in ("a.wav", "a.flac", "a.raw"):
        done = speak("-o", name, *FRAMES, TEXT)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    raw = raw_samples((speak.folder / "a.raw").read_bytes())
    assert alike(raw, samples_of(speak.folder / "a.wav"))
    assert alike(raw, samples_of(speak.folder / "a.flac"))
    streamed = speak("-o", "-", *FRAMES, input=TEXT.encode())
    assert streamed.stderr == b""
    assert streamed.stdout[:4] == b"RIFF"
    assert alike(raw_samples(streamed.stdout[44:]), raw), "words and standard input are the same text"
    assert alike(raw_samples(speak("-o", "-", "--format", "raw", *FRAMES, *TEXT.split()).stdout), raw)
    assert sorted(path.name for path in speak.folder.iterdir() if path.suffix == ".part") == []


def test_seeds_and_greedy_repeat(speak: Speak) -> None:
    def sound(*arguments: str) -> list[list[int]]:
        speak("-o", "a.wav", "--save-codes", "c.npy", "--max-frames", "12", *arguments, "Hello there.")
        codes: list[list[int]] = np.load(speak.folder / "c.npy").tolist()
        return codes

    assert sound("--seed", "1") == sound("--seed", "1") != sound("--seed", "2")
    assert sound("--greedy", "--seed", "1") == sound("--greedy", "--seed", "2")


def test_codes_are_saved(speak: Speak) -> None:
    done = speak("-o", "a.wav", "--save-codes", "c.npy", "--greedy", "--stats", *FRAMES, TEXT)
    assert done.stderr == b""
    codes = np.load(speak.folder / "c.npy")
    assert codes.dtype == np.int32
    assert codes.shape[0] == json.loads(done.stdout)["frames"] > 0
    assert codes.ndim == 2


def test_stats_are_one_line_of_json(speak: Speak) -> None:
    done = speak("-o", "a.wav", "--stats", *FRAMES, TEXT)
    (line,) = done.stdout.decode().splitlines()
    found = json.loads(line)
    assert {"first_audio_ms", "audio_s", "compute_s", "rtf", "frames", "outcome"} <= found.keys()
    assert found["outcome"] in {"end", "limit"}
    assert found["seed"] == 5
    assert 0 < found["first_audio_ms"] < found["cold_first_audio_ms"]
    assert found["audio_s"] == pytest.approx(soundfile.info(speak.folder / "a.wav").duration, abs=1e-3)
    piped = speak("-o", "-", "--stats", *FRAMES, TEXT)
    assert json.loads(piped.stderr)["frames"] == found["frames"]
    assert piped.stdout[:4] == b"RIFF"


@pytest.mark.parametrize("text", ["", " \n\n ", "...", "\u200b"])
def test_nothing_to_say_is_no_failure(speak: Speak, text: str) -> None:
    done = speak("-o", "a.wav", "--stats", input=text.encode())
    assert done.returncode == 0
    assert json.loads(done.stdout)["frames"] == 0
    assert len(samples_of(speak.folder / "a.wav")) == 0


def test_questions_need_no_engine(speak: Speak) -> None:
    names = speak("--list-voices")
    assert names.returncode == 0
    assert b"(default)" in names.stdout
    assert b"languages: auto, " in names.stdout
    assert speak("--version").stdout.startswith(b"speakd ")
    usage = speak("--help").stdout.decode()
    for option in ("--output", "--device", "--voice", "--save-codes", "--no-normalize", "--no-daemon"):
        assert option in usage


# --- text that comes while it is spoken -----------------------------------------------------------------


def test_speaks_while_text_still_comes(speak: Speak) -> None:
    process = speak.start("-o", "-", "--format", "raw", *FRAMES)
    pipe_of(process.stdin).write(TEXT.encode())
    first = pipe_of(process.stdout).read(2)
    assert len(first) == 2, "sound came while standard input was still open"
    rest, errors = process.communicate(b" And a last one.", timeout=_TIMEOUT_S)
    assert (process.returncode, errors) == (0, b"")
    assert len(rest) > 0


def test_text_that_is_not_utf8(speak: Speak) -> None:
    says(speak("-o", "a.wav", *FRAMES, input=b"Good text. \xff\xfe bad"), "not valid UTF-8", "0xff", "offset 11")
    assert list(speak.folder.glob("a.wav*")) == []
    bad = os.fsdecode(b"caf\xe9")
    says(speak("-o", "a.wav", bad), "not valid UTF-8")


# --- stopping -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.raw"])
def test_a_signal_leaves_a_valid_file(speak: Speak, name: str, number: signal.Signals, code: int) -> None:
    process = speak.start("-o", name, "--stats", *FRAMES)
    pipe_of(process.stdin).write(TEXT.encode())
    part = speak.folder / f"{name}.part"
    wait_until(lambda: part.exists() and (part.stat().st_size > 44 or name == "a.flac"), process)
    process.send_signal(number)
    stats, errors = process.communicate(timeout=_TIMEOUT_S)
    assert (process.returncode, errors) == (code, b"")
    assert json.loads(stats)["outcome"] == "cancelled"
    assert not part.exists()
    if name != "a.raw":
        samples_of(speak.folder / name)
    assert (speak.folder / name).stat().st_size > 0


def test_what_is_ignored_stays_ignored(speak: Speak) -> None:
    """As under nohup."""
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *speak.command("-o", "a.wav", *FRAMES)]
    process = subprocess.Popen(
        command, cwd=speak.folder, env=speak.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    stdin = pipe_of(process.stdin)
    stdin.write(TEXT.encode())
    stdin.flush()
    wait_until((speak.folder / "a.wav.part").exists, process)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=_TIMEOUT_S)
    assert (process.returncode, errors) == (0, b"")


def test_a_signal_before_anything_was_said(speak: Speak) -> None:
    process = speak.start("-o", "a.wav")
    wait_until(lambda: "onnxruntime" in Path(f"/proc/{process.pid}/maps").read_text(), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=_TIMEOUT_S)
    assert (process.returncode, errors) == (130, b"")
    assert list(speak.folder.glob("*.part")) == []


def test_a_reader_that_leaves_is_no_trouble(speak: Speak) -> None:
    process = speak.start("-o", "-", *FRAMES)
    pipe_of(process.stdin).write(TEXT.encode())
    assert pipe_of(process.stdout).read(4) == b"RIFF"
    pipe_of(process.stdout).close()
    with contextlib.suppress(BrokenPipeError):
        pipe_of(process.stdin).write(b" And more of it. " * 100)
    with contextlib.suppress(BrokenPipeError):
        pipe_of(process.stdin).close()
    errors = pipe_of(process.stderr).read()
    pipe_of(process.stderr).close()
    assert (process.wait(_TIMEOUT_S), errors) == (141, b"")


# --- what can go wrong ----------------------------------------------------------------------------------


def test_unknown_names_are_answered_with_the_known(speak: Speak) -> None:
    says(speak("-o", "a.wav", "--voice", "nobody", "Hi."), "nobody", "aiden")
    says(speak("-o", "a.wav", "--language", "klingon", "Hi."), "klingon", "english")
    assert list(speak.folder.glob("a.wav*")) == []


def test_places_that_cannot_be_written(speak: Speak) -> None:
    says(speak("-o", "no/a.wav", "Hi."), "cannot write 'no/a.wav'", "no directory")
    says(speak("-o", ".", "--format", "wav", "Hi."), "it is a directory")
    says(speak("-o", "a.mp3", "Hi."), "a.mp3", "--format")
    says(speak("-o", "/proc/a.wav", *FRAMES, "Hi."), "cannot write '/proc/a.wav'")
    says(speak("-o", "a.wav", "--save-codes", "no/c.npy", "Hi."), "cannot write the codes to 'no/c.npy'")
    says(speak("-o", "-", "--format", "flac", "Hi."), "flac cannot be written to a pipe")


def test_a_full_disk_at_standard_output(speak: Speak) -> None:
    with Path("/dev/full").open("wb") as full:
        says(
            speak("-o", "-", *FRAMES, TEXT, capture_output=False, stdout=full, stderr=subprocess.PIPE),
            "cannot write standard output",
            "No space left",
        )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("A FULL DISK IS NOT TESTED: mounting a small tmpfs is not allowed here (needs root)")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.raw"])
def test_a_full_disk_leaves_nothing(speak: Speak, small_disk: Path, name: str) -> None:
    done = speak("-o", str(small_disk / name), "--seed", "5", "--max-frames", "100", input=(TEXT * 30).encode())
    says(done, f"cannot write '{small_disk / name}'", "No space left")
    assert list(small_disk.iterdir()) == []


def test_bundles_that_cannot_be_used(speak: Speak) -> None:
    good, bad = speak.bundle, speak.folder / "bad"
    speak.bundle = bad
    says(speak("-o", "a.wav", "Hi."), str(bad), "manifest.json")
    bad.mkdir()
    says(speak("-o", "a.wav", "Hi."), "not a voice bundle")
    shutil.copytree(good, bad, dirs_exist_ok=True)
    weights = bad / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    says(speak("-o", "a.wav", "Hi."), "weights.safetensors")
    manifest = bad / "manifest.json"
    manifest.write_text(manifest.read_text()[:200])
    says(speak("-o", "a.wav", "Hi."), "manifest.json", "damaged")
    manifest.write_text('{"format_version": 99}')
    says(speak("--list-voices"), "format version 99")
    assert list(speak.folder.glob("a.wav*")) == []


def test_configurations_that_cannot_be_used(speak: Speak) -> None:
    (speak.folder / "c.toml").write_text("[engine]\nslotz = 1\n")
    says(speak("--config", "c.toml", "-o", "a.wav", "Hi."), "engine.slotz", "did you mean 'slots'")
    says(speak("--config", "gone.toml", "-o", "a.wav", "Hi."), "gone.toml")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "wav"),
        ("-o", "a.wav", "--device", "x"),
        ("-o", "a.wav", "--greedy", "--top-k", "3"),
    ],
)
def test_options_that_exclude_each_other(speak: Speak, arguments: tuple[str, ...]) -> None:
    says(speak(*arguments, "Hi."), code=2)


def test_an_unknown_option_is_a_wrong_command_line(speak: Speak) -> None:
    done = speak("--loud", "Hi.")
    assert done.returncode == 2
    assert b"--loud" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--temperature", "-1"), ("--top-p", "2"), ("--top-k", "100000"), ("--repetition-penalty", "0")],
)
def test_sampling_out_of_bounds(speak: Speak, arguments: tuple[str, ...]) -> None:
    says(speak("-o", "a.wav", *arguments, "Hi."), arguments[0].strip("-").replace("-", "_"))


# --- playing --------------------------------------------------------------------------------------------

pytest_pyaudio = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("pyaudio") is None,
    reason="PyAudio is not installed: LIVE PLAYBACK IS NOT TESTED (apt install portaudio19-dev, pip install pyaudio)",
)


@pytest_pyaudio
def test_plays_what_it_would_have_written(speak: Speak) -> None:
    expected = raw_samples(speak("-o", "-", "--format", "raw", *FRAMES, TEXT).stdout)
    speak.world = file_devices(speak.folder)
    listed = speak("--list-devices")
    assert b"file24" in listed.stdout
    assert listed.stderr == b""
    done = speak("--device", "file24", "--stats", *FRAMES, TEXT)
    assert done.stderr == b"", "ALSA and JACK are kept quiet"
    assert json.loads(done.stdout)["device"] == "file24"
    played = raw_samples((speak.folder / "tofile24.raw").read_bytes())
    assert not played[:_LEAD_IN].any()
    played = played[_LEAD_IN:]
    assert alike(played[: len(expected)], expected)
    assert not played[len(expected) :].any(), "silence pushes the last sample out"
    says(speak("--device", "nonesuch", "Hi."), "no sound device 'nonesuch'", "file24")


@pytest_pyaudio
@pytest.mark.skipif(Path("/proc/asound/cards").exists(), reason="this machine has sound hardware: it cannot look deaf")
def test_a_machine_without_sound(speak: Speak) -> None:
    speak.world = no_devices(speak.folder)
    says(speak(*FRAMES, "Hi."), "no sound device was found", "-o FILE")
    says(speak("--list-devices"), "no sound device was found")


# --- people ---------------------------------------------------------------------------------------------


def test_progress_is_for_terminals(speak: Speak) -> None:
    speak.world["TERM"] = "xterm"
    ours, theirs = pty.openpty()
    process = speak.start("-o", "a.wav", *FRAMES, stderr=theirs)
    os.close(theirs)
    pipe_of(process.stdin).write(TEXT.encode())
    shown = b""
    while b"Ctrl-C stops" not in shown:
        assert select.select([ours], [], [], _TIMEOUT_S)[0], shown
        shown += os.read(ours, 4096)
    process.communicate(timeout=_TIMEOUT_S)
    os.close(ours)
    assert process.returncode == 0
