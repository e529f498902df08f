"""`python -m export CHECKPOINT BUNDLE`: the exporter's command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from export.errors import ExportError
from export.exporter import export_checkpoint
from export.lowering import Precision


class Bars:
    """One progress bar per stage, drawn only where standard error is a terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description:>10}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self.bars = Progress(*columns, console=console, disable=not console.is_terminal)

    def stage(self, name: str, total_bytes: int) -> Callable[[int], None]:
        """Open the next bar."""
        task = self.bars.add_task(name, total=total_bytes)
        return lambda count: self.bars.advance(task, count)


def main() -> int:
    """Parse the arguments, export, say what came of it. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m export",
        description="Turn an official Qwen3-TTS 12Hz checkpoint into a bundle that speakd runs.",
    )
    parser.add_argument(
        "checkpoint", type=Path, metavar="CHECKPOINT", help="directory with config.json and model.safetensors"
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="directory to make")
    parser.add_argument(
        "--precision",
        choices=[kind.value for kind in Precision],
        default=Precision.FP32.value,
        help="how the matrices of talker and code predictor are stored (default: fp32)",
    )
    parser.add_argument(
        "--licence", default="Apache-2.0", help="licence of the weights, for the manifest (default: Apache-2.0)"
    )
    arguments = parser.parse_args()
    progress = Bars()
    try:
        with progress.bars:
            manifest = export_checkpoint(
                arguments.checkpoint, arguments.bundle, arguments.precision, arguments.licence, progress
            )
    except ExportError as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("export: stopped, nothing was left behind", file=sys.stderr)
        return 130
    size = sum(entry.bytes for entry in manifest.files.values())
    print(
        f"{arguments.bundle}: {manifest.model_type.value}, {arguments.precision}, {size / 1e6:.1f} MB,"
        f" {len(manifest.provenance.unused_tensors)} tensors not needed for speaking"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
