"""The full weights speak a few texts, all at once: what quantised ones are then measured by and learn from.

Purpose: prompts in, sampled codes out, with the rows that teacher forcing puts before any set of weights.
Knows: the frame graph run by ONNX Runtime, prompts of the whole-text layout. Does not know: what is made of the codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engines.manifest import FrameInputs, FrameOutputs, Manifest, StageSampling
from export.build_door import Session, Values
from export.sampler import NEVER

FRAMES_PER_TEXT: Final = 48
LEAST_FRAMES: Final = 2
SEED: Final = 20261120

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One text as the reference spoke it."""

    codec_rows: Floats
    """[prompt rows + frames - 1, hidden]"""
    text_rows: Floats
    """As `codec_rows`; the talker sums them."""
    first_row: int
    """The row whose state chose frame 0: the prompt's last."""
    codes: Codes
    """[frames, codebooks]"""


def speak(
    session: Session, manifest: Manifest, prompts: Sequence[tuple[Floats, Floats]], pad: Floats,
    advance: Callable[[int], None],
) -> list[Spoken]:  # fmt: skip
    """Sample codes for every prompt (`prompt_rows`) by the voice's own sampling defaults, with always the same noise.

    The prompts are read one by one, then all texts go on as one batch: that reads the weights once a frame. `pad`, f32
    [hidden], is the text row behind a text's end. `advance` is told each run of `runs_to_speak`.
    """
    lengths = np.array([len(rows) for rows, _ in prompts], np.int32)
    speech = _Speech(session, manifest, int(lengths.max()) + FRAMES_PER_TEXT)
    read = []
    for index, prompt in enumerate(prompts):
        read.append(speech.read(index, *prompt))
        advance(1)
    outputs = {name: np.concatenate([values[name] for values in read]) for name in read[0]}
    del read  # caches, as large as the batch's
    codes, rows = [outputs[FrameOutputs.CODES]], [outputs[FrameOutputs.NEXT_CODEC_ROW]]
    for frame in range(1, FRAMES_PER_TEXT):
        outputs = speech.step(frame, lengths + frame, outputs, pad)
        codes.append(outputs[FrameOutputs.CODES])
        rows.append(outputs[FrameOutputs.NEXT_CODEC_ROW])
        advance(1)
    chosen, fed = np.stack(codes, axis=1), np.concatenate(rows, axis=1)
    return [_until_its_end(manifest, *prompts[index], chosen[index], fed[index], pad) for index in range(len(prompts))]


def runs_to_speak(texts: int) -> int:
    """Runs of the frame graph that `speak` makes."""
    return texts + FRAMES_PER_TEXT - 1


def _until_its_end(
    manifest: Manifest, codec_rows: Floats, text_rows: Floats, codes: Codes, fed: Floats, pad: Floats
) -> Spoken:
    ends = np.flatnonzero(codes[:, 0] == manifest.codec_ids.eos)
    frames = int(ends[0]) if len(ends) else len(codes)
    text = np.concatenate([text_rows, np.tile(pad, (frames - 1, 1))])
    return Spoken(np.concatenate([codec_rows, fed[: frames - 1]]), text, len(codec_rows) - 1, codes[:frames])


class _Speech:
    """Runs of a frame graph, whose caches have `positions` rows."""

    def __init__(self, session: Session, manifest: Manifest, positions: int) -> None:
        self._session, self._manifest, self._positions = session, manifest, positions

    def read(self, index: int, codec_rows: Floats, text_rows: Floats) -> Values:
        """Outputs of the prompt of text `index`: its frame 0, and its past."""
        stack = self._manifest.talker
        cache = np.zeros((1, stack.kv_heads, self._positions, stack.head_dim), np.float32)
        layers = range(stack.layers)
        return self._session.run(
            {
                **{FrameInputs.past_key(layer): cache for layer in layers},
                **{FrameInputs.past_value(layer): cache for layer in layers},
                **self._wishes([index], 0, np.array([len(codec_rows)], np.int32)),
                FrameInputs.SEEN: np.zeros((1, stack.vocabulary), np.float32),
                FrameInputs.CODEC_ROWS: codec_rows[None],
                FrameInputs.TEXT_ROWS: text_rows[None],
            },
        )

    def step(self, frame: int, lengths: npt.NDArray[np.int32], before: Values, pad: Floats) -> Values:
        """Outputs of the next frame of all texts, their pasts being `lengths` rows long with this one's."""
        texts, layers = len(lengths), range(self._manifest.talker.layers)
        return self._session.run(
            {
                **{FrameInputs.past_key(layer): before[FrameOutputs.present_key(layer)] for layer in layers},
                **{FrameInputs.past_value(layer): before[FrameOutputs.present_value(layer)] for layer in layers},
                **self._wishes(range(texts), frame, lengths),
                FrameInputs.SEEN: before[FrameOutputs.NEXT_SEEN],
                FrameInputs.CODEC_ROWS: before[FrameOutputs.NEXT_CODEC_ROW],
                FrameInputs.TEXT_ROWS: np.broadcast_to(pad, (texts, 1, len(pad))),
            },
        )

    def _wishes(self, texts: Sequence[int], frame: int, lengths: npt.NDArray[np.int32]) -> Values:
        """What is small: lengths, sampling, noise."""
        shape = (self._manifest.frame.codebooks, self._manifest.sampling.max_top_k)
        noise = [np.random.default_rng([SEED, text, frame]).gumbel(size=shape) for text in texts]
        return {
            FrameInputs.PAST_LENGTHS: lengths - np.int32(1),
            FrameInputs.TOTAL_LENGTH: lengths.max(keepdims=True),
            FrameInputs.NOISE: np.array(noise, np.float32),
            **sampling_inputs(self._manifest, len(texts), may_end=frame >= LEAST_FRAMES),
        }


def sampling_inputs(manifest: Manifest, count: int, *, may_end: bool) -> Values:
    """The frame graph's inputs that say how codes are picked, by the voice's own defaults, for so many slots."""
    sampling, stages = manifest.sampling, (manifest.sampling.talker, manifest.sampling.predictor)

    def pairs(pick: Callable[[StageSampling], float], kind: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.array([[pick(stage) for stage in stages]] * count, kind)

    return {
        FrameInputs.END_BIAS: np.full((count, 1), 0.0 if may_end else NEVER, np.float32),
        FrameInputs.REPETITION_PENALTY: np.full((count, 1), sampling.repetition_penalty, np.float32),
        FrameInputs.TEMPERATURE: pairs(lambda stage: stage.temperature, np.float32),
        FrameInputs.TOP_K: pairs(lambda stage: stage.top_k, np.int64),
        FrameInputs.TOP_P: pairs(lambda stage: stage.top_p, np.float32),
    }


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
