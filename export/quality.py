"""What quantisation did to a voice: the choices of the narrow weights against those of the full ones.

Purpose: let the full model speak a few texts, put the same rows and codes before both sets of weights (teacher
forcing), and compare the distributions of every codebook's choices; judge the result by a gate.
Knows: the frame graph and the probe graph run by ONNX Runtime, prompts of the whole-text layout. Does not know: how
weights are quantised, checkpoints, bundles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from engines.manifest import (
    CodebookQuality,
    FrameInputs,
    FrameOutputs,
    Manifest,
    Quality,
    StageSampling,
)
from export.probe_graph import CODES, FIRST_ROW, MOMENTS, PREDICTOR_LOGITS, TALKER_LOGITS

MOST_DIVERGENCE: Final = 0.05
"""The gate, nats per choice: the narrow weights may lose 5 % in perplexity on what the full ones would say."""
LEAST_AGREEMENT: Final = 0.75
"""The gate's other half, set where a divergence of 0.05 lands for flat distributions; docs/LOG.md has measurements."""
FRAMES_PER_TEXT: Final = 48
PROBE_FILE: Final = "probe.onnx"
MOMENTS_FILE: Final = "moments.onnx"
MOMENTS_BYTES: Final = 1 << 28
SEED: Final = 20261120

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One text as the reference spoke it."""

    codec_rows: Floats
    """[prompt rows + frames - 1, hidden]"""
    text_rows: Floats
    first_row: int
    codes: Codes
    """[frames, codebooks]"""


class Prober:
    """One set of weights: a folder with `frame.onnx`, `probe.onnx` and the weights they point into."""

    def __init__(self, folder: Path, manifest: Manifest, *, literally: bool = False) -> None:
        """`literally`: run the graphs node by node, for those that another runtime is to run."""
        self._folder, self._manifest, self._literally = folder, manifest, literally

    def _session(self, name: str) -> Any:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        if self._literally:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return ort.InferenceSession(self._folder / name, options, providers=["CPUExecutionProvider"])

    def speak(self, texts: list[tuple[int, ...]], table: npt.NDArray[Any], codec: Floats) -> list[Spoken]:
        """Sample codes for every text, by the voice's own sampling defaults; the noise is always the same."""
        session = self._session(self._manifest.graphs.frame)
        return [self._speak(session, index, ids, table, codec) for index, ids in enumerate(texts)]

    def _speak(self, session: Any, index: int, ids: tuple[int, ...], table: npt.NDArray[Any], codec: Floats) -> Spoken:
        manifest = self._manifest
        codec_rows, text_rows = prompt_rows(manifest, ids, table, codec)
        prompt, pad = len(codec_rows), table[manifest.text_ids.pad].astype(np.float32)
        values = self._settings(prompt + FRAMES_PER_TEXT)
        values |= {FrameInputs.CODEC_ROWS: codec_rows[None], FrameInputs.TEXT_ROWS: text_rows[None]}
        rows, codes, length = [codec_rows], [], prompt
        for frame in range(FRAMES_PER_TEXT):
            values[FrameInputs.PAST_LENGTHS] = np.array([length - 1], np.int32)
            values[FrameInputs.TOTAL_LENGTH] = np.array([length], np.int32)
            values[FrameInputs.END_BIAS] = np.array([[0.0 if frame >= 2 else -1e30]], np.float32)
            noise = np.random.default_rng([SEED, index, frame]).gumbel(size=self._noise_shape())
            values[FrameInputs.NOISE] = noise.astype(np.float32)
            outputs = run(session, values)
            if outputs[FrameOutputs.CODES][0, 0] == manifest.codec_ids.eos:
                break
            codes.append(outputs[FrameOutputs.CODES][0])
            rows.append(outputs[FrameOutputs.NEXT_CODEC_ROW][0])
            values |= {FrameInputs.CODEC_ROWS: rows[-1][None], FrameInputs.TEXT_ROWS: pad[None, None]}
            values |= {FrameInputs.SEEN: outputs[FrameOutputs.NEXT_SEEN], **self._caches(outputs)}
            length += 1
        text = np.concatenate([text_rows, np.tile(pad, (len(codes) - 1, 1))])
        return Spoken(np.concatenate(rows[: len(codes)]), text, prompt - 1, np.stack(codes))

    def _noise_shape(self) -> tuple[int, int, int]:
        return 1, self._manifest.frame.codebooks, self._manifest.sampling.max_top_k

    def _caches(self, outputs: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        layers = range(self._manifest.talker.layers)
        keys = {FrameInputs.past_key(layer): outputs[FrameOutputs.present_key(layer)] for layer in layers}
        return keys | {FrameInputs.past_value(layer): outputs[FrameOutputs.present_value(layer)] for layer in layers}

    def _settings(self, positions: int) -> dict[str, npt.NDArray[Any]]:
        sampling, stack = self._manifest.sampling, self._manifest.talker
        stages = (sampling.talker, sampling.predictor)
        cache = np.zeros((1, stack.kv_heads, positions, stack.head_dim), np.float32)

        def pair(pick: Callable[[StageSampling], float], kind: npt.DTypeLike) -> npt.NDArray[Any]:
            return np.array([[pick(stage) for stage in stages]], kind)

        return {
            **{FrameInputs.past_key(layer): cache for layer in range(stack.layers)},
            **{FrameInputs.past_value(layer): cache for layer in range(stack.layers)},
            FrameInputs.SEEN: np.zeros((1, stack.vocabulary), np.float32),
            FrameInputs.REPETITION_PENALTY: np.array([[sampling.repetition_penalty]], np.float32),
            FrameInputs.TEMPERATURE: pair(lambda stage: stage.temperature, np.float32),
            FrameInputs.TOP_K: pair(lambda stage: stage.top_k, np.int64),
            FrameInputs.TOP_P: pair(lambda stage: stage.top_p, np.float32),
        }

    def choices(self, spoken: list[Spoken]) -> list[Floats]:
        """Log-probabilities of every codebook over all frames of all texts, each f32 [frames, values]."""
        session = self._session(PROBE_FILE)
        made = [self._logits(session, one) for one in spoken]
        codes, eos = self._manifest.frame.codebook_size, self._manifest.codec_ids.eos
        talker = np.concatenate([logits for logits, _ in made])[:, [*range(codes), eos]]
        residual = np.concatenate([logits for _, logits in made])
        return [log_softmax(talker), *(log_softmax(residual[:, index]) for index in range(residual.shape[1]))]

    def _logits(self, session: Any, one: Spoken) -> tuple[Floats, Floats]:
        outputs = run(session, forced(one))
        return outputs[TALKER_LOGITS], outputs[PREDICTOR_LOGITS]

    def moments(self, spoken: list[Spoken]) -> dict[str, npt.NDArray[np.float64]]:
        """X^T X of what every matrix was given over all texts, by the matrix's name; from `moments.onnx`.

        A few matrices at a time, so that memory stays within `MOMENTS_BYTES` beside the sums.
        """
        session = self._session(MOMENTS_FILE)
        shapes = {value.name: value.shape for value in session.get_outputs() if value.name.startswith(MOMENTS)}
        found: dict[str, npt.NDArray[np.float64]] = {}
        for names in portions({name: 4 * shape[0] ** 2 for name, shape in shapes.items()}, MOMENTS_BYTES):
            for one in spoken:
                for name, value in run(session, forced(one), names).items():
                    key = name.removeprefix(MOMENTS)
                    found[key] = found[key] + value if key in found else value.astype(np.float64)
        return found


def forced(one: Spoken) -> dict[str, npt.NDArray[Any]]:
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


def run(
    session: Any, values: dict[str, npt.NDArray[Any]], names: list[str] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Outputs of a session by name, all or those named. Takes more than it reads."""
    read = {value.name for value in session.get_inputs()}
    values = {name: value for name, value in values.items() if name in read}
    names = names or [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, values), strict=True))


def prompt_rows(
    manifest: Manifest, ids: tuple[int, ...], table: npt.NDArray[Any], codec: Floats
) -> tuple[Floats, Floats]:
    """Codec and text rows of the whole-text layout with automatic language and the first speaker, f32 [rows, hidden].

    (`engines.prompt` knows all layouts; a model without named speakers is probed without a speaker row.)
    """
    text, control = manifest.text_ids, manifest.codec_ids
    speakers = [speaker.id for speaker in manifest.speakers.values()][:1]
    head = [control.nothink, control.think_bos, control.think_eos, *speakers]
    codec_ids = [*head, *[control.pad] * (1 + len(ids) + 1), control.bos]
    text_ids = [*[text.pad] * len(head), text.bos, *ids, text.eos, text.pad]
    bare = np.zeros((len(text.role), codec.shape[1]), np.float32)
    return np.concatenate([bare, codec[codec_ids]]), table[[*text.role, *text_ids]].astype(np.float32)


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
