"""What a runtime does with a set of graphs for TensorRT, one call after the other, on arrays of the host.

Purpose: own the caches, place the new rows where a set only presents rows, run the step graph once per residual code,
carry the codec's states: slowly, and the same way whoever runs the graphs, so that their codes can be compared.
Knows: the names of both frame shapes. Does not know: who runs a graph (`Session`), what a correct code is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from engines.manifest import CodecInputs, CodecOutputs, FrameInputs, FrameOutputs, StackSpec, StateSpec
from engines.step_names import StepInputs, StepOutputs, StepTables, TalkerStepOutputs
from export.attention_tensorrt import AttentionForm
from export.build_door import Session, Values
from export.tensorrt import FrameShape, Role, TensorRtChoice


@dataclass(kw_only=True)
class FrameRun:
    """What one frame of all slots gave."""

    codes: npt.NDArray[np.int64]
    """[B, codebooks]"""
    logits: npt.NDArray[np.float32]
    """Of code 0, [B, talker vocabulary]."""
    outputs: Values


class Caches:
    """Keys and values of one stack; what was never written is zero, or with `garbage` anything."""

    def __init__(self, stack: StackSpec, rows: int, choice: TensorRtChoice, *, garbage: bool) -> None:
        shape = (choice.slots, stack.kv_heads, rows, stack.head_dim)
        random = np.random.default_rng(7)
        self._in_place = choice.form is AttentionForm.IN_PLACE
        self._values: Values = {}
        self._source: dict[str, str] = {}
        for layer in range(stack.layers):
            for past, present in (
                (FrameInputs.past_key(layer), FrameOutputs.present_key(layer)),
                (FrameInputs.past_value(layer), FrameOutputs.present_value(layer)),
            ):
                filled = random.normal(0, 10, shape) if garbage else np.zeros(shape, choice.dtype)
                self._values[past] = filled.astype(choice.dtype, copy=False)
                self._source[past] = present

    def values(self, low: int, high: int) -> Values:
        """The caches of slots [low, high), by input name."""
        return {name: cache[low:high] for name, cache in self._values.items()}

    def keep(self, low: int, starts: npt.NDArray[np.int64], outputs: Values) -> None:
        """Take a run's outputs for the slots from `low` on, whose first new rows stand at `starts`."""
        for past, present in self._source.items():
            cache, new = self._values[past], outputs[present]
            for index, start in enumerate(starts):
                if self._in_place:
                    cache[low + index] = new[index]
                else:
                    cache[low + index, :, start : start + new.shape[2]] = new[index]


@dataclass(frozen=True, kw_only=True)
class Dimensions:
    """What of a model a machine must know; a manifest tells it."""

    talker: StackSpec
    predictor: StackSpec
    codebooks: int


class Machine:
    """All slots of one choice. `settings` hold sampling inputs for all slots, by input name."""

    def __init__(
        self, sessions: Mapping[Role, Session], choice: TensorRtChoice, size: Dimensions, weights: Path, *,
        garbage: bool = False,
    ) -> None:  # fmt: skip
        """`weights`: a safetensors file with `StepTables`, read for the stepped frame only."""
        self.choice, self._sessions, self._residuals = choice, sessions, size.codebooks - 1
        self._caches = Caches(size.talker, choice.positions, choice, garbage=garbage)
        self._predictor = Caches(size.predictor, size.codebooks, choice, garbage=garbage)
        self._lengths = np.zeros(choice.slots, np.int64)
        if choice.shape is FrameShape.STEPPED:
            tables = load_file(weights)
            self._heads, self._embeddings = tables[StepTables.HEADS], tables[StepTables.EMBEDDINGS]
        self.state: Values = {FrameInputs.SEEN: np.zeros((choice.slots, size.talker.vocabulary), np.float32)}

    def prefill(self, slot: int, codec_rows: npt.NDArray[np.float32], text_rows: npt.NDArray[np.float32]) -> None:
        """Append rows [S, H] to a slot."""
        start, rows = int(self._lengths[slot]), len(codec_rows)
        values = {
            FrameInputs.CODEC_ROWS: codec_rows[None],
            FrameInputs.TEXT_ROWS: text_rows[None],
            FrameInputs.PAST_LENGTHS: np.array([start + rows - 1], np.int32),
        }
        outputs = self._sessions[Role.PREFILL].run(values | self._caches.values(slot, slot + 1))
        self._caches.keep(slot, np.array([start]), outputs)
        self._lengths[slot] += rows

    def step(self, settings: Values) -> FrameRun:
        """One frame of every slot; `settings` name the rows and the sampling."""
        values = {FrameInputs.PAST_LENGTHS: self._lengths.astype(np.int32)}
        values |= self.state | settings | self._caches.values(0, self.choice.slots)
        unrolled = self.choice.shape is FrameShape.UNROLLED
        outputs = self._sessions[Role.FRAME if unrolled else Role.TALKER].run(values)
        self._caches.keep(0, self._lengths, outputs)
        self._lengths += 1
        if not unrolled:
            outputs |= self._step_predictor(settings, outputs)
        self.state[FrameInputs.SEEN] = outputs[FrameOutputs.NEXT_SEEN]
        return FrameRun(codes=outputs[FrameOutputs.CODES], logits=outputs[FrameOutputs.LOGITS], outputs=outputs)

    def _step_predictor(self, settings: Values, talker: Values) -> Values:
        slots, codes = self.choice.slots, [talker[TalkerStepOutputs.CODE]]
        rows, row_sum = talker[TalkerStepOutputs.PREDICTOR_ROWS], talker[TalkerStepOutputs.CODE_ROW]
        for index in range(self._residuals):
            values = settings | {
                StepInputs.ROWS: rows,
                StepInputs.ROW_SUM: row_sum,
                FrameInputs.PAST_LENGTHS: np.full(slots, index + 1, np.int32),
                StepInputs.GROUP: np.array([index + 1]),
                StepInputs.HEAD: self._heads[index],
                StepInputs.EMBEDDING: self._embeddings[index],
            }
            outputs = self._sessions[Role.STEP].run(values | self._predictor.values(0, slots))
            self._predictor.keep(0, np.full(slots, index + 2 - rows.shape[1]), outputs)
            codes.append(outputs[StepOutputs.CODE])
            rows, row_sum = outputs[StepOutputs.NEXT_ROW], outputs[StepOutputs.NEXT_ROW_SUM]
        return {FrameOutputs.CODES: np.concatenate(codes, axis=1), FrameOutputs.NEXT_CODEC_ROW: row_sum}


class CodecMachine:
    """The codec graph of one choice, its states carried by hand."""

    def __init__(self, session: Session, choice: TensorRtChoice) -> None:
        self._session, self._choice = session, choice

    def decode(
        self, states: tuple[StateSpec, ...], codes: npt.NDArray[np.int64], cuts: list[int]
    ) -> npt.NDArray[np.float32]:
        """Samples [B, n] of codes [B, T, codebooks] in calls of `cuts` frames."""
        slots = self._choice.slots
        carried = {state.name: np.zeros((slots, *state.shape), self._choice.dtype) for state in states}
        position, blocks = 0, []
        for count in cuts:
            values: Values = {CodecInputs.CODES: codes[:, position : position + count]}
            values[CodecInputs.POSITION] = np.full(slots, position)
            outputs = self._session.run(values | {CodecInputs.state(name): kept for name, kept in carried.items()})
            carried = {name: outputs[CodecOutputs.state(name)] for name in carried}
            blocks.append(outputs[CodecOutputs.PCM])
            position += count
        return np.concatenate(blocks, axis=1)
