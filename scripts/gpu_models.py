"""The models that `scripts/gpu_check` measures: the default voice, and random weights of the 0.6B shape.

Purpose: make them where they are not there yet, on the processor. Knows: the exporter, shapes. Does not know: devices.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final

from engines.errors import GpuError
from engines.gpu_presence import check_gpu
from engines.manifest import MANIFEST_NAME
from export.exporter import export_checkpoint
from scripts.bench_model import SHAPES_0B6
from scripts.bench_tools import DEFAULT_CHECKPOINT
from scripts.exporter_stamp import made_by_this_exporter, remove_what_others_made
from scripts.gpu_rows import emit
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

HOME: Final = Path(".cache/gpu_check")
STORED: Final = {"default": "fp32", "0.6b": "int4"}
"""Models, and how their bundles are stored: what TensorRT builds has its own precision."""


def bundle_of(model: str, *, smoke: bool) -> Path:
    """Where a model's bundle lies."""
    return made_by_this_exporter(_home(smoke)) / f"{model}-bundle"


def checkpoint_of(model: str, *, smoke: bool) -> Path:
    """Where the checkpoint that it is made from lies."""
    return DEFAULT_CHECKPOINT if model == "default" and not smoke else _home(smoke) / model


def _home(smoke: bool) -> Path:
    return HOME / "smoke" if smoke else HOME


def main() -> None:
    """Make what is missing, and say how long it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget-s", type=float)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if not options.smoke:
        try:
            check_gpu()
        except GpuError as error:
            emit(missing=str(error))
            return
    remove_what_others_made(_home(options.smoke))
    made_by_this_exporter(_home(options.smoke)).mkdir(parents=True, exist_ok=True)
    for model, precision in STORED.items():
        began = time.monotonic()
        make(model, precision, smoke=options.smoke)
        emit(case=f"model {model}", made_in_s=round(time.monotonic() - began, 1))


def make(model: str, precision: str, *, smoke: bool) -> None:
    """Checkpoint and bundle, unless both are there."""
    checkpoint, bundle = checkpoint_of(model, smoke=smoke), bundle_of(model, smoke=smoke)
    if not (checkpoint / "speech_tokenizer" / "model.safetensors").exists():
        write_checkpoint(TinySpec() if smoke else SHAPES_0B6, checkpoint)
    if not (bundle / MANIFEST_NAME).exists():
        export_checkpoint(checkpoint, bundle, precision, measured=False)


if __name__ == "__main__":
    main()
