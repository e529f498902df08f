"""Whether quantised weights may become a bundle.

Purpose: build the unquantised reference beside the bundle in the making, measure the one against the other, refuse what
falls below the gate unless it is forced.
Knows: which graphs a measurement needs. Does not know: how it measures, what else a bundle consists of.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from engines.manifest import Manifest, Quality
from export.checkpoint import Array
from export.errors import QualityError
from export.frame_graph import FramePlan, build_frame_graph
from export.graph import GraphBuilder
from export.lowering import OrtLowering, Precision
from export.payload import Payload
from export.probe_graph import build_probe_graph
from export.quality import measure

PROBE: Final = "probe.onnx"
CODEC_EMBEDDING: Final = "talker.model.codec_embedding.weight"
Texts = list[tuple[int, ...]]


class QualityGate:
    """The measurement of one export, planned before anything is written."""

    def __init__(self, plan: FramePlan, payload: Payload) -> None:
        """`plan` is the bundle's, `payload` its weights, which the probe shares."""
        self._plan = plan
        self._probe = GraphBuilder("probe", payload)
        build_probe_graph(self._probe, OrtLowering(self._probe), plan)
        full = replace(plan, precision=Precision.FP32, head_precision=Precision.FP32, down_precision=None)
        self._full_payload = Payload()
        self._full_frame = GraphBuilder("frame", self._full_payload)
        self._full_probe = GraphBuilder("probe", self._full_payload)
        build_frame_graph(self._full_frame, OrtLowering(self._full_frame), full)
        build_probe_graph(self._full_probe, OrtLowering(self._full_probe), full)

    @property
    def nbytes(self) -> int:
        """Bytes of the reference's weights, on disk while it is measured."""
        return self._full_payload.nbytes

    def measure(
        self, folder: Path, manifest: Manifest, texts: Texts, advance: Callable[[int], None], *, force: bool
    ) -> Quality:
        """Measure the weights in `folder`, a bundle in the making, which is left as it was.

        Raises `QualityError` for a result below the gate, unless `force`.
        """
        graphs = manifest.graphs
        table: npt.NDArray[Any] = np.load(folder / graphs.text_table, mmap_mode="r")
        codec: Array = self._plan.file.read(CODEC_EMBEDDING)
        probe = folder / PROBE
        with tempfile.TemporaryDirectory(prefix=".reference.", dir=folder.parent) as scratch:
            reference = Path(scratch)
            self._full_payload.write(reference / graphs.weights, advance)
            for graph, name in ((self._full_frame, graphs.frame), (self._full_probe, PROBE)):
                (reference / name).write_bytes(graph.model(graphs.weights).SerializeToString(deterministic=True))
            probe.write_bytes(self._probe.model(graphs.weights).SerializeToString(deterministic=True))
            try:
                found = measure(manifest, reference, folder, texts, table, codec)
            finally:
                probe.unlink()
        if found.passed:
            return found
        if not force:
            raise QualityError(
                f"{self._plan.precision.value} changes this voice too much: the likeliest code stays the same in"
                f" {found.agreement:.1%} of choices (at least {found.least_agreement:.0%} wanted), divergence"
                f" {found.divergence:.3f} nats (at most {found.most_divergence:g}); take a higher precision,"
                " or keep it all the same with --force"
            )
        return msgspec.structs.replace(found, forced=True)
