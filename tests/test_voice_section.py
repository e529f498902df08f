"""The shy reader of `[voice]` says what the real one says, or nothing."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.config import DEFAULT_PATH, ConfigError, VoiceConfig, parse_config
from app.voice_section import read_voice_section

LINES = st.sampled_from(
    [
        "[voice]",
        "[playback]",
        "[server]",
        "[ voice ]",
        "[voice] # who",
        '["voice"]',
        "# comment",
        "",
        'speaker = "robert"',
        'speaker="anna" # who',
        "speaker = 'anna'",
        'speaker = "a\\u0062c"',
        'speaker = "a#b"',
        'voice.speaker = "robert"',
        'voice = { speaker = "robert" }',
        '"voice".speaker = "x"',
        'bundle = "voices/0.6b"',
        'language = "english"',
        'device = "USB"',
        'device = """',
        "device = '''",
        "start_ms = 0",
        "bundles = [",
        '"voice/a",',
        '["b"],',
        "]",
        '\tspeaker\t=\t"robert"',
        "speaker = ",
        'speaker = "x" "y"',
    ]
)


@example(['["voice"]', 'speaker = "robert"'], "\n")
@example(["[ voice ]", 'speaker = "robert"'], "\n")
@example(["[playback]", "device = '''", "[voice]", 'speaker = "robert"', "'''"], "\n")
@example(["[playback]", 'device = """', "[voice]", 'speaker = "robert"', '"""'], "\n")
@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_never_wrong(lines: list[str], end: str) -> None:
    text = end.join(lines) + end
    found = read_voice_section(text)
    with contextlib.suppress(ConfigError):  # what nobody can read, the daemon did not read either
        voice = parse_config(text, "test").voice
        assert found in (None, {"bundle": voice.bundle, "speaker": voice.speaker, "language": voice.language})


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_value(speaker: str, language: str) -> None:
    text = f'[voice]\nspeaker = "{speaker}"\nlanguage = "{language}"\n'
    found = read_voice_section(text)
    if found is not None:
        voice = parse_config(text, "test").voice
        assert (found["speaker"], found["language"]) == (voice.speaker, voice.language)


def test_the_shipped_configuration_is_plain() -> None:
    voice = VoiceConfig()
    expected = {"bundle": voice.bundle, "speaker": voice.speaker, "language": voice.language}
    assert read_voice_section(DEFAULT_PATH.read_text(encoding="utf-8")) == expected
    assert read_voice_section("") == expected


@pytest.mark.parametrize(
    "text", ['[voice]\nspeaker = "robert"\n[log]\nlevel = "info"', '[log]\n[voice]\nspeaker="robert"']
)
def test_a_chosen_speaker_is_seen(text: str) -> None:
    found = read_voice_section(text)
    assert found is not None
    assert found["speaker"] == "robert"
