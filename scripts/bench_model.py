"""`scripts/bench model`: what one frame costs, against the floor that this machine's memory sets.

For the default voice and for a random-weight model of the released 0.6B shapes, at each precision: prefill, one frame
of talker and predictor, one frame of codec, time to first audio, real-time factor (compute over audio: below 1 is
faster than real time), peak memory, and the bytes a frame must read over the measured bandwidth. Where an interpreter
with the official package is known (SPEAKD_OFFICIAL_PYTHON), its eager PyTorch is measured in the same run.

Each measurement runs in a process of its own, one after another. Figures are for comparing within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from engines.manifest import MANIFEST_NAME
from export.exporter import export_checkpoint
from scripts.bench_measure import read_bandwidth_gb_s
from scripts.bench_tools import DEFAULT_CHECKPOINT, Value, close, machine, run, show
from scripts.exporter_stamp import made_by_this_exporter, remove_what_others_made
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec

CACHE: Final = Path(".cache/bench")
PRECISIONS: Final = ("fp32", "int8", "int4")

# The released 0.6B dimensions; only the text table is short, since one row of it is read per token.
SHAPES_0B6: Final = TinySpec(
    storage="bfloat16", hidden=1024, layers=28, heads=16, kv_heads=8, head_dim=128, intermediate=3072, text_hidden=2048,
    text_rows=512, predictor_hidden=1024, predictor_layers=5, predictor_heads=16, predictor_kv_heads=8,
    predictor_head_dim=128, predictor_intermediate=3072, codes=2048, codec_dim=512, codec_latent=1024, codec_hidden=512,
    codec_layers=8, codec_heads=16, codec_head_dim=64, codec_intermediate=1024, codec_channels=1536,
    codec_rates=(8, 5, 4, 3),
)  # fmt: skip

COLUMNS: Final = {
    "frame_ms": "frame ms",
    "roofline": "of floor",
    "codec1_ms": "codec ms/frame x1",
    "codec25_ms": "x25",
    "prefill_ms": "prefill ms",
    "ttfa_ms": "TTFA ms",
    "rtf": "RTF",
    "speed": "x real time",
    "frame_mb": "MB/frame",
    "load_ms": "load ms",
    "peak_mb": "peak MB",
}


def main() -> None:
    """Measure, print the table, and the JSON line last."""
    parser = argparse.ArgumentParser(prog="scripts/bench model", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--models", nargs="+", choices=["default", "0.6b"], default=["default", "0.6b"])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS))
    parser.add_argument("--threads", type=int, default=1, help="threads of the frame graph (default: 1)")
    parser.add_argument("--frames", type=int, default=40, help="frames of the timed utterance (default: 40)")
    options = parser.parse_args()

    bandwidth = read_bandwidth_gb_s()
    rows: list[dict[str, Value]] = []
    for model in options.models:
        checkpoint = _checkpoint(model)
        for precision in options.precisions:
            bundle = _bundle(model, checkpoint, precision)
            row = _child(sys.executable, "scripts.bench_case", str(bundle), str(options.threads), str(options.frames))
            floor_ms = float(row["frame_mb"] or 0) / bandwidth
            row = {"case": f"{model} {precision}", **row, "roofline": floor_ms / float(row["frame_ms"] or 1)}
            rows.append(row)
            print(f"  {row['case']}: {row['frame_ms']:.2f} ms a frame", file=sys.stderr)
        if official := os.environ.get("SPEAKD_OFFICIAL_PYTHON"):
            row = _child(official, "scripts.bench_official", str(checkpoint), str(options.threads), str(options.frames))
            rows.append({"case": f"{model} official PyTorch fp32", **row})
    print()
    title = f"one thread reads {bandwidth:.1f} GB/s; frame graph on {options.threads} thread(s), codec on 1"
    show(title, ["", *COLUMNS.values()], [[row["case"], *(row.get(key) for key in COLUMNS)] for row in rows])
    close({"bench": "model", **machine(), "bandwidth_gb_s": bandwidth, "threads": options.threads, "rows": rows})


def _checkpoint(model: str) -> Path:
    if model == "default":
        return DEFAULT_CHECKPOINT
    checkpoint = CACHE / "0.6b"
    if not (checkpoint / "speech_tokenizer" / "model.safetensors").exists():
        print("  making random weights of the 0.6B shapes (once) ...", file=sys.stderr)
        write_checkpoint(SHAPES_0B6, checkpoint)
    return checkpoint


def _bundle(model: str, checkpoint: Path, precision: str) -> Path:
    remove_what_others_made(CACHE)
    bundle = made_by_this_exporter(CACHE) / f"{model}-{precision}"
    made, source = bundle / MANIFEST_NAME, checkpoint / "config.json"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        print(f"  exporting {model} {precision} (once) ...", file=sys.stderr)
        bundle.parent.mkdir(parents=True, exist_ok=True)
        export_checkpoint(checkpoint, bundle, precision, measured=False)
    return bundle


def _child(python: str, module: str, *arguments: str) -> dict[str, Value]:
    done = subprocess.run([python, "-m", module, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, Value] = json.loads(done.stdout.splitlines()[-1])
    return measured


if __name__ == "__main__":
    run(main)
