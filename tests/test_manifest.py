"""What a manifest says of itself; how one is read and refused is in `tests.test_bundle`."""

from __future__ import annotations

import pytest

from engines.manifest import CodebookQuality, ModelType, Quality, with_down
from tests import fake_voice


def quality(*books: tuple[float, float]) -> Quality:
    return Quality(
        reference="fp32", texts=1, frames=10, forced=False, least_agreement=0.75, most_divergence=0.05,
        codebooks=tuple(CodebookQuality(agreement=same, divergence=apart) for same, apart in books),
    )  # fmt: skip


def test_a_frame_has_a_length() -> None:
    assert fake_voice.manifest().frame.frame_ms == 80.0


@pytest.mark.parametrize(("model_type", "size", "takes"), [
    (ModelType.CUSTOM_VOICE, "1b7", True), (ModelType.VOICE_DESIGN, "1b7", True), (ModelType.BASE, "1b7", False),
    (ModelType.CUSTOM_VOICE, "0b6", False), (ModelType.BASE, "0b6", False),
])  # fmt: skip
def test_who_can_be_told_how_to_speak(model_type: ModelType, size: str, takes: bool) -> None:
    assert fake_voice.manifest(model_type, size).takes_instruct is takes


@pytest.mark.parametrize(("books", "passed"), [
    ([(0.75, 0.05)], True),
    ([(0.5, 0.09), (1.0, 0.01)], True),
    ([(0.5, 0.01), (0.99, 0.01)], False),
    ([(1.0, 0.05), (1.0, 0.06)], False),
])  # fmt: skip
def test_the_gate_is_for_the_mean_of_all_codebooks(books: list[tuple[float, float]], passed: bool) -> None:
    found = quality(*books)
    assert found.agreement == pytest.approx(sum(same for same, _ in books) / len(books))
    assert found.divergence == pytest.approx(sum(apart for _, apart in books) / len(books))
    assert found.passed is passed


@pytest.mark.parametrize(("down", "said"), [
    (None, "int4"), ("int4", "int4"), ("int8", "int4, down projections int8"),
])  # fmt: skip
def test_down_projections_are_named_where_they_differ(down: str | None, said: str) -> None:
    assert with_down("int4", down) == said
