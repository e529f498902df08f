"""The whole product as a person uses it: `speak` in a process of its own, with a small model of random weights."""

from __future__ import annotations

import json
import os
import pty
import select
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.config import PlaybackConfig
from tests.audio_world import REPOSITORY, file_devices, needs_playback, no_devices
from tests.cli_rig import FRAMES, TEXT, TIMEOUT_S, Speak, alike, pipe_of, raw_samples, samples_of, says, tell

_LEAD_IN = 24000 * PlaybackConfig().lead_in_ms // 1000


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


def test_a_text_the_voice_cannot_read_is_told(tmp_path: Path) -> None:
    speak = Speak(REPOSITORY / "engines/voices/default/bundle", tmp_path)
    for arguments, text in ((("\u4f60\u597d\u3002",), b""), ((), "\u041c\u0438\u0440 \u043c\u0438\u0440".encode())):
        done = speak("-o", "a.wav", *arguments, input=text)
        assert done.returncode == 1
        assert done.stderr == b"speak: there is nothing in this text that this voice can read; it speaks english\n"


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


def test_a_dash_is_standard_input_as_elsewhere(speak: Speak) -> None:
    for name, words in (("a.raw", ("-",)), ("b.raw", ())):
        assert speak("-o", name, "--seed", "5", *FRAMES, *words, input=b"Hello.").returncode == 0
    assert speak.folder.joinpath("a.raw").read_bytes() == speak.folder.joinpath("b.raw").read_bytes() != b""


def test_speaks_while_text_still_comes(speak: Speak) -> None:
    process = speak.start("-o", "-", "--format", "raw", *FRAMES)
    tell(process.stdin, TEXT.encode())
    first = pipe_of(process.stdout).read(2)
    assert len(first) == 2, "sound came while standard input was still open"
    rest, errors = process.communicate(b" And a last one.", timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, b"")
    assert len(rest) > 0


def test_text_that_is_not_utf8(speak: Speak) -> None:
    says(speak("-o", "a.wav", *FRAMES, input=b"Good text. \xff\xfe bad"), "not valid UTF-8", "0xff", "offset 11")
    assert list(speak.folder.glob("a.wav*")) == []
    bad = os.fsdecode(b"caf\xe9")
    says(speak("-o", "a.wav", bad), "not valid UTF-8")


# --- playing --------------------------------------------------------------------------------------------


@needs_playback
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


@needs_playback
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
    tell(process.stdin, TEXT.encode())
    shown = b""
    while b"Ctrl-C stops" not in shown:
        assert select.select([ours], [], [], TIMEOUT_S)[0], shown
        shown += os.read(ours, 4096)
    process.communicate(timeout=TIMEOUT_S)
    os.close(ours)
    assert process.returncode == 0
