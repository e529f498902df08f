"""Between which sizes engines are ordered: by values; who asks for them is in `tests.test_plan_build`."""

from __future__ import annotations

import msgspec
import pytest

from engines.plan_set import SLOTS, PlanSizes
from export.plan_profile import open_ranges, profile_shapes
from export.tensorrt import Role

SIZES = PlanSizes(slots=4, positions=64, prefill_rows=8, codec_chunk_frames=25)
LONE, COMPANY = {"B": (1, 1, 1)}, {"B": (2, 4, 4)}
EXPECTED = {
    Role.PREFILL: ({"S": (1, 8, 8)},),
    Role.FRAME: (LONE, COMPANY),
    Role.TALKER: (LONE, COMPANY),
    Role.STEP: tuple(slots | {"S": (rows, rows, rows)} for slots in (LONE, COMPANY) for rows in (1, 2)),
    Role.CODEC: tuple(slots | {"T": frames} for slots in (LONE, COMPANY) for frames in ((1, 1, 1), (1, 4, 25))),
}


@pytest.mark.parametrize("role", Role)
def test_what_is_run_again_and_again_has_a_profile_of_its_size(role: Role) -> None:
    assert open_ranges(role, SIZES) == EXPECTED[role]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("frames", [1, 3, 25])
@pytest.mark.parametrize("slots", SLOTS)
def test_the_usual_size_lies_between_the_least_and_the_most(role: Role, slots: int, frames: int) -> None:
    """TensorRT refuses any other."""
    sizes = msgspec.structs.replace(SIZES, slots=slots, prefill_rows=frames, codec_chunk_frames=frames)
    for ranges in open_ranges(role, sizes):
        assert all(1 <= least <= usual <= most for least, usual, most in ranges.values())
        assert ("B" in ranges) == (slots > 1 and role is not Role.PREFILL)


def test_shapes_are_told_least_usual_most() -> None:
    told = profile_shapes({"rows": ("B", "S", 4)}, ({"B": (1, 2, 4), "S": (1, 1, 2)}, {"B": (3, 3, 3), "S": (5, 6, 7)}))
    assert told == ({"rows": ((1, 1, 4), (2, 1, 4), (4, 2, 4))}, {"rows": ((3, 5, 4), (3, 6, 4), (3, 7, 4))})
