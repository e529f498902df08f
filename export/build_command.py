"""`python -m export build`: build TensorRT engines for a bundle, or list those that are there.

Purpose: from the command line to a build and back: bars for people, JSON lines for the daemon, one sentence for
trouble. `speakd build` fills in what its configuration says (`app.build_command`). Knows: arguments, words for people.
Does not know: how a plan is built.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from engines.errors import BundleError, PlanError
from engines.plan_files import Plan, bundle_hash, plan_cache, plans
from engines.plan_set import PRECISIONS, SLOTS, PlanSizes, Verification, plan_slots
from export.attention_tensorrt import AttentionForm
from export.build_door import EngineBuilder
from export.errors import BuildError, ExportError, StoppedError
from export.plan_build import Watcher, build_plan
from export.plan_choice import USUAL_SHAPE, PlanWish
from export.plan_progress import BuildState
from export.stopping import stop_on_signals
from export.tensorrt import FrameShape
from export.tensorrt_trouble import NOT_INSTALLED

_TELL_EVERY: Final = 0.005
"""Share of the build between two words of one stage."""
_SIZES: Final = ("slots", "positions", "prefill_rows", "codec_frames")


def add_build(chosen: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    chosen.add_argument("bundle", type=Path, metavar="BUNDLE", nargs="?", help="needed, but with --list")
    chosen.add_argument(
        "--checkpoint", type=Path, metavar="DIR",
        help="official checkpoint the bundle was made from (default: a directory of its name beside the bundle)",
    )  # fmt: skip
    chosen.add_argument(
        "--precision", choices=("auto", *PRECISIONS), default="auto",
        help="of talker and predictor; auto: the bundle's own, fp16 for fp32 bundles (default)",
    )  # fmt: skip
    chosen.add_argument(
        "--down", choices=("int4", "int8", "fp16"),
        help="of the down projections, if otherwise (default: as in a bundle of the same precision)",
    )  # fmt: skip
    chosen.add_argument(
        "--slots", type=int, default=4, metavar="N",
        help=f"utterances at once, rounded up to one of {', '.join(map(str, SLOTS))} (default: 4)",
    )  # fmt: skip
    chosen.add_argument("--positions", type=int, default=1024, help="rows of each slot's cache (default: 1024)")
    chosen.add_argument("--prefill-rows", type=int, default=64, help="rows of one piece of a prompt (default: 64)")
    chosen.add_argument("--codec-frames", type=int, default=25, help="most frames of one codec call (default: 25)")
    chosen.add_argument(
        "--attention", choices=[form.value for form in AttentionForm],
        help="how the cache is written (default: in_place from TensorRT 10.15 on, else rows)",
    )  # fmt: skip
    chosen.add_argument(
        "--frame", choices=[shape.value for shape in FrameShape],
        help=f"a frame as one engine, or as the talker's and the predictor's step (default: {USUAL_SHAPE.value})",
    )  # fmt: skip
    chosen.add_argument("--cache", type=Path, metavar="DIR", help="directory of plans (default: the user's cache)")
    chosen.add_argument("--again", action="store_true", help="build although a plan is there")
    chosen.add_argument("--no-verify", action="store_true", help="let the engines serve without comparing them first")
    chosen.add_argument(
        "--measure", action=argparse.BooleanOptionalAction,
        help="as for export (default: where the full weights have at most 1 GiB)",
    )  # fmt: skip
    chosen.add_argument("--force", action="store_true", help="keep weights that fail the quality gate")
    chosen.add_argument("--list", action="store_true", help="show the plans that are there, and build nothing")
    chosen.add_argument("--json", action="store_true", help="tell everything as JSON lines, for programs")


def load_builder() -> EngineBuilder:
    """TensorRT. Raises `BuildError` where it is not installed."""
    try:
        from export.tensorrt_builder import TensorRtBuilder
    except ImportError as error:
        raise BuildError(f"{NOT_INSTALLED} ({error})") from error
    return TensorRtBuilder()


def build_or_list(arguments: argparse.Namespace, load: Callable[[], EngineBuilder] = load_builder) -> None:
    """Do what the arguments say. Raises `ExportError`, `BundleError`, `StoppedError`."""
    cache = arguments.cache or plan_cache()
    if arguments.list:
        show_plans(cache, Console(highlight=False), arguments.bundle)
        return
    if arguments.bundle is None:
        raise BuildError("say which bundle engines are to be built for: build BUNDLE")
    stopping = stop_on_signals()
    teller = JsonTeller() if arguments.json else PeopleTeller()
    watcher = Watcher(
        tell=teller.tell, waiting=teller.waiting, stopping=stopping.is_set, begins=teller.begins,
    )  # fmt: skip
    try:
        with teller:
            plan, built = build_plan(_wish(arguments, cache), load(), watcher)
    except (ExportError, BundleError, PlanError) as error:
        teller.failed(str(error))
        raise
    teller.done(plan, built)


def _wish(arguments: argparse.Namespace, cache: Path) -> PlanWish:
    """Raises `BuildError` for sizes below one, `PlanError` for more slots than plans hold."""
    for name in _SIZES:
        if getattr(arguments, name) < 1:
            raise BuildError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(arguments, name)}")
    return PlanWish(
        bundle=arguments.bundle,
        cache=cache,
        sizes=PlanSizes(
            slots=plan_slots(arguments.slots), positions=arguments.positions, prefill_rows=arguments.prefill_rows,
            codec_chunk_frames=arguments.codec_frames,
        ),
        checkpoint=arguments.checkpoint,
        precision=arguments.precision,
        down=arguments.down,
        attention=AttentionForm(arguments.attention) if arguments.attention else None,
        shape=FrameShape(arguments.frame) if arguments.frame else None,
        verified=not arguments.no_verify,
        measured=arguments.measure,
        forced=arguments.force,
        again=arguments.again,
        unattended=arguments.json,
    )  # fmt: skip


class PeopleTeller:
    """A bar on standard error where that is a terminal, else a line per stage."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        columns = (
            TextColumn("{task.description:>16}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._bars = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bars.add_task("", total=1.0, left="")
        self._stage = ""

    def __enter__(self) -> None:
        self._bars.start()

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def tell(self, state: BuildState) -> None:
        """How far it is."""
        left = time_left(state)
        self._bars.update(self._task, completed=state.fraction, description=state.stage, left=left)
        if state.stage != self._stage and not self._console.is_terminal:
            self._console.print(f"{state.stage}: {state.fraction:.0%} done, {left}", soft_wrap=True)
        self._stage = state.stage

    def begins(self, failure: Path) -> None:
        """Nothing to tell: whoever sees it die is there."""

    def waiting(self) -> None:
        """Somebody else builds."""
        self._console.print("another build is using this cache; waiting for its end")

    def done(self, plan: Plan, built: bool) -> None:
        """It is there."""
        about = plan.about
        if not built:
            print(f"{plan.folder}: there already (--again builds it anew)")
            return
        print(
            f"{plan.folder}: {about.stored}, {about.sizes.slots} slots, {about.bytes / 1e6:.0f} MB, built in"
            f" {about.build_s:.0f} s{_verdict(about.verification)}; a running daemon takes it when it is restarted"
        )

    def failed(self, error: str) -> None:
        """Nothing to add: the sentence is printed by whoever called."""


class JsonTeller:
    """One JSON object a line on standard output; a reader that has gone ends the build."""

    def __init__(self) -> None:
        self._stage, self._fraction = "", -1.0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Nothing to open."""

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def tell(self, state: BuildState) -> None:
        """How far it is; not every little step."""
        with self._lock:
            if state.stage == self._stage and state.fraction - self._fraction < _TELL_EVERY:
                return
            self._stage, self._fraction = state.stage, state.fraction
            self._say(
                stage=state.stage, fraction=round(state.fraction, 3), remaining_s=round(state.remaining_s),
                told=time_left(state),
            )  # fmt: skip

    def begins(self, failure: Path) -> None:
        """Where to write why this process died."""
        self._say(failure=str(failure))

    def waiting(self) -> None:
        """Somebody else builds."""
        self._say(stage="waiting for another build", fraction=0.0, remaining_s=0, told="")

    def done(self, plan: Plan, built: bool) -> None:
        """It is there."""
        self._say(plan=str(plan.folder), built=built)

    def failed(self, error: str) -> None:
        """It will not be there; the sentence says why."""
        self._say(error=error)

    def _say(self, **fields: object) -> None:
        try:
            sys.stdout.write(msgspec.json.encode(fields).decode() + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # or it would be taken for a failure to write the plan, and remembered as one
            raise StoppedError from None


def time_left(state: BuildState) -> str:
    """For people; a guess says so."""
    minutes = state.remaining_s / 60.0
    told = f"about {minutes:.0f} min left" if minutes >= 1.5 else f"about {state.remaining_s:.0f} s left"
    return f"{told} (a guess: nothing was built on this device before)" if state.guessed else told


def show_plans(cache: Path, console: Console, bundle: Path | None = None) -> None:
    """A table of the plans of a cache, all or those of one bundle. Raises `PlanError` for no bundle."""
    found = list(plans(cache, None if bundle is None else bundle_hash(bundle)))
    if not found:
        console.print(f"No TensorRT plans{'' if bundle is None else ' of this bundle'} in {cache}.")
        return
    for plan in found:
        console.print(str(plan.folder), soft_wrap=True)  # a path must stay in one piece
        console.print(plan_table(plan))


def plan_table(plan: Plan) -> Table:
    """One plan, one fact a line."""
    about, key, sizes = plan.about, plan.about.key, plan.about.sizes
    table = Table(show_header=False, box=None)
    rows = {
        "voice": f"{about.voice} ({key.bundle[:12]})",
        "built for": f"TensorRT {key.tensorrt} on {key.device} ({key.architecture})",
        "precision": f"{about.stored}, products {about.dtype}",
        "form": f"{about.attention} attention, {about.frame} frame",
        "holds": f"{sizes.slots} slots of {sizes.positions} positions, prompts in pieces of {sizes.prefill_rows}, the"
        f" codec up to {sizes.codec_chunk_frames} frames at once",
        "size": f"{about.bytes / 1e6:.1f} MB: "
        + ", ".join(f"{file.file} {file.bytes / 1e6:.1f}" for file in about.files),
        "built": f"{about.created}, in {about.build_s:.0f} s",
        "verified": _verification(about.verification),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _verdict(found: Verification | None) -> str:
    return ", not verified" if found is None else f", {found.agreement:.1%} of codes as by ONNX Runtime"


def _verification(found: Verification | None) -> str:
    if found is None:
        return "no (--no-verify)"
    return (
        f"against {found.reference}: {found.frames} frames, {found.agreement:.1%} of codes the same (at least"
        f" {found.least_agreement:.0%}), logits {found.logits_error:.2g} apart (at most {found.most_logits_error:g}),"
        f" sound {found.pcm_error:.2g} (at most {found.most_pcm_error:g})"
    )
