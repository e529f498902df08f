"""What quantisation did to a voice: the choices of the narrow weights against those of the full ones.

Purpose: put the same rows and codes, which the full model spoke, before both sets of weights (teacher forcing), and
compare the distributions of every codebook's choices; judge the result by a gate.
Knows: the probe graph run by ONNX Runtime. Does not know: how weights are quantised, checkpoints, bundles.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.manifest import CodebookQuality, FrameInputs, Manifest, Quality
from export.build_door import Values
from export.ort_session import OrtSession
from export.probe_graph import CODES, FIRST_ROW, MOMENTS, PREDICTOR_LOGITS, TALKER_LOGITS
from export.probe_speech import Floats, Spoken, prompt_rows, runs_to_speak, speak
from export.progress import Progress, Unit

MOST_DIVERGENCE: Final = 0.05
"""The gate, nats per choice: the narrow weights may lose 5 % in perplexity on what the full ones would say."""
LEAST_AGREEMENT: Final = 0.75
"""The gate's other half, set where a divergence of 0.05 lands for flat distributions; docs/LOG.md has measurements."""
PROBE_FILE: Final = "probe.onnx"
MOMENTS_FILE: Final = "moments.onnx"
MOMENTS_BYTES: Final = 1 << 31

Moments = dict[str, Floats]


class Prober:
    """One set of weights: a folder with `frame.onnx`, `probe.onnx` and the weights they point into."""

    def __init__(self, folder: Path, manifest: Manifest, progress: Progress, *, literally: bool = False) -> None:
        """`literally`: run the graphs node by node, for those that another runtime is to run."""
        self._folder, self._manifest, self._progress, self._literally = folder, manifest, progress, literally

    def _session(self, name: str) -> OrtSession:
        return OrtSession(self._folder / name, literally=self._literally, sparing=True)

    def speak(self, texts: list[tuple[int, ...]], table: npt.NDArray[Any], codec: Floats) -> list[Spoken]:
        """Codes for every text, which `export.probe_speech` samples."""
        advance = self._progress.stage("speaking", runs_to_speak(len(texts)), Unit.RUNS)
        prompts = [prompt_rows(self._manifest, ids, table, codec) for ids in texts]
        pad = table[self._manifest.text_ids.pad].astype(np.float32)
        return speak(self._session(self._manifest.graphs.frame), self._manifest, prompts, pad, advance)

    def choices(self, spoken: list[Spoken]) -> list[Floats]:
        """Log-probabilities of every codebook over all frames of all texts, each f32 [frames, values]."""
        advance = self._progress.stage("comparing", len(spoken), Unit.RUNS)
        session, made = self._session(PROBE_FILE), []
        for one in spoken:
            outputs = session.run(forced(one))
            made.append((outputs[TALKER_LOGITS], outputs[PREDICTOR_LOGITS]))
            advance(1)
        codes, eos = self._manifest.frame.codebook_size, self._manifest.codec_ids.eos
        talker = np.concatenate([logits for logits, _ in made])[:, [*range(codes), eos]]
        residual = np.concatenate([logits for _, logits in made])
        return [log_softmax(talker), *(log_softmax(residual[:, index]) for index in range(residual.shape[1]))]

    def moments(self, spoken: list[Spoken]) -> Moments:
        """X^T X, f32 [inputs, inputs], of what every matrix was given over all texts, by the matrix's name.

        From `moments.onnx`; a few matrices at a time, so that memory stays within `MOMENTS_BYTES` beside the sums.
        """
        session = self._session(MOMENTS_FILE)
        inputs = {name: int(shape[0]) for name, shape in session.outputs.items() if name.startswith(MOMENTS)}
        cut = portions({name: 4 * count**2 for name, count in inputs.items()}, MOMENTS_BYTES)
        advance = self._progress.stage("learning", len(cut) * len(spoken), Unit.RUNS)
        sums: Moments = {}
        for names in cut:
            for one in spoken:
                for name, value in session.run(forced(one), names).items():
                    if (key := name.removeprefix(MOMENTS)) in sums:
                        sums[key] += value
                    else:
                        sums[key] = value
                advance(1)
        return sums


def forced(one: Spoken) -> Values:
    """The probe graph's inputs for one text."""
    rows = len(one.codec_rows)
    return {
        FrameInputs.CODEC_ROWS: one.codec_rows[None],
        FrameInputs.TEXT_ROWS: one.text_rows[None],
        FrameInputs.PAST_LENGTHS: np.array([rows - 1], np.int32),
        FrameInputs.TOTAL_LENGTH: np.array([rows], np.int32),
        CODES: one.codes,
        FIRST_ROW: np.array([one.first_row]),
    }


def portions(sizes: dict[str, int], most: int) -> list[list[str]]:
    """Names in their order, cut so that each portion's sizes stay within `most` (or it is one name alone)."""
    cut: list[list[str]] = []
    room = 0
    for name, size in sizes.items():
        if not cut or size > room:
            cut.append([])
            room = most
        cut[-1].append(name)
        room -= size
    return cut


def log_softmax(logits: Floats) -> Floats:
    """Over the last axis, f32."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normed: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normed


def compare(reference: Floats, candidate: Floats) -> CodebookQuality:
    """Two sets of log-probabilities [frames, values] of one codebook."""
    same = reference.argmax(axis=-1) == candidate.argmax(axis=-1)
    divergence = (np.exp(reference) * (reference - candidate)).sum(axis=-1)
    return CodebookQuality(agreement=round(float(same.mean()), 4), divergence=round(float(divergence.mean()), 6))


def measure(full: Prober, narrow: Prober, spoken: list[Spoken]) -> Quality:
    """Teacher forcing of both sets of weights with what the full ones spoke."""
    pairs = zip(full.choices(spoken), narrow.choices(spoken), strict=True)
    return Quality(
        reference="fp32",
        texts=len(spoken),
        frames=sum(len(one.codes) for one in spoken),
        codebooks=tuple(compare(*pair) for pair in pairs),
        least_agreement=LEAST_AGREEMENT,
        most_divergence=MOST_DIVERGENCE,
        forced=False,
    )
