"""Building plans at a fake TensorRT: what is made of what, what is found, what goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load_file

from engines.engine_config import EngineConfig
from engines.manifest import read_manifest
from engines.plan_files import bundle_hash, find_plan, plans, plans_of
from engines.plan_set import open_shapes, open_sizes
from engines.step_names import StepTables
from engines.tensorrt_contract import profile_of
from engines.tensorrt_stages import wished_sizes
from export.attention_tensorrt import AttentionForm
from export.errors import BuildError, QualityError
from export.exporter import export_checkpoint
from export.plan_choice import PlanWish, choose
from export.rounding import Rounded
from export.stored_rounding import StoredRounding
from export.tensorrt import FrameShape
from tests.fake_builder import ORIN, FakeBuilder
from tests.plan_build_rig import SIZES, Diary, build, left_in, wish_for
from tests.tensorrt_machine import NEEDS_OPSET_24


@pytest.fixture
def wish(tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path) -> PlanWish:
    return wish_for(tiny_bundle, tiny_checkpoint, tmp_path)


FORMS = [
    ("10.3.0", None, None, "rows", "stepped"),
    ("10.3.0", None, FrameShape.UNROLLED, "rows", "unrolled"),
    pytest.param("10.15.1.29", None, None, "in_place", "stepped", marks=NEEDS_OPSET_24),
    ("11.2.1.2", AttentionForm.ROWS, FrameShape.UNROLLED, "rows", "unrolled"),
]


@pytest.mark.parametrize(("version", "form", "shape", "attention", "frame"), FORMS)
def test_a_plan_is_built_verified_and_found(
    wish: PlanWish, version: str, form: AttentionForm | None, shape: FrameShape | None, attention: str, frame: str
) -> None:
    builder, diary = FakeBuilder(version), Diary()
    plan, built = build(replace(wish, attention=form, shape=shape), builder, diary)
    assert built
    about = plan.about
    assert find_plan(plans_of(wish.cache, about.key.bundle), msgspec.structs.asdict(about.key), SIZES) == plan
    assert (about.attention, about.frame, about.dtype) == (attention, frame, "float32")
    assert (about.key.bundle, about.key.tensorrt) == (bundle_hash(wish.bundle), version)
    assert (about.key.device, about.key.architecture, about.key.precision) == ("Orin", "sm_87", "fp32")
    assert about.voice == str(wish.bundle.resolve())
    checked = about.verification
    assert checked is not None
    assert checked.passed
    assert (checked.agreement, checked.frames) == (1.0, 8 * (1 + 2)), "a lone listener, and both slots"
    assert builder.closed == len(about.graphs) == len(builder.orders)
    assert left_in(wish.cache) == set()
    assert {path.name for path in plan.folder.iterdir()} == {"plan.json", *(file.file for file in about.files)}


def test_profiles_are_what_the_engine_will_ask_for(wish: PlanWish) -> None:
    builder = FakeBuilder()
    plan, _ = build(replace(wish, sizes=msgspec.structs.replace(SIZES, slots=4)), builder)
    graphs = {str(graph.role): graph for graph in plan.about.graphs}
    ordered = {order.name: order.profiles for order in builder.orders}
    for role, asked, wanted in (
        ("talker", [{"B": slots} for slots in (1, 2, 4)], [0, 1, 1]),
        ("step", [{"B": slots, "S": rows} for slots in (1, 2, 4) for rows in (1, 2)], [0, 1, 2, 3, 2, 3]),
        ("codec", [{"B": slots, "T": frames} for slots in (1, 2, 4) for frames in (1, 5)], [0, 1, 2, 3, 2, 3]),
        ("prefill", [{"S": rows} for rows in range(1, 9)], [0] * 8),
    ):
        graph = graphs[role]
        assert [profile_of(graph, sizes) for sizes in asked] == wanted, "what the runtime looks for"
        shapes = [open_shapes(graph.inputs, sizes) for sizes in asked]
        assert [open_sizes(graph.inputs, shape) for shape in shapes] == asked, "what the verification asks for"
    assert ordered["talker"][1]["past_lengths"] == ((2,), (4,), (4,))
    assert all(order.exact and order.workspace_bytes > 0 for order in builder.orders)


def test_where_there_is_one_slot_nothing_is_left_open_for_more(wish: PlanWish) -> None:
    plan, _ = build(replace(wish, sizes=msgspec.structs.replace(SIZES, slots=1), verified=False))
    opened = {graph.role: [set(ranges) for ranges in graph.profiles] for graph in plan.about.graphs}
    assert opened == {"prefill": [{"S"}], "talker": [], "step": [{"S"}, {"S"}], "codec": [{"T"}, {"T"}]}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_small_blocks_are_verified_in_their_own_sizes(wish: PlanWish, most: int) -> None:
    """An engine takes no more frames than it was built for."""
    plan, _ = build(replace(wish, sizes=msgspec.structs.replace(SIZES, codec_chunk_frames=most)))
    assert plan.about.verification is not None
    assert plan.about.verification.passed


def test_the_stepped_frame_has_its_tables(wish: PlanWish) -> None:
    builder = FakeBuilder()
    plan, _ = build(replace(wish, precision="int8", verified=False), builder)
    assert not any(order.exact for order in builder.orders), "sums in half precision are shortened as it is"
    tables = load_file(plan.folder / "tables.safetensors")
    assert set(tables) == {StepTables.HEADS, StepTables.EMBEDDINGS}
    assert {table.dtype for table in tables.values()} == {np.dtype(np.float16)}
    assert plan.about.verification is None


def test_what_is_there_is_not_built_again(wish: PlanWish) -> None:
    wish = replace(wish, verified=False)
    first, _ = build(wish)
    builder = FakeBuilder()
    assert build(wish, builder) == (first, False)
    assert build(replace(wish, sizes=msgspec.structs.replace(SIZES, slots=1)), builder) == (first, False)
    assert not builder.orders
    again, built = build(replace(wish, again=True), builder)
    assert built
    assert again.folder == first.folder
    assert len(list(plans(wish.cache))) == 1


def test_another_form_than_the_one_there_is_built(wish: PlanWish) -> None:
    wish = replace(wish, verified=False)
    build(wish)
    plan, built = build(replace(wish, shape=FrameShape.UNROLLED))
    assert built
    assert [one.about.frame for one in plans(wish.cache)] == ["unrolled"]
    assert plan.about.frame == "unrolled"
    newer, in_place = FakeBuilder("10.15.1.29"), replace(wish, attention=AttentionForm.IN_PLACE)
    assert build(replace(wish, attention=AttentionForm.ROWS), newer)[1] is True
    plan, built = build(in_place, newer)
    assert (plan.about.attention, built) == ("in_place", True)
    assert build(in_place, newer)[1] is False


def test_what_is_replaced_goes_and_another_precision_stays(wish: PlanWish) -> None:
    old, _ = build(replace(wish, verified=False))
    kept, _ = build(replace(wish, verified=False, precision="fp16"))
    new, _ = build(replace(wish, verified=False), FakeBuilder("10.4.0"))
    there = {plan.folder for plan in plans(wish.cache)}
    assert there == {new.folder}, "a new TensorRT loads neither of the old ones"
    assert {old.folder, kept.folder, new.folder} != there
    fp16, _ = build(replace(wish, verified=False, precision="fp16"), FakeBuilder("10.4.0"))
    assert {plan.folder for plan in plans(wish.cache)} == {new.folder, fp16.folder}


def test_leftovers_of_a_build_that_died_are_removed(wish: PlanWish) -> None:
    (wish.cache / ".building.dead").mkdir(parents=True)
    (wish.cache / ".building.dead" / "frame.engine").write_bytes(b"half")
    build(replace(wish, verified=False))
    assert left_in(wish.cache) == set()


def test_progress_only_grows_and_the_next_build_knows_the_time(wish: PlanWish) -> None:
    first, second = Diary(), Diary()
    build(wish, None, first)
    build(replace(wish, again=True, verified=False), None, second)
    for diary in (first, second):
        fractions = [state.fraction for state in diary.states]
        assert fractions == sorted(fractions)
        assert fractions[-1] == pytest.approx(1.0)
    begun = {state.stage: state.fraction for state in reversed(first.states)}  # when it was first told of
    assert (begun["weights"], begun["engine codec"], begun["verification"]) == pytest.approx((0.0, 0.15, 0.85))
    assert first.states[0].guessed
    assert not second.states[0].guessed
    assert [*dict.fromkeys(state.stage for state in first.states)] == [
        "weights", "engine codec", "engine prefill", "engine step", "engine talker", "verification",
    ]  # fmt: skip


def test_no_more_positions_than_the_bundle_has(wish: PlanWish) -> None:
    plan, _ = build(replace(wish, verified=False, sizes=msgspec.structs.replace(SIZES, positions=1 << 20)))
    assert plan.about.sizes.positions == 4096


@pytest.mark.parametrize("rows", [63, 64, 4096])
def test_no_piece_of_a_prompt_is_longer_than_a_cache(wish: PlanWish, rows: int) -> None:
    """TensorScatter cannot write more rows than the cache has, and kernels are tried with the longest piece."""
    builder = FakeBuilder()
    wish = replace(wish, verified=False, sizes=msgspec.structs.replace(SIZES, prefill_rows=rows))
    plan, _ = build(wish, builder)
    [order] = [order for order in builder.orders if order.name == "prefill"]
    assert [shape[1] for shape in order.profiles[0]["codec_rows"]] == [1, min(rows, 64), min(rows, 64)]
    config = EngineConfig(slots=2, positions=64, prefill_rows=rows, codec_chunk_frames=5)
    wished = wished_sizes(read_manifest(wish.bundle), config)
    assert plan.about.sizes == wished, "the daemon finds it"
    assert build(wish, builder)[1] is False


def test_the_checkpoint_is_found_beside_the_bundle(wish: PlanWish, tmp_path: Path) -> None:
    _, built = build(replace(wish, checkpoint=None, verified=False))  # as tests make them, side by side
    assert built
    lonely = tmp_path / "lonely" / "bundle"
    lonely.mkdir(parents=True)
    for path in wish.bundle.iterdir():
        (lonely / path.name).symlink_to(path)
    with pytest.raises(BuildError, match=r"'tiny', which .* was made from, is not at .*lonely/tiny; name it"):
        build(replace(wish, bundle=lonely, checkpoint=None, again=True))


@pytest.mark.parametrize(
    ("precision", "down", "expected"),
    [
        ("auto", None, "int8"),
        ("int4", None, "int8"),
        ("int4", "int4", "int4"),
        ("int8", None, "int8"),
        ("int8", "fp16", "fp16"),
        ("fp8", None, "fp16"),
        ("fp16", None, "fp16"),
        ("fp32", "fp16", "fp32"),
    ],
)
def test_down_projections_are_the_bundles_own_or_what_is_asked_for(
    wish: PlanWish, precision: str, down: str | None, expected: str
) -> None:
    manifest = read_manifest(wish.bundle)
    made = msgspec.structs.replace(manifest.provenance, precision="int4", down_precision="int8")
    manifest = msgspec.structs.replace(manifest, provenance=made)
    gpu = replace(ORIN, architecture="sm_89")
    found, choice = choose(replace(wish, precision=precision, down=down), manifest, "10.3.0", gpu)
    assert found == ("int4" if precision == "auto" else precision)
    assert choice.plan_word(choice.down_precision) == expected


def test_a_plan_with_other_down_projections_is_not_what_is_asked_for(wish: PlanWish) -> None:
    wish = replace(wish, precision="int8", shape=FrameShape.STEPPED)
    plan, _ = build(wish)
    assert plan.about.down_precision == "int8"
    assert build(replace(wish, down="int8"))[1] is False
    plan, built = build(replace(wish, down="fp16"))
    assert (plan.about.down_precision, built) == ("fp16", True)
    assert build(wish)[1] is False, "it has no wish in this, and the daemon neither"


def test_what_is_not_measured_is_rounded_as_the_bundle(
    wish: PlanWish, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, asked = tmp_path / "narrow", []
    export_checkpoint(tiny_checkpoint, bundle, "int4", measured=True, force=True)
    round_as_stored = StoredRounding.round

    def note(self: StoredRounding, name: str, *rest: Any) -> Rounded | None:
        asked.append(name)
        return round_as_stored(self, name, *rest)

    monkeypatch.setattr(StoredRounding, "round", note)
    plan, _ = build(replace(wish, bundle=bundle, precision="auto"))
    assert plan.about.key.precision == "int4"
    assert "talker.layers.0.attention.qkv" in asked


def test_weights_below_the_gate_are_refused_unless_forced(wish: PlanWish) -> None:
    poor = replace(wish, precision="int4", measured=True)
    with pytest.raises(QualityError, match="--force"):
        build(poor)
    plan, _ = build(replace(poor, forced=True))
    assert plan.about.key.precision == "int4"
