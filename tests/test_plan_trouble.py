"""Building plans at a fake TensorRT: what is refused, what fails, and that nothing half-made stays."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from engines.plan_files import plans
from export.attention_tensorrt import AttentionForm
from export.errors import BuildError, StoppedError
from export.plan_choice import PlanWish
from tests.fake_builder import ORIN, FakeBuilder
from tests.plan_build_rig import SIZES, Diary, build, left_in, wish_for
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec


@pytest.fixture
def wish(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path) -> PlanWish:
    return wish_for(tiny_bundle, tiny_checkpoint, tmp_path)


TROUBLE = [
    ("Error Code 2: OutOfMemory (Requested size was 123 bytes.)", "memory was too small .* fewer slots"),
    ("[x.cpp::f] Error Code 1: Cuda Runtime (no CUDA-capable device is detected)", "finds no GPU"),
    ("Error Code 10: Could not find any implementation for node {A}", "could not build .*node {A}.*--attention rows"),
    ("write error: No space left on device", "disk was full .* --cache"),
]


@pytest.mark.parametrize(("complaint", "says"), TROUBLE)
def test_a_failed_build_names_the_remedy_and_leaves_the_old_plan(wish: PlanWish, complaint: str, says: str) -> None:
    old, _ = build(replace(wish, verified=False))
    with pytest.raises(BuildError, match=says):
        build(replace(wish, again=True), FakeBuilder(fail_at="talker", complaints=("first", complaint)))
    assert list(plans(wish.cache)) == [old]
    assert left_in(wish.cache) == set()


def test_engines_that_speak_otherwise_are_not_used(wish: PlanWish) -> None:
    old, _ = build(replace(wish, verified=False))
    with pytest.raises(BuildError, match=r"do not speak as their graphs do .* not used"):
        build(replace(wish, again=True), FakeBuilder(wrong_by=0.5))
    assert list(plans(wish.cache)) == [old]
    plan, _ = build(replace(wish, again=True, verified=False), FakeBuilder(wrong_by=0.5))
    assert plan.about.verification is None


@pytest.mark.parametrize("stage", ["weights", "engine codec", "engine talker", "verification"])
def test_a_build_can_be_stopped(wish: PlanWish, stage: str) -> None:
    with pytest.raises(StoppedError):
        build(wish, None, diary := Diary(stop_at=stage))
    assert diary.states[-1].stage == stage, "at once, not when it is through"
    assert (list(plans(wish.cache)), left_in(wish.cache)) == ([], set())


def test_what_failed_is_not_tried_again_unasked(wish: PlanWish) -> None:
    wish = replace(wish, verified=False)
    with pytest.raises(BuildError, match="could not build"):
        build(replace(wish, unattended=True), FakeBuilder(fail_at="talker"))
    idle = FakeBuilder()
    with pytest.raises(BuildError, match=r"failed before .*could not build .*`speakd build` tries again"):
        build(replace(wish, unattended=True), idle)
    assert not idle.orders
    _, built = build(replace(wish, unattended=True, sizes=msgspec.structs.replace(SIZES, slots=1)))
    assert built, "another wish is tried"
    with pytest.raises(BuildError, match="could not build"):
        build(wish, FakeBuilder(fail_at="talker"))
    build(wish)
    _, built = build(replace(wish, unattended=True, again=True))
    assert built, "it worked since"


def test_a_full_disk_is_said(wish: PlanWish) -> None:
    with pytest.raises(BuildError, match=r"the disk of .* is full; make room"):
        build(wish, FakeBuilder(raising=OSError(errno.ENOSPC, "No space left on device")))
    assert left_in(wish.cache) == set()


CHOICES: list[tuple[Callable[[PlanWish], PlanWish], FakeBuilder, str]] = [
    (lambda wish: replace(wish, precision="fp8"), FakeBuilder(), r"Orin \(sm_87\) cannot multiply fp8"),
    (lambda wish: wish, FakeBuilder("10.0.1"), r"TensorRT 10\.0\.1 is too old"),
    (
        lambda wish: replace(wish, attention=AttentionForm.IN_PLACE, verified=False),
        FakeBuilder(),
        r"10\.3\.0 does not know in_place attention .* --attention rows",
    ),
    (lambda wish: wish, FakeBuilder(device=replace(ORIN, free_bytes=1 << 20)), "MiB of memory free"),
    (lambda wish: wish, FakeBuilder(device=BuildError("no GPU")), "no GPU"),
    (lambda wish: replace(wish, checkpoint=wish.cache), FakeBuilder(), "is no checkpoint; name it with --checkpoint"),
    (lambda wish: replace(wish, sizes=msgspec.structs.replace(SIZES, positions=16)), FakeBuilder(), "too few; take"),
]


@pytest.mark.parametrize(("change", "builder", "says"), CHOICES)
def test_what_cannot_work_is_refused_with_the_remedy(
    wish: PlanWish, change: Callable[[PlanWish], PlanWish], builder: FakeBuilder, says: str
) -> None:
    with pytest.raises(BuildError, match=says):
        build(change(wish), builder)
    assert not wish.cache.exists() or left_in(wish.cache) == set()


def test_another_checkpoint_is_refused(wish: PlanWish, tmp_path: Path) -> None:
    other = write_checkpoint(TinySpec(seed=99), tmp_path / "other")
    with pytest.raises(BuildError, match="is not the checkpoint that"):
        build(replace(wish, checkpoint=other))


def test_positions_too_few_to_verify_are_refused_before_hours_of_building(wish: PlanWish) -> None:
    builder = FakeBuilder()
    with pytest.raises(BuildError, match="16 positions are too few; take"):
        build(replace(wish, sizes=msgspec.structs.replace(SIZES, positions=16)), builder)
    assert builder.orders == []


def test_a_file_of_the_bundle_that_cannot_be_read_is_named(wish: PlanWish, tmp_path: Path) -> None:
    bundle = shutil.copytree(wish.bundle, tmp_path / "bundle")
    (bundle / "text_table.npy").unlink()
    builder = FakeBuilder()
    with pytest.raises(BuildError, match=r"cannot build in .*: No such file or directory \(.*text_table\.npy\)"):
        build(replace(wish, bundle=bundle), builder)
    assert builder.orders == []
