"""How many a device holds, from costs made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.admission import SHARE, real_time_streams, step_ms
from engines.chunk_policy import Costs

SLOTS = 64


def costs(codec_call_ms: float = 0.0, codec_frame_ms: float = 0.0) -> Costs:
    return Costs(80.0, 0.0, codec_call_ms, codec_frame_ms)


def test_nothing_known_is_no_reason_to_refuse() -> None:
    assert real_time_streams(costs(9.0, 99.0), {}, SLOTS) == SLOTS


@pytest.mark.parametrize(
    ("call_ms", "frame_ms", "steps", "held"),
    [
        (0.0, 0.0, {1: 6.0, 64: 20.0}, 64),
        (0.0, 0.0, {1: 6.0, 64: 131.0}, 32),  # 67.5 ms; at 33 it would be 69.5
        (0.0, 5.0, {1: 6.0, 64: 20.0}, 12),
        (16.0, 3.0, {1: 6.0, 64: 20.0}, 12),
        (0.0, 200.0, {1: 6.0}, 1),
        (0.0, 0.0, {1: 100.0}, 1),
        (0.0, 0.0, {1: 10.0}, 6),  # beyond what is known: in proportion
    ],
)
def test_the_dearer_of_talker_and_codec_decides(
    call_ms: float, frame_ms: float, steps: dict[int, float], held: int
) -> None:
    assert real_time_streams(costs(call_ms, frame_ms), steps, SLOTS) == held


@given(
    steps=st.dictionaries(st.integers(1, SLOTS), st.floats(0.1, 200.0), min_size=1),
    frame_ms=st.floats(0.0, 100.0),
    slots=st.integers(1, SLOTS),
)
def test_what_is_held_fits_the_time(steps: dict[int, float], frame_ms: float, slots: int) -> None:
    held = real_time_streams(costs(codec_frame_ms=frame_ms), steps, slots)
    assert 1 <= held <= slots
    assert held == 1 or max(step_ms(steps, held), held * frame_ms) <= SHARE * 80.0 + 1e-6
    slower = {streams: 1.3 * ms for streams, ms in steps.items()}
    assert real_time_streams(costs(codec_frame_ms=1.3 * frame_ms), slower, slots) <= held
