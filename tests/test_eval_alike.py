"""How alike two recordings are: pitch, alignment, distances; faults of a codec that a figure must show."""

from __future__ import annotations

import numpy as np
import pytest

from export.train.alike import Wave, level_db, log_mel, mel_distance_db, pitch_hz, pitch_likeness, warp
from export.train.codec_checks import curvature_in_frames_db, mean_power, silent_stretches, strongest_line

RATE = 24_000
FRAME = 1920


def noise(seconds: float, db: float, seed: int = 0) -> Wave:
    draw = np.random.default_rng(seed).normal(0, 10 ** (db / 20), int(seconds * RATE))
    return draw.astype(np.float32)


def voiced(hertz: np.ndarray) -> Wave:
    """A buzz of many harmonics whose pitch at each sample is given, now louder, now softer, over faint noise."""
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    beats = np.sin(np.linspace(0, 1, len(hertz)) * np.array([[11.0], [29.0], [47.0]]) + 1).sum(axis=0)
    buzz = sum(np.sin(k * phase) / k for k in range(1, 12)) * 0.1 * 10 ** (beats / 5)
    return (buzz + noise(len(hertz) / RATE, -70)).astype(np.float32)


def glide(seconds: float, depth: float = 30.0, around: float = 180.0) -> np.ndarray:
    t = np.arange(int(seconds * RATE)) / RATE
    return around + depth * np.sin(2 * np.pi * t / seconds)


@pytest.mark.parametrize("hertz", [75.0, 110.0, 180.0, 260.0, 350.0])
def test_pitch_of_a_buzz_is_found_without_losing_octaves(hertz: float) -> None:
    found = pitch_hz(voiced(np.full(RATE, hertz)), RATE)[5:-5]
    assert (np.abs(found / hertz - 1) < 0.03).mean() > 0.98


def test_noise_and_silence_have_no_pitch() -> None:
    assert (pitch_hz(noise(1.0, -20), RATE) == 0).mean() > 0.9
    assert not pitch_hz(np.zeros(RATE, np.float32), RATE).any()


def test_a_slower_copy_has_the_same_contour_and_a_higher_one_is_higher() -> None:
    one, slower = voiced(glide(1.0)), voiced(glide(1.3))
    same = pitch_likeness(one, slower, RATE)
    assert same is not None
    assert same[0] > 0.9
    assert same[1] == pytest.approx(0.0, abs=0.3)
    higher = pitch_likeness(one, voiced(glide(1.0, 30 * 2 ** (2 / 12), 180 * 2 ** (2 / 12))), RATE)
    assert higher is not None
    assert higher[1] == pytest.approx(2.0, abs=0.5)


def test_too_little_voice_gives_no_contour() -> None:
    assert pitch_likeness(noise(0.5, -20), noise(0.5, -20, 1), RATE) is None


def test_a_path_is_monotonous_and_reaches_both_ends() -> None:
    draw = np.random.default_rng(3)
    left, right = warp(draw.normal(size=(40, 8)), draw.normal(size=(57, 8)))
    assert (left[0], right[0], left[-1], right[-1]) == (0, 0, 39, 56)
    for steps in (np.diff(left), np.diff(right)):
        assert set(steps) <= {0, 1}
    assert (np.diff(left) + np.diff(right)).min() >= 1


def test_a_table_against_itself_is_its_own_path() -> None:
    table = np.random.default_rng(4).normal(size=(30, 8))
    left, right = warp(table, table)
    assert np.array_equal(left, right)


def test_mel_distance_grows_with_noise_and_is_nothing_to_itself() -> None:
    one = voiced(glide(1.0))
    near, far = (mel_distance_db(one, one + noise(1.0, db, 5), RATE) for db in (-60, -30))
    assert mel_distance_db(one, one, RATE) == 0.0
    assert 0 < near < far


def test_columns_are_ten_milliseconds() -> None:
    wave = noise(0.5, -20)
    assert len(level_db(wave, RATE)) == len(log_mel(wave, RATE)) == 50
    assert level_db(wave, RATE)[10:40].mean() == pytest.approx(-20, abs=0.5)


def test_silences_are_found_without_what_borders_on_sound() -> None:
    wave = np.concatenate([noise(0.5, -20), noise(0.3, -80), noise(0.5, -20), noise(0.05, -80)])
    (only,) = silent_stretches(wave, RATE)
    assert 0.5 * RATE < only.start < only.stop < 0.8 * RATE
    assert np.abs(wave[only]).max() < 0.001


def test_a_tone_in_silence_is_found_with_its_level_and_plain_noise_has_none() -> None:
    quiet = noise(2.0, -90)
    sine = np.sin(2 * np.pi * 4000 * np.arange(len(quiet)) / RATE).astype(np.float32)
    waves = (quiet + 10 ** (-75 / 20) * sine, quiet, noise(2.0, -120) + 10 ** (-94 / 20) * sine)
    found, none, lost = (strongest_line(power, RATE) for wave in waves if (power := mean_power([wave])) is not None)
    assert found.hertz == pytest.approx(4000, abs=12)
    assert found.level_db == pytest.approx(-75, abs=1)
    assert found.above_db > 20
    assert none.above_db < 6
    assert lost.above_db == 0  # less than a step of 16-bit sound


def test_clicks_at_borders_stand_out_and_speech_does_not() -> None:
    buzz = voiced(np.tile(glide(1.0), 8))
    clicking = buzz.copy()
    clicking[::FRAME] += 0.05
    border, sharpest = curvature_in_frames_db([clicking], FRAME)
    assert border == pytest.approx(sharpest, abs=0.2)
    assert border > 10
    assert curvature_in_frames_db([noise(20.0, -30)], FRAME)[1] < 3
