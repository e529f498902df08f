"""A plan for a bundle: from its checkpoint to verified engines in the cache.

Purpose: build a plan aside, verify it against ONNX Runtime, and only then put it where the runtime finds it; until then
an old plan serves. Whatever goes wrong is one sentence with the remedy, and leaves nothing behind.
Knows: the order of a build, what a plan consists of. Does not know: TensorRT (`export.build_door`), what is chosen for
a device (`export.plan_choice`), how graphs and weights are made.
"""

from __future__ import annotations

import datetime
import errno
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from safetensors import safe_open
from safetensors.numpy import save_file

from engines.manifest import Manifest, Tables, read_manifest
from engines.plan_files import Plan, bundle_hash, differences, folder_name, plans, read_plan_set, write_plan_set
from engines.plan_set import PLAN_FORMAT, PlanFile, PlanGraph, PlanKey, PlanSet, Verification
from engines.step_names import StepTables
from export.build_door import EngineBuilder, EngineOrder, Gpu, Session
from export.checkpoint import TensorFile
from export.errors import BuildError, ExportError
from export.ort_session import OrtSession
from export.placing import checksum
from export.plan_cache import BuildRecord, PlanCache
from export.plan_check import Probe, Side, make_probe, rows_needed, verify
from export.plan_choice import PlanWish, choose, find_checkpoint, workspace_bytes
from export.plan_profile import open_inputs, open_ranges, profile_shapes
from export.plan_progress import BuildProgress, BuildState
from export.probe_texts import probe_ids
from export.progress import Unit
from export.tensorrt import WEIGHTS, FrameShape, Role, TensorRtChoice
from export.tensorrt_files import export_tensorrt
from export.text_side import load_tokenizer

TABLES: Final = "tables.safetensors"
_WEIGHTS_SHARE: Final = 0.15
_VERIFY_SHARE: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """Who is told of a build."""

    tell: Callable[[BuildState], None]
    waiting: Callable[[], None]
    """Another build holds the cache; this one waits for it."""
    stopping: Callable[[], bool]
    """Asked again and again whether to stop."""
    begins: Callable[[Path], None] = lambda _: None
    """Something will be built; who sees this process die may write the reason into that file, so that it is not tried
    again unasked."""
    clock: Callable[[], float] = time.monotonic


def build_plan(wish: PlanWish, builder: EngineBuilder, watcher: Watcher) -> tuple[Plan, bool]:
    """The plan that serves the wish, and whether it had to be built.

    Raises `ExportError` of all kinds and `BundleError` with the remedy, `StoppedError` when it was asked to stop.
    """
    manifest = read_manifest(wish.bundle)
    wish = replace(wish, sizes=wish.sizes.within(manifest.limits.max_positions))
    gpu = builder.gpu()
    precision, choice = choose(wish, manifest, builder.version, gpu)
    key = PlanKey(
        bundle=bundle_hash(wish.bundle), tensorrt=builder.version, device=gpu.name, architecture=gpu.architecture,
        precision=precision,
    )  # fmt: skip
    cache = PlanCache(wish.cache)
    with _storage(wish.cache), cache.alone(watcher.waiting, watcher.stopping):
        there = None if wish.again else _there(wish, key, choice)
        if there is not None:
            return there, False
        name = folder_name(key, wish.sizes)
        failed = cache.failure(name) if wish.unattended else None
        if failed is not None:
            raise BuildError(f"it failed before and is not tried again unasked ({failed}); `speakd build` tries again")
        watcher.begins(cache.failure_file(name))
        with cache.workshop() as scratch:
            build = Build(wish, manifest, key, choice, gpu, builder, watcher, cache, scratch)
            try:
                return build.run(), True
            except ExportError as error:
                cache.remember_failure(name, str(error))
                raise


def _there(wish: PlanWish, key: PlanKey, choice: TensorRtChoice) -> Plan | None:
    """A plan that serves already, in the form that was asked for."""
    for plan in plans(wish.cache):
        about = plan.about
        formed = wish.attention is None or about.attention == wish.attention.value
        shaped = wish.shape is None or about.frame == wish.shape.value
        stored = wish.down is None or about.down_precision == choice.plan_word(choice.down_precision)
        if formed and shaped and stored and not differences(about, msgspec.structs.asdict(key), wish.sizes):
            return plan
    return None


class Build:
    """One build, in a directory of its own."""

    def __init__(
        self, wish: PlanWish, manifest: Manifest, key: PlanKey, choice: TensorRtChoice, gpu: Gpu,
        builder: EngineBuilder, watcher: Watcher, cache: PlanCache, scratch: Path,
    ) -> None:  # fmt: skip
        self._wish, self._manifest, self._key, self._choice, self._gpu = wish, manifest, key, choice, gpu
        self._builder, self._cache = builder, cache
        self._checkpoint = find_checkpoint(wish, manifest)
        self._graphs, self._plan = scratch / "graphs", scratch / "plan"
        self._record = BuildRecord(
            device=key.device, tensorrt=key.tensorrt, precision=key.precision, frame=choice.shape.value,
            slots=choice.slots, checkpoint_bytes=(self._checkpoint / "model.safetensors").stat().st_size, seconds=0.0,
        )  # fmt: skip
        expected_s, guessed = cache.expected_s(self._record)
        self._progress = BuildProgress(watcher.tell, watcher.stopping, expected_s, guessed=guessed, clock=watcher.clock)

    def run(self) -> Plan:
        """Build, verify, publish. Raises as `build_plan`."""
        probe = self._probe() if self._wish.verified else None  # now: what it refuses need not be built first
        self._progress.begin("weights", _WEIGHTS_SHARE)
        export_tensorrt(
            self._checkpoint, self._graphs, self._choice, _Weights(self._progress), measured=self._wish.measured,
            force=self._wish.forced, bundle=self._wish.bundle,
        )  # fmt: skip
        self._plan.mkdir()
        graphs = self._build_engines()
        tables = self._write_tables() if self._choice.shape is FrameShape.STEPPED else None
        verification = self._verify(graphs, probe) if probe is not None else None
        about = PlanSet(
            format_version=PLAN_FORMAT, key=self._key, sizes=self._wish.sizes, attention=self._choice.form.value,
            frame=self._choice.shape.value, dtype=np.dtype(self._choice.dtype).name,
            down_precision=self._choice.plan_word(self._choice.down_precision), graphs=graphs, tables=tables,
            voice=str(self._wish.bundle.resolve()), verification=verification,
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            build_s=round(self._progress.elapsed_s, 1),
        )  # fmt: skip
        write_plan_set(self._plan, about)
        read_plan_set(self._plan)
        folder = self._cache.publish(self._plan, folder_name(self._key, self._wish.sizes))
        plan = Plan(folder, about)
        self._cache.record(msgspec.structs.replace(self._record, seconds=about.build_s))
        self._cache.remove_replaced(plan)
        return plan

    def _build_engines(self) -> tuple[PlanGraph, ...]:
        models = {Role(path.stem): onnx.load(path, load_external_data=False) for path in self._graphs.glob("*.onnx")}
        weights_bytes = (self._graphs / WEIGHTS).stat().st_size
        room = workspace_bytes(self._gpu, weights_bytes)
        nodes = sum(len(model.graph.node) for model in models.values())
        share = 1.0 - _WEIGHTS_SHARE - (_VERIFY_SHARE if self._wish.verified else 0.0)
        built = []
        for role, model in sorted(models.items()):
            self._progress.begin(f"engine {role.value}", share * len(model.graph.node) / nodes)
            target = self._plan / f"{role.value}.engine"
            inputs, profiles = open_inputs(model), open_ranges(role, self._wish.sizes)
            order = EngineOrder(
                name=role.value, graph=self._graphs / f"{role.value}.onnx", target=target,
                profiles=profile_shapes(inputs, profiles), workspace_bytes=room, exact=self._key.precision == "fp32",
                timing_file=self._cache.timing_file(self._key),
            )  # fmt: skip
            self._builder.build(order, self._progress.advance)
            file = msgspec.structs.asdict(_entry(target))
            built.append(PlanGraph(role=role.value, inputs=inputs, profiles=profiles, **file))
        return tuple(built)

    def _write_tables(self) -> PlanFile:
        names = (StepTables.HEADS, StepTables.EMBEDDINGS)
        with safe_open(self._graphs / WEIGHTS, framework="numpy") as weights:
            save_file({name: weights.get_tensor(name) for name in names}, self._plan / TABLES)
        return _entry(self._plan / TABLES)

    def _probe(self) -> Probe:
        """What the engines will be verified with. Raises `BuildError` where their caches are too small for it."""
        manifest, bundle = self._manifest, self._wish.bundle
        table: npt.NDArray[Any] = np.load(bundle / manifest.graphs.text_table, mmap_mode="r")
        codec = TensorFile(bundle / manifest.graphs.weights).read(Tables.CODEC_EMBEDDING)
        texts = probe_ids(self._checkpoint, load_tokenizer(self._checkpoint))
        probe = make_probe(manifest, texts, table, codec, self._choice.slots)
        if rows_needed(probe) > self._choice.positions:
            raise BuildError(f"{self._choice.positions} positions are too few; take {rows_needed(probe)} or more")
        return probe

    def _verify(self, graphs: tuple[PlanGraph, ...], probe: Probe) -> Verification:
        """Compare; raises `BuildError` below the gate."""
        self._progress.begin("verification", _VERIFY_SHARE)
        reference: dict[Role, Session] = {
            Role(graph.role): OrtSession(self._graphs / f"{graph.role}.onnx", literally=True) for graph in graphs
        }
        with ExitStack() as opened:
            built: dict[Role, Session] = {}
            for graph in graphs:
                engine = self._builder.open(self._plan / graph.file, graph)
                built[Role(graph.role)] = opened.enter_context(closing(engine))
            found = verify(
                Side(sessions=reference, choice=self._choice, weights=self._graphs / WEIGHTS),
                Side(sessions=built, choice=self._choice, weights=self._plan / TABLES),
                self._manifest, probe, self._wish.sizes,
                f"ONNX Runtime {ort.__version__} on the CPU, the same graphs", self._progress.go_on,
            )  # fmt: skip
        if not found.passed:
            raise BuildError(
                f"the engines that were built do not speak as their graphs do ({found.agreement:.1%} of codes are the"
                f" same, at least {found.least_agreement:.0%} wanted; logits {found.logits_error:.2g} apart, at most"
                f" {found.most_logits_error:g}; sound {found.pcm_error:.2g}, at most {found.most_pcm_error:g}) and are"
                " not used; another form may do (--attention rows, --frame, --precision fp16)"
            )
        return found


class _Weights:
    """The export's stages as one of the build's; see `export.progress.Progress`."""

    def __init__(self, progress: BuildProgress) -> None:
        self._progress = progress

    def stage(self, name: str, total: int, unit: Unit = Unit.BYTES) -> Callable[[int], None]:
        """Only the stage that writes the weights counts: it is the longest. Any may be stopped."""
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self._progress.go_on(done / max(total, 1) if name == "weights" else 0.0)

        return advance


def _entry(path: Path) -> PlanFile:
    entry = checksum(path)
    return PlanFile(file=path.name, bytes=entry.bytes, sha256=entry.sha256)


@contextmanager
def _storage(cache: Path) -> Iterator[None]:
    """Trouble with the disk, said so that it can be mended."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise BuildError(f"the disk of {cache} is full; make room, or choose another with --cache") from error
        at = f" ({error.filename})" if error.filename else ""  # it may be a file of the bundle that cannot be read
        raise BuildError(f"cannot build in {cache}: {error.strerror or error}{at}") from error
