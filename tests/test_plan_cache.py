"""The directory of plans: one build at a time, whole plans or none, bounded, and what builds learn from each other."""

from __future__ import annotations

import fcntl
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from engines.plan_files import Plan, folder_name, plans, read_plan_set, write_plan_set
from engines.plan_set import PLAN_FORMAT
from export import plan_cache
from export.errors import BuildError, StoppedError
from export.plan_cache import GUESS_S, GUESS_S_PER_MB, BuildRecord, PlanCache
from tests.plan_cache import KEY, SIZES, write_plan

RECORD = BuildRecord(
    device="Orin", tensorrt="10.3.0", precision="int4", frame="stepped", slots=4, checkpoint_bytes=1_000_000, seconds=0
)


@dataclass
class Gate:
    """Says that somebody waits, and lets him through."""

    held: object
    waited: int = 0

    def note(self) -> None:
        self.waited += 1

    def open(self) -> None:
        self.note()
        fcntl.flock(self.held, fcntl.LOCK_UN)  # type: ignore[arg-type]


def test_a_second_builder_waits_for_the_first(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    with (tmp_path / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        gate = Gate(other)
        with cache.alone(gate.open, lambda: False):
            assert gate.waited == 1
    with cache.alone(gate.open, lambda: False):
        assert gate.waited == 1


def test_who_waits_for_another_build_can_be_stopped(tmp_path: Path) -> None:
    cache, asked = PlanCache(tmp_path), Gate(None)
    with cache.alone(lambda: None, lambda: False):
        with pytest.raises(StoppedError), cache.alone(asked.note, lambda: True):
            pytest.fail("somebody else builds")
        assert asked.waited == 1


def test_a_plan_is_published_whole_over_an_old_one(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    for content in (b"one", b"two"):
        with cache.workshop() as scratch:
            made = scratch / "plan"
            made.mkdir()
            (made / "engine").write_bytes(content)
            (scratch / "weights").write_bytes(b"large")
            assert cache.publish(made, "name") == tmp_path / "name"
        assert (tmp_path / "name" / "engine").read_bytes() == content
        assert [path.name for path in tmp_path.iterdir()] == ["name"]


def test_a_plan_is_on_the_disk_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was renamed and not written is what a power cut leaves otherwise."""
    cache, written = PlanCache(tmp_path / "somebody" / "plans"), list[tuple[str, bool]]()
    monkeypatch.setattr(plan_cache, "_to_disk", lambda path: written.append((path.name, (cache.folder / "a").exists())))
    with cache.workshop() as scratch:
        made = scratch / "plan"
        made.mkdir()
        (made / "engine").write_bytes(b"one")
        cache.publish(made, "a")
    assert written == [("engine", False), ("plan", False), ("plans", True)]


def test_what_failed_is_known_until_a_plan_of_that_voice_and_precision_is_built(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)

    def name(**changes: str) -> str:
        return folder_name(msgspec.structs.replace(KEY, **changes), SIZES)

    larger = folder_name(KEY, msgspec.structs.replace(SIZES, slots=8))
    others = name(bundle="c" * 64), name(precision="fp16")
    assert cache.failure(name()) is None
    for failed in (name(), larger, *others):
        cache.remember_failure(failed, "out of memory")
    assert (cache.failure(name()), cache.failure("b")) == ("out of memory", None)
    folder = write_plan(tmp_path)
    cache.remove_replaced(Plan(folder, read_plan_set(folder)))
    assert (cache.failure(name()), cache.failure(larger)) == (None, None)
    assert [cache.failure(other) for other in others] == ["out of memory"] * 2


def test_a_builder_that_dies_leaves_nothing_but_the_old_plan(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    (tmp_path / ".building.x").mkdir()
    (tmp_path / ".old.a").mkdir()
    (tmp_path / ".old.a" / "engine").write_bytes(b"old")  # it died between the two renames
    for name in (".old.b", "b"):  # or after them
        (tmp_path / name).mkdir()
        (tmp_path / name / "engine").write_bytes(name.encode())
    with cache.alone(lambda: None, lambda: False):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "a", "b"]
    assert (tmp_path / "a" / "engine").read_bytes() == b"old"
    assert (tmp_path / "b" / "engine").read_bytes() == b"b"


def test_what_a_new_plan_replaces(tmp_path: Path) -> None:
    def plan(**changes: object) -> Plan:
        key = msgspec.structs.replace(KEY, **{name: value for name, value in changes.items() if name != "voice"})
        folder = write_plan(tmp_path, key=key, voice=str(changes.get("voice", "/voices/a")))
        return Plan(folder, read_plan_set(folder))

    gone = [plan(tensorrt="10.3.0"), plan(bundle="a" * 64), plan(tensorrt="10.3.0", precision="fp16")]
    gone.append(plan(device="other"))
    kept = [plan(precision="int8"), plan(bundle="c" * 64, voice="/voices/b")]
    foreign = [plan(bundle=name * 64, voice=f"/voices/{name}") for name in "de"]
    for other_format, version in zip(foreign, (PLAN_FORMAT - 1, PLAN_FORMAT + 1), strict=True):
        write_plan_set(other_format.folder, msgspec.structs.replace(other_format.about, format_version=version))
    gone.append(foreign[0])
    cache, new = PlanCache(tmp_path), plan()
    smaller = write_plan(tmp_path, sizes=msgspec.structs.replace(SIZES, slots=2), voice="/voices/a")
    other = cache.timing_file(msgspec.structs.replace(KEY, tensorrt="9"))
    for path in (other, cache.timing_file(KEY)):
        path.write_bytes(b"timings")
    removed = cache.remove_replaced(new)
    assert set(removed) == {*(one.folder for one in gone), smaller}
    assert {one.folder for one in plans(tmp_path)} == {new.folder, *(one.folder for one in kept)}
    assert [one.folder.exists() for one in foreign] == [False, True]
    assert not other.exists()
    assert cache.timing_file(KEY).exists()


def test_time_is_guessed_until_something_was_built_on_the_device(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    assert cache.expected_s(RECORD) == (GUESS_S + GUESS_S_PER_MB, True)
    cache.record(msgspec.structs.replace(RECORD, device="other", seconds=5.0))
    assert cache.expected_s(RECORD)[1]
    cache.record(msgspec.structs.replace(RECORD, seconds=50.0, frame="unrolled"))
    cache.record(msgspec.structs.replace(RECORD, seconds=20.0))
    cache.record(msgspec.structs.replace(RECORD, seconds=90.0, precision="fp16"))
    assert cache.expected_s(RECORD) == (20.0, False)
    assert cache.expected_s(msgspec.structs.replace(RECORD, checkpoint_bytes=3_000_000)) == (60.0, False)


def test_the_history_is_bounded_and_may_be_damaged(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    for seconds in range(100):
        cache.record(msgspec.structs.replace(RECORD, seconds=float(seconds)))
    kept = msgspec.json.decode((tmp_path / "builds.json").read_bytes(), type=list[BuildRecord])
    assert [one.seconds for one in kept] == [float(seconds) for seconds in range(68, 100)]
    for damaged in (b"{", b'["\xff"]'):
        (tmp_path / "builds.json").write_bytes(damaged)
        assert cache.expected_s(RECORD)[1]
    cache.record(RECORD)


def test_a_failure_that_is_no_text_any_more_is_one_still(tmp_path: Path) -> None:
    cache = PlanCache(tmp_path)
    cache.failure_file("a").write_bytes(b"\xff")
    assert cache.failure("a") == "\ufffd"


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match=r"cannot make the plan directory .*--cache"):
        PlanCache(tmp_path / "file" / "plans")
