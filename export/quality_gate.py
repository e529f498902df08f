"""Whether quantised weights may become a bundle, and how they are rounded so that they may.

Purpose: set the full weights up beside the bundle in the making, let rounding learn from what they speak, measure the
quantised ones against them, refuse what falls below the gate unless it is forced.
Knows: which graphs that takes. Does not know: how weights are rounded or measured, what else a bundle consists of.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from engines.manifest import Manifest, Quality
from export.errors import QualityError
from export.frame_graph import CODEC_EMBEDDING, FramePlan, build_frame_graph
from export.graph import GraphBuilder, save_model
from export.lowering import OrtLowering, Precision
from export.payload import Payload
from export.probe_graph import MomentLowering, build_probe_graph
from export.probe_speech import Spoken
from export.progress import Progress
from export.quality import MOMENTS_FILE, PROBE_FILE, Moments, Prober, measure

Texts = list[tuple[int, ...]]


class Reference:
    """The full weights, ready to speak."""

    def __init__(
        self, folder: Path, manifest: Manifest, table: npt.NDArray[Any], codec: npt.NDArray[np.float32],
        progress: Progress,
    ) -> None:  # fmt: skip
        self.prober, self.manifest, self.progress = Prober(folder, manifest, progress), manifest, progress
        self._table, self._codec = table, codec

    def speak(self, texts: Texts) -> list[Spoken]:
        """What the full weights make of texts."""
        return self.prober.speak(texts, self._table, self._codec)

    def moments(self, texts: Texts) -> Moments:
        """What rounding learns from texts."""
        return self.prober.moments(self.speak(texts))


class QualityGate:
    """The measurement of one export, planned before anything is written."""

    def __init__(self, plan: FramePlan, payload: Payload) -> None:
        """`plan` is the bundle's, `payload` its weights, which the probe shares."""
        self._plan = plan
        self._probe = GraphBuilder("probe", payload)
        build_probe_graph(self._probe, OrtLowering(self._probe), plan)
        full = replace(plan, precision=Precision.FP32, head_precision=Precision.FP32, down_precision=None)
        self._payload = Payload()
        self._frame, self._full_probe, self._moments = (
            GraphBuilder(name, self._payload) for name in ("frame", "probe", "moments")
        )
        build_frame_graph(self._frame, OrtLowering(self._frame), full)
        build_probe_graph(self._full_probe, OrtLowering(self._full_probe), full)
        low = MomentLowering(self._moments)
        build_probe_graph(self._moments, low, full)
        low.put_out()

    @property
    def nbytes(self) -> int:
        """Bytes of the full weights, on disk while they are needed."""
        return self._payload.nbytes

    @contextmanager
    def reference(self, folder: Path, manifest: Manifest, progress: Progress) -> Iterator[Reference]:
        """The full weights in a folder beside the bundle in the making `folder`, whose text table is there already."""
        weights = manifest.graphs.weights
        table: npt.NDArray[Any] = np.load(folder / manifest.graphs.text_table, mmap_mode="r")
        with tempfile.TemporaryDirectory(prefix=".reference.", dir=folder.parent) as scratch:
            home = Path(scratch)
            self._payload.write(home / weights, progress.stage("reference", self._payload.nbytes))
            save_model(self._frame.model(weights), home / manifest.graphs.frame)
            save_model(self._full_probe.model(weights), home / PROBE_FILE)
            save_model(self._moments.model(weights), home / MOMENTS_FILE)
            yield Reference(home, manifest, table, self._plan.file.read(CODEC_EMBEDDING), progress)

    def measure(self, reference: Reference, folder: Path, manifest: Manifest, texts: Texts, *, force: bool) -> Quality:
        """Measure the weights in `folder`, a bundle in the making, which is left as it was.

        Raises `QualityError` for a result below the gate, unless `force`.
        """
        probe = folder / PROBE_FILE
        save_model(self._probe.model(manifest.graphs.weights), probe)
        try:
            narrow = Prober(folder, manifest, reference.progress)
            found = measure(reference.prober, narrow, reference.speak(texts))
        finally:
            probe.unlink()
        return judge(found, self._plan.precision, self._plan.down_precision, force=force)


def judge(found: Quality, precision: Precision, down: Precision | None, *, force: bool) -> Quality:
    """A measurement that passes, or is forced (and then says so). Raises `QualityError` for any other."""
    if not found.passed:
        if not force:
            with_down = ""
            if down is not None and down.bits < precision.bits:
                with_down = f" with {down.value} down projections"
            raise QualityError(
                f"{precision.value}{with_down} changes this voice too much: the likeliest code stays the same in"
                f" {found.agreement:.1%} of choices (at least {found.least_agreement:.0%} wanted), divergence"
                f" {found.divergence:.3f} nats (at most {found.most_divergence:g}); take a higher precision"
                " (for the down projections alone: --down), or keep it all the same with --force"
            )
        return msgspec.structs.replace(found, forced=True)
    return found
