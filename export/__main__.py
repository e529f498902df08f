"""`python -m export`: the exporter's command line.

    python -m export CHECKPOINT BUNDLE [--precision fp32|int8|int4] [--down fp32|int8|int4] [--force]
                                               [--measure | --no-measure]
    python -m export inspect BUNDLE
    python -m export tensorrt CHECKPOINT FOLDER [--form in_place|rows] [--shape unrolled|stepped] [--slots N] ...
    python -m export build BUNDLE [--checkpoint DIR] [--precision ...] [--slots N] ...      (`speakd build` is this)

Purpose: read the arguments, call, say what came of it. Does not know: how anything is done.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from engines.errors import BundleError, PlanError
from engines.manifest import Manifest, Quality, with_down
from engines.plan_files import plan_cache
from engines.plan_set import SLOTS
from export.attention_tensorrt import AttentionForm
from export.build_command import add_build, build_or_list, show_plans
from export.errors import ExportError, StoppedError
from export.exporter import PRECISIONS, export_checkpoint
from export.inspect_bundle import inspect
from export.lowering import Precision
from export.progress import Unit
from export.stopping import ended_in_order
from export.tensorrt import FrameShape, TensorRtChoice
from export.tensorrt_files import export_tensorrt

COMMANDS = ("export", "inspect", "tensorrt", "build")


class Bars:
    """One progress bar per stage, drawn only where standard error is a terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description:>10}"), BarColumn(), DoneColumn(), TimeRemainingColumn())
        self.bars = Progress(*columns, console=console, disable=not console.is_terminal)

    def stage(self, name: str, total: int, unit: Unit = Unit.BYTES) -> Callable[[int], None]:
        """Open the next bar."""
        task = self.bars.add_task(name, total=total, unit=unit)
        return lambda count: self.bars.advance(task, count)


class DoneColumn(ProgressColumn):
    """How much of a stage is done, in its unit."""

    _COLUMNS: Final[dict[Unit, DownloadColumn | MofNCompleteColumn]] = {
        Unit.BYTES: DownloadColumn(),
        Unit.RUNS: MofNCompleteColumn(),
    }

    def render(self, task: Task) -> Text:
        """`12.3/45.6 MB` or `12/45`."""
        return self._COLUMNS[task.fields["unit"]].render(task)


def parser() -> argparse.ArgumentParser:
    """All commands; the word `export` may be left out."""
    whole = argparse.ArgumentParser(
        prog="python -m export",
        description="Turn an official Qwen3-TTS 12Hz checkpoint into a bundle that speakd runs, or look at a bundle."
        " The word export may be left out: python -m export CHECKPOINT BUNDLE.",
    )
    commands = whole.add_subparsers(dest="command", required=True)
    making = commands.add_parser("export", help="checkpoint to bundle")
    making.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="directory with config.json and model.safetensors"
    )
    making.add_argument("bundle", type=Path, metavar="BUNDLE", help="directory to make")
    making.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=Precision.FP32.value,
        help="how the matrices of talker and code predictor are stored (default: fp32)",
    )
    making.add_argument(
        "--down",
        choices=PRECISIONS,
        help="how the down projections are stored, if otherwise (with int4: int8 pays off)",
    )
    making.add_argument(
        "--licence", default="Apache-2.0", help="licence of the weights, for the manifest (default: Apache-2.0)"
    )
    making.add_argument(
        "--measure",
        action=argparse.BooleanOptionalAction,
        help="learn how to round from the full weights and measure what was lost; takes about three times their memory"
        " (4 bytes a weight) and some minutes (default: where the memory is free)",
    )
    making.add_argument("--force", action="store_true", help="keep quantised weights that fail the quality gate")
    _add_tensorrt(commands.add_parser("tensorrt", help="checkpoint to the graphs TensorRT engines are built from"))
    looking = commands.add_parser("inspect", help="what a bundle is, and what quantisation did to it")
    looking.add_argument("bundle", type=Path, metavar="BUNDLE")
    looking.add_argument("--cache", type=Path, metavar="DIR", help="directory of plans (default: the user's cache)")
    add_build(commands.add_parser("build", help="build TensorRT engines for a bundle, or list those that are there"))
    return whole


def _add_tensorrt(chosen: argparse.ArgumentParser) -> None:
    chosen.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    chosen.add_argument("folder", type=Path, metavar="FOLDER", help="directory to make")
    usual = TensorRtChoice()
    chosen.add_argument(
        "--form", choices=[form.value for form in AttentionForm], default=usual.form.value,
        help="how the cache is written: in_place needs TensorRT 10.15, rows 10.3 (default: in_place)",
    )  # fmt: skip
    chosen.add_argument(
        "--shape", choices=[shape.value for shape in FrameShape], default=usual.shape.value,
        help="a frame as one graph, or as the talker's and the predictor's step (default: unrolled)",
    )  # fmt: skip
    chosen.add_argument(
        "--precision", choices=[kind.value for kind in Precision], default=usual.precision.value,
        help="of the matrices of talker and code predictor; fp32 is as wide as --dtype (default: %(default)s)",
    )  # fmt: skip
    chosen.add_argument("--down", choices=PRECISIONS, help="of the down projections, if otherwise")
    chosen.add_argument(
        "--dtype", choices=["float16", "float32"], default="float16", help="of all products (default: %(default)s)"
    )
    chosen.add_argument(
        "--slots", type=int, choices=SLOTS, default=usual.slots, help="utterances at once (default: %(default)s)"
    )
    chosen.add_argument(
        "--positions", type=int, default=usual.positions, help="rows of each slot's cache (default: %(default)s)"
    )
    chosen.add_argument(
        "--measure", action=argparse.BooleanOptionalAction,
        help="as for export (default: where the full weights have at most 1 GiB)",
    )  # fmt: skip
    chosen.add_argument("--force", action="store_true", help="keep a set that fails the quality gate")


def make_tensorrt(arguments: argparse.Namespace) -> None:
    """Write the graphs and say what was made."""
    choice = TensorRtChoice(
        AttentionForm(arguments.form), FrameShape(arguments.shape), arguments.dtype, Precision(arguments.precision),
        arguments.slots, arguments.positions, Precision(arguments.down) if arguments.down else None,
    )  # fmt: skip
    progress = Bars()
    with progress.bars:
        made = export_tensorrt(
            arguments.checkpoint, arguments.folder, choice, progress, measured=arguments.measure, force=arguments.force
        )
    stored = with_down(made.precision, made.down_precision)
    told = f"{arguments.folder}: {', '.join(made.graphs)}, {stored}, for {made.slots} slots of {made.positions} rows"
    print(told + agreement(made.quality))


def make(arguments: argparse.Namespace) -> None:
    """Export and say what was made."""
    progress = Bars()
    with progress.bars:
        manifest = export_checkpoint(
            arguments.checkpoint, arguments.bundle, arguments.precision, arguments.licence, progress,
            down=arguments.down, force=arguments.force, measured=arguments.measure,
        )  # fmt: skip
    print(summary(arguments.bundle, manifest, forgone=arguments.measure is False))


def summary(bundle: Path, manifest: Manifest, *, forgone: bool) -> str:
    """One line on a finished bundle; `forgone`: no measurement was wanted."""
    size, made, quality = sum(entry.bytes for entry in manifest.files.values()), manifest.provenance, manifest.quality
    told = (
        f"{bundle}: {manifest.model_type.value}, {made.stored}, {size / 1e6:.1f} MB,"
        f" {len(made.unused_tensors)} tensors not needed for speaking"
    )
    if quality is None and made.stored != Precision.FP32.value:
        told += "; what quantisation cost was not measured"
        told += "" if forgone else ": too little memory is free (--measure tries all the same)"
    return told + agreement(quality)


def agreement(quality: Quality | None) -> str:
    """The end of such a line: what was measured."""
    if quality is None:
        return ""
    return f"; {quality.agreement:.1%} of choices as in {quality.reference}, {quality.divergence:.4f} nats apart"


def main(words: Sequence[str] | None = None) -> int:
    """Parse the arguments and do it. Returns the exit code."""
    words = sys.argv[1:] if words is None else list(words)
    if words and words[0] not in (*COMMANDS, "-h", "--help"):
        words = ["export", *words]
    arguments = parser().parse_args(words)
    try:
        if arguments.command == "inspect":
            console = Console(highlight=False)
            inspect(arguments.bundle, console)
            show_plans(arguments.cache or plan_cache(), console, arguments.bundle)
        elif arguments.command == "build":
            build_or_list(arguments)
        else:
            with ended_in_order():
                (make_tensorrt if arguments.command == "tensorrt" else make)(arguments)
    except (ExportError, BundleError, PlanError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, StoppedError):
        print("export: stopped, nothing was left behind", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
