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
from export.probe_graph import CODES, FIRST_ROW, PREDICTOR_LOGITS, TALKER_LOGITS

MOST_DIVERGENCE: Final = 0.05
"""The gate, nats per choice: the narrow weights may lose 5 % in perplexity on what the full ones would say."""
LEAST_AGREEMENT: Final = 0.75
"""The gate's other half, set where a divergence of 0.05 lands for flat distributions; docs/LOG.md has measurements."""
FRAMES_PER_TEXT: Final = 48
CONTROL_IDS: Final = 1024
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

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest

    def _session(self, name: str) -> Any:
        options = ort.SessionOptions()
        options.log_severity_level = 3
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
        session = self._session("probe.onnx")
        made = [self._logits(session, one) for one in spoken]
        codes, eos = self._manifest.frame.codebook_size, self._manifest.codec_ids.eos
        talker = np.concatenate([logits for logits, _ in made])[:, [*range(codes), eos]]
        residual = np.concatenate([logits for _, logits in made])
        return [log_softmax(talker), *(log_softmax(residual[:, index]) for index in range(residual.shape[1]))]

    def _logits(self, session: Any, one: Spoken) -> tuple[Floats, Floats]:
        rows = len(one.codec_rows)
        values: dict[str, npt.NDArray[Any]] = {
            FrameInputs.CODEC_ROWS: one.codec_rows[None],
            FrameInputs.TEXT_ROWS: one.text_rows[None],
            FrameInputs.PAST_LENGTHS: np.array([rows - 1], np.int32),
            FrameInputs.TOTAL_LENGTH: np.array([rows], np.int32),
            CODES: one.codes,
            FIRST_ROW: np.array([one.first_row]),
        }
        outputs = run(session, values)
        return outputs[TALKER_LOGITS], outputs[PREDICTOR_LOGITS]


def run(session: Any, values: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """All outputs of a session by name."""
    names = [value.name for value in session.get_outputs()]
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


def measure(
    manifest: Manifest, reference: Path, candidate: Path, texts: list[tuple[int, ...]], table: npt.NDArray[Any],
    codec: Floats,
) -> Quality:  # fmt: skip
    """Teacher forcing of the weights in `candidate` against those in `reference`; see `Prober` for the folders.

    `table` [text ids, hidden] and `codec` f32 [codec ids, hidden] are the voice's rows.
    """
    full = Prober(reference, manifest)
    spoken = full.speak(texts, table, codec)
    pairs = zip(full.choices(spoken), Prober(candidate, manifest).choices(spoken), strict=True)
    return Quality(
        reference="fp32",
        texts=len(texts),
        frames=sum(len(one.codes) for one in spoken),
        codebooks=tuple(compare(*pair) for pair in pairs),
        least_agreement=LEAST_AGREEMENT,
        most_divergence=MOST_DIVERGENCE,
        forced=False,
    )
