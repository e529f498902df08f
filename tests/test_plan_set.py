"""What is written of a plan: numbers of slots, shapes of what is open."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from engines.errors import PlanError
from engines.plan_set import SLOTS, buckets, open_shapes, plan_slots


@given(st.integers(1, 8))
def test_slots_hold_what_is_wanted(wanted: int) -> None:
    slots = plan_slots(wanted)
    assert slots in SLOTS
    assert slots >= wanted > slots // 2 or slots == 1


def test_too_many_slots() -> None:
    with pytest.raises(PlanError, match="at most 8"):
        plan_slots(9)


@given(st.sampled_from(SLOTS))
def test_every_run_up_to_all_slots_has_a_bucket(slots: int) -> None:
    assert set(buckets(slots)) == {plan_slots(wanted) for wanted in range(1, slots + 1)}


def test_open_dimensions_are_filled_in() -> None:
    assert open_shapes({"rows": ("B", "S", 4), "codes": ("B", 8)}, {"B": 2, "S": 3}) == {
        "rows": (2, 3, 4), "codes": (2, 8),
    }  # fmt: skip
