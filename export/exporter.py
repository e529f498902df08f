"""Official checkpoint in, bundle out.

Purpose: the order of an export: read the configuration, claim every tensor, build the graphs, write the files aside,
and rename the finished directory into place.
Knows: what a bundle consists of. Does not know: how any part of it is made.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from engines.machine_memory import free_memory_bytes
from engines.manifest import Manifest, Provenance, Quality, write_manifest
from export.bundle_manifest import FRAME_CUDA, GRAPHS, MAX_POSITIONS, bundle_manifest, graph_top_k
from export.checkpoint import TensorFile
from export.codec_graph import CodecGraph
from export.config import read_checkpoint_config
from export.errors import ExportError
from export.frame_graph import FramePlan, build_frame_graph
from export.graph import GraphBuilder, save_model
from export.lowering import OrtLowering, Precision
from export.lowering_cuda import OrtCudaLowering
from export.payload import Payload
from export.placing import aside, check_target, checksums, into_place
from export.probe_texts import probe_ids
from export.progress import Progress, Silent
from export.quality_gate import QualityGate, Reference, Texts
from export.rounding import Rounder
from export.text_side import TextTable, load_tokenizer, text_ids, write_front_end

EXPORTER: Final = "speakd 0.1"
PRECISIONS: Final = tuple(kind.value for kind in (Precision.FP32, Precision.INT8, Precision.INT4))
REFERENCE_MEMORY: Final = 3  # what a measurement takes, in full weights (docs/LOG.md, 2026-11-21)


def export_checkpoint(
    checkpoint: Path,
    bundle: Path,
    precision: str = "fp32",
    licence: str = "Apache-2.0",
    progress: Progress | None = None,
    *,
    down: str | None = None,
    force: bool = False,
    measured: bool | None = None,
) -> Manifest:
    """Export an official Qwen3-TTS 12Hz checkpoint directory to a bundle directory.

    `precision`: "fp32", "int8" or "int4" for the matrices of talker and code predictor; heads never below int8, the
    codec stays fp32. `down`: the precision of the down projections, the most sensitive ones, where it is to be another.
    `measured`: learn how to round, and measure the quantised weights against the full ones; None does so where the
    memory is there, `REFERENCE_MEMORY` times that of the full weights. `force` keeps measured weights also below the
    gate.
    An existing bundle of that name is replaced once the new one is complete; any other existing directory is refused.
    Raises `ExportError`, `CheckpointError` by tensor or key, `QualityError`; nothing is left behind then.
    """
    for name in (precision, down or precision):
        if name not in PRECISIONS:
            raise ExportError(f"bundles are stored as {', '.join(PRECISIONS)}, not as {name}")
    most = most_reference_bytes(measured, sys.maxsize)
    made = Export(checkpoint, Precision(precision), Precision(down or precision), progress or Silent(), most)
    return made.write(bundle, licence, force=force)


def most_reference_bytes(measured: bool | None, unasked: int) -> int:
    """Full weights up to this size are measured against: as was said, else up to `unasked` where memory allows."""
    if measured is not None:
        return sys.maxsize if measured else 0
    free = free_memory_bytes()
    return unasked if free is None else min(unasked, free // REFERENCE_MEMORY)


class Export:
    """One export: everything is checked and planned here, before the first byte is written."""

    def __init__(
        self, checkpoint: Path, precision: Precision, down: Precision, progress: Progress, most_reference: int
    ) -> None:
        """`most_reference`: see `most_reference_bytes`."""
        self._checkpoint, self._precision, self._down, self._progress = checkpoint, precision, down, progress
        self._config = read_checkpoint_config(checkpoint)
        talker = self._config.model.talker_config
        self._tokenizer = load_tokenizer(checkpoint)
        self._text_ids = text_ids(self._tokenizer, self._config.model)
        model = TensorFile(checkpoint / "model.safetensors")
        codec = TensorFile(checkpoint / "speech_tokenizer" / "model.safetensors")
        full = precision is down is Precision.FP32
        self._table = TextTable(model, self._config.model, np.float32 if full else np.float16)
        self._payload = Payload()
        top_k = graph_top_k(self._config.generation, talker)
        self._frame = GraphBuilder("frame", self._payload)
        heads = precision if full else Precision.INT8
        plan = FramePlan(talker, model, precision, heads, top_k, MAX_POSITIONS, down_precision=down)
        self._rounder = Rounder()
        build_frame_graph(self._frame, OrtLowering(self._frame, self._rounder), plan)
        self._frame_cuda = GraphBuilder("frame", self._payload)
        build_frame_graph(self._frame_cuda, OrtCudaLowering(self._frame_cuda, self._rounder), plan)
        self._codec = GraphBuilder("codec", self._payload)
        decoder = CodecGraph(self._codec, OrtLowering(self._codec), self._config.codec, codec)
        decoder.build()
        self._states = tuple(decoder.states)
        gate = None if full or not most_reference else QualityGate(plan, self._payload)
        self._gate = gate if gate and gate.nbytes <= most_reference else None
        self._unused = (*model.unused(), *(f"speech_tokenizer.{name}" for name in codec.unused()))

    def write(self, bundle: Path, licence: str, *, force: bool) -> Manifest:
        """Write everything aside, measure, then rename."""
        bundle = bundle.absolute()
        reference = self._gate.nbytes if self._gate else 0
        check_target(bundle, self._payload.nbytes + self._table.nbytes, reference)
        with aside(bundle) as folder:
            save_model(self._frame.model(GRAPHS.weights), folder / GRAPHS.frame)
            save_model(self._frame_cuda.model(GRAPHS.weights), folder / FRAME_CUDA)
            save_model(self._codec.model(GRAPHS.weights), folder / GRAPHS.codec)
            planned = self._write_text_side(folder, licence)
            quality = self._write_weights(folder, planned, force=force)
            files = checksums(folder, self._progress)
            manifest = msgspec.structs.replace(planned, quality=quality, files=files)
            write_manifest(folder, manifest)
            into_place(folder, bundle)
        return manifest

    @property
    def measures(self) -> bool:
        """Whether the full weights are wanted."""
        return self._gate is not None

    def reference(self, scratch: Path) -> AbstractContextManager[Reference]:
        """Only the full weights, in a scratch folder."""
        folder = scratch / "bundle"
        folder.mkdir()
        return self._reference(folder, self._write_text_side(folder, ""))

    def probes(self) -> tuple[Texts, Texts]:
        """Texts to learn from and texts to be measured by, as ids."""
        learning = probe_ids(self._checkpoint, self._tokenizer, learning=True)
        return learning, probe_ids(self._checkpoint, self._tokenizer)

    def _write_text_side(self, folder: Path, licence: str) -> Manifest:
        """Write text table and front end; returns the manifest, which does not know of files and quality yet."""
        self._table.write(folder / GRAPHS.text_table, self._progress.stage("text table", self._table.nbytes))
        return bundle_manifest(
            self._config,
            text_ids=self._text_ids,
            states=self._states,
            front_end=write_front_end(self._checkpoint, self._tokenizer, folder),
            provenance=self._provenance(licence),
        )

    def _provenance(self, licence: str) -> Provenance:
        return Provenance(
            exporter=EXPORTER,
            checkpoint=self._checkpoint.resolve().name,
            precision=self._precision.value,
            down_precision=None if self._down is self._precision else self._down.value,
            licence=licence,
            unused_tensors=self._unused,
        )

    def _reference(self, folder: Path, manifest: Manifest) -> AbstractContextManager[Reference]:
        assert self._gate is not None
        return self._gate.reference(folder, manifest, self._progress)

    def _learn(self, reference: Reference) -> None:
        if Precision.INT4 in (self._precision, self._down):
            self._rounder.learn(reference.moments(self.probes()[0]))

    def _write_weights(self, folder: Path, manifest: Manifest, *, force: bool) -> Quality | None:
        """Write the payload; quantised weights beside the full ones, to learn from them and to be measured."""

        def write() -> None:
            self._payload.write(folder / GRAPHS.weights, self._progress.stage("weights", self._payload.nbytes))

        if self._gate is None:
            write()
            return None
        with self._reference(folder, manifest) as reference:
            self._learn(reference)
            write()
            self._rounder.forget()
            return self._gate.measure(reference, folder, manifest, self.probes()[1], force=force)
