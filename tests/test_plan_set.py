"""What is written of a plan: numbers of slots, shapes of what is open."""

from __future__ import annotations

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from engines.errors import PlanError
from engines.plan_set import SLOTS, PlanSizes, Verification, buckets, open_shapes, open_sizes, plan_slots

AT_THE_GATE = Verification(
    reference="", frames=8, agreement=1.0, least_agreement=1.0, logits_error=1e-3, most_logits_error=1e-3,
    pcm_error=1e-4, most_pcm_error=1e-4,
)  # fmt: skip


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


def test_shapes_tell_what_was_open() -> None:
    inputs = {"rows": ("B", "S", 4), "codes": ("B", 8)}
    assert open_sizes(inputs, {"rows": (2, 3, 4), "codes": (2, 8), "more": (9,)}) == {"B": 2, "S": 3}
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        open_sizes(inputs, {"rows": (2, 3), "codes": (2, 8)})


@pytest.mark.parametrize(("worse", "value"), [
    ("agreement", 0.999), ("logits_error", 2e-3), ("pcm_error", 2e-4), ("pcm_error", float("inf")),
])  # fmt: skip
def test_what_stands_right_at_the_gate_is_let_through(worse: str, value: float) -> None:
    """In full precision every code must be the same, and then the plan serves."""
    assert AT_THE_GATE.passed
    assert not msgspec.structs.replace(AT_THE_GATE, **{worse: value}).passed


def test_no_piece_of_a_prompt_is_longer_than_its_cache() -> None:
    sizes = PlanSizes(slots=4, positions=1024, prefill_rows=300, codec_chunk_frames=25)
    assert sizes.within(2048) == sizes
    assert sizes.within(256) == PlanSizes(slots=4, positions=256, prefill_rows=256, codec_chunk_frames=25)
