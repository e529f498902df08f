"""`speak` where something goes wrong or is stopped: one clear line, the right code, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_rig import FRAMES, TEXT, TIMEOUT_S, Speak, pipe_of, samples_of, says, tell, wait_until

# --- stopping -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.raw"])
def test_a_signal_leaves_a_valid_file(speak: Speak, name: str, number: signal.Signals, code: int) -> None:
    process = speak.start("-o", name, "--stats", *FRAMES)
    tell(process.stdin, TEXT.encode())
    part = speak.folder / f"{name}.part"
    wait_until(lambda: part.exists() and (part.stat().st_size > 44 or name == "a.flac"), process)
    process.send_signal(number)
    stats, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (code, b"")
    assert json.loads(stats)["outcome"] == "cancelled"
    assert not part.exists()
    if name != "a.raw":
        samples_of(speak.folder / name)
    assert (speak.folder / name).stat().st_size > 0


def test_two_signals_at_once_are_one_wish_and_leave_a_valid_file(speak: Speak) -> None:
    """As `timeout` sends them: one to its child, one to the child's group."""
    process = speak.start("-o", "a.wav", "--stats", *FRAMES)
    tell(process.stdin, TEXT.encode())
    part = speak.folder / "a.wav.part"
    wait_until(lambda: part.exists() and part.stat().st_size > 44, process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)  # two of one number may arrive as one
    stats, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode in {130, 143}, errors) == (True, b"")
    assert json.loads(stats)["outcome"] == "cancelled"
    assert len(samples_of(speak.folder / "a.wav")) > 0
    assert not part.exists()


def test_what_is_ignored_stays_ignored(speak: Speak) -> None:
    """As under nohup."""
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *speak.command("-o", "a.wav", *FRAMES)]
    process = subprocess.Popen(
        command, cwd=speak.folder, env=speak.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    tell(process.stdin, TEXT.encode())
    wait_until((speak.folder / "a.wav.part").exists, process)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, b"")


def test_a_signal_before_anything_was_said(speak: Speak) -> None:
    process = speak.start("-o", "a.wav")
    wait_until(lambda: "onnxruntime" in Path(f"/proc/{process.pid}/maps").read_text(), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (130, b"")
    assert list(speak.folder.glob("*.part")) == []


def test_a_reader_that_leaves_is_no_trouble(speak: Speak) -> None:
    process = speak.start("-o", "-", *FRAMES)
    tell(process.stdin, TEXT.encode())
    assert pipe_of(process.stdout).read(4) == b"RIFF"
    pipe_of(process.stdout).close()
    with contextlib.suppress(BrokenPipeError):
        tell(process.stdin, b" And more of it. " * 100)
    with contextlib.suppress(BrokenPipeError):
        pipe_of(process.stdin).close()
    errors = pipe_of(process.stderr).read()
    pipe_of(process.stderr).close()
    assert (process.wait(TIMEOUT_S), errors) == (141, b"")


# --- what can go wrong ----------------------------------------------------------------------------------


def test_unknown_names_are_answered_with_the_known(speak: Speak) -> None:
    says(speak("-o", "a.wav", "--voice", "nobody", "Hi."), "nobody", "aiden")
    says(speak("-o", "a.wav", "--language", "klingon", "Hi."), "klingon", "english")
    assert list(speak.folder.glob("a.wav*")) == []


@pytest.mark.parametrize("wish", ["--voice", "--language", "--temperature"])
def test_what_the_voice_cannot_do_is_said_before_any_text_comes(speak: Speak, wish: str) -> None:
    with speak.start("-o", "a.wav", wish, "1000") as process:
        try:
            assert process.wait(TIMEOUT_S) == 1
        finally:
            process.kill()
        assert b"1000" in pipe_of(process.stderr).read()


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


@pytest.mark.parametrize("arguments", [("--list-voices",), ("--version",), ("-o", "a.wav", "--stats", *FRAMES, "Hi.")])
def test_a_full_disk_for_what_is_printed(speak: Speak, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = speak(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    says(done, "speak: cannot write standard output: No space left on device")


def test_a_closed_stderr_is_no_reason_to_fail_and_nothing_of_it_is_among_the_sound(speak: Speak) -> None:
    def closed(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        words = ["sh", "-c", 'exec "$@" 2>&-', "sh", *speak.command(*arguments)]
        return subprocess.run(
            words, cwd=speak.folder, env=speak.environment, stdout=subprocess.PIPE, check=False, timeout=TIMEOUT_S
        )

    spoken = closed("-o", "-", *FRAMES, "Hi.")
    assert (spoken.returncode, spoken.stdout[:4]) == (0, b"RIFF")
    failed = closed("-o", "-", "--voice", "nobody", "Hi.")
    assert (failed.returncode, failed.stdout) == (1, b"")


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
        ("-o", "a.wav", "--save-codes", "./a.wav"),
    ],
)
def test_options_that_exclude_each_other(speak: Speak, arguments: tuple[str, ...]) -> None:
    says(speak(*arguments, "Hi."), code=2)


def test_an_instruction_to_a_voice_that_takes_none_is_left_out_aloud(speak: Speak) -> None:
    says(speak("-o", "a.wav", "--instruct", "Whisper.", *FRAMES, "Hi."), "takes no --instruct", code=0)
    assert (speak.folder / "a.wav").exists()


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
