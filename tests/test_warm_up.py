"""What is run before the first listener comes, on a device whose times are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from engines.costs import CostModel
from engines.errors import DeviceError
from engines.stages import CodecStage, TalkerStage
from engines.warm_up import beside, warm_up
from tests import fake_voice

STEP_MS, FRAME_MS, CALL_MS, ROW_MS = 10.0, 2.0, 5.0, 0.5


class Device:
    """A talker and a codec with a clock of their own; a step takes longer beside the codec, and the other way round."""

    def __init__(self, slots: int, positions: int = 64, most_frames: int = 25) -> None:
        self.slots, self.positions, self.piece_rows, self.most_frames = slots, positions, 8, most_frames
        self.now_ms, self.crowded = 0.0, 1.0
        self.lengths = [0] * slots
        self.prompts: list[int] = []
        self.steps: list[int] = []
        self.calls: list[tuple[int, int]] = []
        self.begun: list[int] = []

    def clock(self) -> float:
        return self.now_ms / 1000.0

    def begin(self, slot: int, *sampling: object) -> None:
        if sampling:  # the talker's
            self.lengths[slot] = 0
        else:
            self.begun.append(slot)

    def release(self, slot: int) -> None:
        self.lengths[slot] = 0

    def length(self, slot: int) -> int:
        return self.lengths[slot]

    def prefill(self, slot: int, codec_rows: npt.NDArray[Any], text_rows: npt.NDArray[Any], *, last: bool) -> bool:
        assert last
        self.lengths[slot] += len(codec_rows)
        self.prompts.append(len(codec_rows))
        self.now_ms += ROW_MS * len(codec_rows)
        return True

    def step(self, live: Sequence[int]) -> None:
        assert list(live) == list(range(len(live)))
        for slot in live:
            assert 0 < self.lengths[slot] < self.positions
            self.lengths[slot] += 1
        self.steps.append(len(live))
        self.now_ms += self.crowded * STEP_MS * len(live)

    def decode(self, slot: int, codes: npt.NDArray[Any]) -> None:
        assert slot == 0
        self.decode_many(0, codes[None])

    def decode_many(self, low: int, codes: npt.NDArray[Any]) -> None:
        many, frames, _ = codes.shape
        assert low == 0
        assert 1 <= frames <= self.most_frames
        self.calls.append((many, frames))
        self.now_ms += self.crowded * (CALL_MS + FRAME_MS * many * frames)

    @contextmanager
    def beside(self, work: Callable[[], object]) -> Iterator[None]:
        self.crowded, before = 1.5, self.now_ms
        work()
        self.now_ms = before
        yield
        self.crowded = 1.0


def warmed(device: Device, call_ms: float = 100.0) -> CostModel:
    costs = CostModel(80.0, device.clock)
    warm_up(
        cast("TalkerStage", device), cast("CodecStage", device), fake_voice.manifest(), costs, call_ms, device.clock,
        device.beside,
    )  # fmt: skip
    return costs


def test_every_number_of_slots_steps_and_the_widest_calls_are_made() -> None:
    device = Device(slots=4)
    warmed(device)
    assert device.prompts[:2] == [device.piece_rows] * 2, "a full piece; the first time does not count"
    assert device.steps[:4] == [4, 3, 2, 1], "alone last, as the first listener will be"
    assert device.calls[:4] == [(1, 1), (1, 1), (1, 4), (1, 1)], "the first does not count either"
    assert (1, 25) in device.calls
    assert {many for many, _ in device.calls} == {1, 2, 4}
    assert device.lengths == [0] * 4
    assert device.begun == [0]


def test_what_is_measured_is_what_the_device_takes() -> None:
    costs = warmed(Device(slots=4))
    known = costs.snapshot()
    assert known.step_ms == pytest.approx(STEP_MS)
    assert costs.prompt_ms(8) == pytest.approx(8 * ROW_MS)
    for frames in (4, 25):
        assert costs.device().codec.codec_ms(frames) == pytest.approx(1.5 * known.codec_ms(frames), rel=0.1)
        assert known.codec_ms(frames) == pytest.approx(CALL_MS + FRAME_MS * frames, rel=0.1)
    beside_the_codec = costs.device().step_ms_of
    assert beside_the_codec == pytest.approx({many: 1.5 * STEP_MS * many for many in (1, 2, 4)})


@pytest.mark.parametrize("slots", [1, 3])
def test_admission_knows_one_all_and_the_powers_of_two_between(slots: int) -> None:
    assert set(warmed(Device(slots)).device().step_ms_of) == {1: {1}, 3: {1, 2, 3}}[slots]


def test_a_call_is_no_wider_than_is_wished() -> None:
    """It holds a cancelled slot up, and the first listener."""
    device = Device(slots=1)
    warmed(device, call_ms=25.0)
    assert max(frames for _, frames in device.calls) <= (25.0 - CALL_MS) / FRAME_MS + 1
    device = Device(slots=1, most_frames=2)
    warmed(device)
    assert {frames for _, frames in device.calls} == {1, 2}


def test_who_has_no_position_left_begins_anew() -> None:
    device = Device(slots=2, positions=4)
    warmed(device)
    assert len(device.steps) > 3 * 4
    device = Device(slots=2, positions=2)
    warmed(device)
    assert device.steps, "a prompt of one row, and a step"
    device = Device(slots=2, positions=1)
    warmed(device)
    assert (device.steps, device.prompts[0]) == ([], 1), "there is no room for a step"


def test_what_fails_beside_something_is_told() -> None:
    def fail() -> None:
        raise DeviceError("lost")

    with pytest.raises(DeviceError, match="lost"), beside(fail):
        np.zeros(1)
