"""Plans on disk: read whole, found by every field of the key, never loaded where they are stale or foreign."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.errors import PlanError
from engines.manifest import read_manifest
from engines.plan_files import (
    PLAN_NAME,
    Plan,
    bundle_hash,
    differences,
    find_plan,
    folder_name,
    plan_cache,
    plan_precision,
    plans,
    plans_of,
    read_plan_set,
)
from engines.plan_set import PLAN_FORMAT, SLOTS, PlanKey, PlanSizes
from tests.plan_cache import GOOD, KEY, SIZES, write_plan


def find(cache: Path, key: PlanKey, sizes: PlanSizes) -> Plan:
    return find_plan(plans_of(cache, key.bundle), msgspec.structs.asdict(key), sizes)


@pytest.mark.parametrize("frame", ["unrolled", "stepped"])
def test_a_plan_is_found_and_read(tmp_path: Path, frame: str) -> None:
    folder = write_plan(tmp_path, frame=frame)
    plan = find(tmp_path, KEY, SIZES)
    assert plan == Plan(folder, read_plan_set(folder))
    assert [bytes(plan.read(file)).decode() for file in plan.about.files] == [
        f"the bytes of {file.file}" for file in plan.about.files
    ]
    assert plan.about.bytes == sum(file.stat().st_size for file in folder.iterdir() if file.name != PLAN_NAME)


@pytest.mark.parametrize("name", PlanKey.__struct_fields__)
def test_a_plan_for_something_else_is_never_found(tmp_path: Path, name: str) -> None:
    write_plan(tmp_path, key=msgspec.structs.replace(KEY, **{name: "other"}))
    with pytest.raises(PlanError, match=r"run `speakd build`") as caught:
        find(tmp_path, KEY, SIZES)
    if name != "bundle":
        assert f"{name} is {getattr(KEY, name)}, it was built for other" in str(caught.value)


@pytest.mark.parametrize("name", PlanSizes.__struct_fields__)
def test_a_smaller_plan_is_never_found(tmp_path: Path, name: str) -> None:
    write_plan(tmp_path)
    wanted = msgspec.structs.replace(SIZES, **{name: getattr(SIZES, name) + 1})
    with pytest.raises(PlanError, match=f"{name} is {getattr(wanted, name)}, it was built for at most"):
        find(tmp_path, KEY, wanted)


def test_the_smallest_that_serves_is_taken(tmp_path: Path) -> None:
    for slots in SLOTS:
        write_plan(tmp_path, sizes=msgspec.structs.replace(SIZES, slots=slots))
    found = find(tmp_path, KEY, msgspec.structs.replace(SIZES, slots=2, positions=100))
    assert found.about.sizes.slots == 2


def test_what_failed_its_verification_is_never_found(tmp_path: Path) -> None:
    write_plan(tmp_path, verification=msgspec.structs.replace(GOOD, agreement=0.5))
    with pytest.raises(PlanError, match="failed its verification"):
        find(tmp_path, KEY, SIZES)


def test_what_was_not_verified_serves(tmp_path: Path) -> None:
    """Its builder was told so."""
    folder = write_plan(tmp_path, verification=None)
    assert find(tmp_path, KEY, SIZES).folder == folder


def test_the_plans_of_a_bundle_are_no_others(tmp_path: Path) -> None:
    own, foreign = write_plan(tmp_path), msgspec.structs.replace(KEY, bundle="a" * 64)
    write_plan(tmp_path, key=foreign)
    assert [plan.folder for plan in plans_of(tmp_path, KEY.bundle)] == [own]
    with pytest.raises(PlanError, match="bundle is aaaaaaaaaaaa, it was built for bbbbbbbbbbbb;"):
        find_plan(plans_of(tmp_path, KEY.bundle), msgspec.structs.asdict(foreign), SIZES)


def test_no_plan_at_all(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no TensorRT plan for this bundle in .*; run `speakd build`"):
        find(tmp_path / "nowhere", KEY, SIZES)


def test_damage_is_named(tmp_path: Path) -> None:
    folder = write_plan(tmp_path)
    plan = find(tmp_path, KEY, SIZES)
    graph = plan.about.graph("frame")
    path = folder / graph.file
    content = path.read_bytes()
    path.write_bytes(bytes(len(content)))
    with pytest.raises(PlanError, match=r"frame\.engine is damaged.*`speakd build --again`"):
        plan.read(graph)
    path.write_bytes(content[:-1])
    with pytest.raises(PlanError, match=r"frame\.engine has not the"):
        read_plan_set(folder)
    path.unlink()
    with pytest.raises(PlanError, match=r"frame\.engine is missing"):
        read_plan_set(folder)
    assert not list(plans(tmp_path))


def test_a_bad_plan_json_is_named(tmp_path: Path) -> None:
    folder = write_plan(tmp_path)
    path = folder / PLAN_NAME
    good = path.read_bytes()
    version = f'"format_version": {PLAN_FORMAT}'.encode()
    for content, reason in (
        (b"{", "is damaged"),
        (good.replace(version, b'"format_version": 0'), "format version 0"),
        (good.replace(b'"role": "frame"', b'"role": "talker"'), "not those it needs"),
        (good.replace(b"frame.engine", b"../frame.engine"), "is missing"),
        (good.replace(b'"tables": null', b'"extra": null'), "is damaged"),
    ):
        assert content != good
        path.write_bytes(content)
        with pytest.raises(PlanError, match=reason):
            read_plan_set(folder)
    path.unlink()
    with pytest.raises(PlanError, match="is not a plan"):
        read_plan_set(folder)


def test_unfinished_directories_are_not_plans(tmp_path: Path) -> None:
    folder = write_plan(tmp_path)
    folder.rename(folder.with_name(f".{folder.name}.x"))
    assert not list(plans(tmp_path))


@given(st.sampled_from([*PlanKey.__struct_fields__, *PlanSizes.__struct_fields__]), st.integers(1, 7))
def test_every_field_is_in_the_name(name: str, by: int) -> None:
    if name in PlanKey.__struct_fields__:
        other = folder_name(msgspec.structs.replace(KEY, **{name: getattr(KEY, name) + "x" * by}), SIZES)
    else:
        other = folder_name(KEY, msgspec.structs.replace(SIZES, **{name: getattr(SIZES, name) + by}))
    assert other != folder_name(KEY, SIZES)


def test_a_plan_is_its_own_wish(tmp_path: Path) -> None:
    plan = read_plan_set(write_plan(tmp_path))
    assert differences(plan, msgspec.structs.asdict(plan.key), plan.sizes) == []


def test_precision_follows_the_bundle(tiny_bundle: Path) -> None:
    manifest = read_manifest(tiny_bundle)
    assert plan_precision("auto", manifest) == "fp16"
    assert plan_precision("int8", manifest) == "int8"
    made = msgspec.structs.replace(manifest.provenance, precision="int4", down_precision="int8")
    assert plan_precision("auto", msgspec.structs.replace(manifest, provenance=made)) == "int4"


def test_a_bundle_is_told_by_its_manifest(tiny_bundle: Path, tmp_path: Path) -> None:
    assert len(bundle_hash(tiny_bundle)) == 64
    with pytest.raises(PlanError, match="is not a voice bundle"):
        bundle_hash(tmp_path)


def test_the_usual_cache() -> None:
    assert plan_cache("", {"XDG_CACHE_HOME": "/c"}) == Path("/c/speakd/plans")
    assert plan_cache("", {}) == Path.home() / ".cache/speakd/plans"
    assert plan_cache("/p", {"XDG_CACHE_HOME": "/c"}) == Path("/p")
