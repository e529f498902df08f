"""One frame on the device: inputs over, the engines, codes back; recorded once and launched as one.

Purpose: the two shapes of a frame behind one door. Unrolled is one engine; stepped is the talker's engine and the
predictor's, once per residual code, whose rows, sums and matrices are bound pass by pass. Knows: which memory goes by
which name. Does not know: who is in a slot, when to run.

There are two instances, used in turn. Each has its own block of inputs and of codes, so that the host can write and
read one while the device is at the other. Of each there is one form for every bucket of slots, since caches are read
whole: a lone listener does not wait for the empty places of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from engines.cuda_api import CudaApi, Stream
from engines.cuda_memory import SharedBlock, Want
from engines.graph_names import SAMPLING_INPUTS, FrameInputs, FrameOutputs
from engines.manifest import Manifest
from engines.plan_set import PlanSet
from engines.stages import frame_inputs
from engines.step_names import StepInputs, StepOutputs, TalkerStepOutputs
from engines.tensorrt_cache import Caches
from engines.tensorrt_contract import Context, Engine
from engines.tensorrt_memory import PREDICTOR_CACHE, Memory, caches, code_want
from engines.tensorrt_recording import Recorder


class Body(Protocol):
    """The engines of a frame, in order."""

    def enqueue(self, stream: Stream) -> None:
        """Put them on the stream."""
        ...


class FrameInstance:
    """One of the two; see the module's text."""

    def __init__(self, cuda: CudaApi, manifest: Manifest, about: PlanSet, memory: Memory, instance: int) -> None:
        self._bodies: dict[int, Body] = {}
        self._launches: dict[int, Callable[[], None]] = {}
        wanted = frame_inputs(manifest, about.sizes.slots)
        self.inputs = SharedBlock(cuda, {name: Want(*each) for name, each in wanted.items()})
        self._codes = SharedBlock(cuda, {FrameOutputs.CODES: code_want(manifest, about)})
        self.rows_in, self.rows_out = (memory[f"{FrameInputs.CODEC_ROWS}.{turn}"] for turn in (instance, 1 - instance))
        self.seen_in, self.seen_out = (memory[f"{FrameInputs.SEEN}.{turn}"] for turn in (instance, 1 - instance))
        self._unrolled = about.frame == "unrolled"
        self.codes_address = self._codes.addresses[FrameOutputs.CODES]
        for name in SAMPLING_INPUTS:
            self.inputs.arrays[name].fill(1)  # numbers that void rows can be computed with
        self.addresses = self.inputs.addresses | {
            FrameInputs.CODEC_ROWS: self.rows_in.address,
            FrameInputs.SEEN: self.seen_in.address,
            FrameOutputs.NEXT_SEEN: self.seen_out.address,
            FrameOutputs.LOGITS: memory[FrameOutputs.LOGITS].address,
        }

    def prepare(self, bucket: int, body: Body, stream: Stream, recorder: Recorder) -> None:
        """Run the engines once, so that they have settled, then have everything recorded."""
        self._bodies[bucket] = body  # a recording does not keep what it runs
        put = partial(self._put, bucket, stream)
        put()
        self._launches[bucket] = recorder.recorded(put)

    def launch(self, bucket: int) -> None:
        """One frame of the first `bucket` slots."""
        self._launches[bucket]()

    def close(self) -> None:
        """Let go of the engines' contexts."""
        self._launches.clear()
        self._bodies.clear()

    def code_places(self, slot: int) -> tuple[int, int]:
        """Where a slot's codes begin on the device, and how many bytes lie from one to the next."""
        item = self._codes.arrays[FrameOutputs.CODES]
        by_slot, by_group = item.strides if self._unrolled else item.strides[::-1]
        return self.codes_address + slot * by_slot, by_group

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """The codes as the host has them, [slots, codebooks]; once the frame is done."""
        found: npt.NDArray[Any] = self._codes.arrays[FrameOutputs.CODES]
        return found if self._unrolled else found.T

    def _put(self, bucket: int, stream: Stream) -> None:
        self.inputs.send(stream)
        self._bodies[bucket].enqueue(stream)
        self._codes.fetch(stream)


@dataclass(frozen=True, slots=True)
class _Pass:
    """One run of the predictor's engine."""

    context: Context
    addresses: Mapping[str, int]
    start: int
    """Position of its first row."""
    rows: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """The talker's engine, then the predictor's once per residual code.

    The predictor's contexts are bound anew for each run: a recording keeps what was bound when it was made.
    """

    talker: Context
    passes: tuple[_Pass, ...]
    caches: Caches
    bucket: int

    def enqueue(self, stream: Stream) -> None:
        """Put them on the stream."""
        self.talker.enqueue(stream)
        for each in self.passes:
            each.context.bind(each.addresses)
            each.context.enqueue(stream)
            self.caches.keep_rows(0, self.bucket, each.start, each.rows, stream)


def unrolled(
    frame: Engine, scratch: int, stream: Stream, talker: Caches, instance: FrameInstance, bucket: int
) -> Context:
    """The body of an instance for so many slots: one engine, all of whose addresses are set."""
    context = frame.context(scratch, {"B": bucket}, stream)
    results = {FrameOutputs.CODES: instance.codes_address, FrameOutputs.NEXT_CODEC_ROW: instance.rows_out.address}
    context.bind(instance.addresses | talker.addresses() | results)
    return context


class SteppedFrames:
    """Makes the bodies of both instances, which share the predictor's contexts, caches and rows."""

    def __init__(
        self, cuda: CudaApi, manifest: Manifest, about: PlanSet, memory: Memory, engine: Engine, scratch: int,
        stream: Stream, buckets: Iterable[int],
    ) -> None:  # fmt: skip
        self._memory, self._stream, self._scratch = memory, stream, scratch
        self._residuals = manifest.frame.codebooks - 1
        self.caches = caches(cuda, manifest.predictor, about, manifest.frame.codebooks, PREDICTOR_CACHE, memory)
        """The predictor's."""
        self._contexts = {
            (bucket, rows): engine.context(scratch, {"B": bucket, "S": rows}, stream)
            for bucket in buckets
            for rows in (1, 2)
        }

    def body(self, talker: Engine, talker_caches: Caches, instance: FrameInstance, bucket: int) -> Stepped:
        """The body of an instance for so many slots."""
        context = talker.context(self._scratch, {"B": bucket}, self._stream)
        results = {
            TalkerStepOutputs.CODE: self._code(instance, 0),
            TalkerStepOutputs.PREDICTOR_ROWS: self._memory[TalkerStepOutputs.PREDICTOR_ROWS].address,
            TalkerStepOutputs.CODE_ROW: self._memory[TalkerStepOutputs.CODE_ROW].address,
        }
        context.bind(instance.addresses | talker_caches.addresses() | results)
        passes = tuple(self._pass(instance, bucket, index) for index in range(self._residuals))
        return Stepped(context, passes, self.caches, bucket)

    def _code(self, instance: FrameInstance, group: int) -> int:
        address, pitch = instance.code_places(0)
        return address + group * pitch

    def _pass(self, instance: FrameInstance, bucket: int, index: int) -> _Pass:
        before, after = f".{(index + 1) % 2}", f".{index % 2}"
        rows_in = StepOutputs.NEXT_ROW + before if index else TalkerStepOutputs.PREDICTOR_ROWS
        sum_in = StepOutputs.NEXT_ROW_SUM + before if index else TalkerStepOutputs.CODE_ROW
        sum_out = self._memory[StepOutputs.NEXT_ROW_SUM + after]
        if index == self._residuals - 1:
            sum_out = instance.rows_out
        by_index = (StepInputs.GROUP, FrameInputs.PAST_LENGTHS, StepInputs.HEAD, StepInputs.EMBEDDING)
        addresses = instance.addresses | self.caches.addresses()
        addresses |= {name: self._memory[name].rows(index, index + 1).address for name in by_index}
        addresses |= {
            StepInputs.ROWS: self._memory[rows_in].address,
            StepInputs.ROW_SUM: self._memory[sum_in].address,
            StepOutputs.CODE: self._code(instance, index + 1),
            StepOutputs.NEXT_ROW: self._memory[StepOutputs.NEXT_ROW + after].address,
            StepOutputs.NEXT_ROW_SUM: sum_out.address,
        }
        start, rows = (index + 1, 1) if index else (0, 2)  # the first reads the talker's state and code 0
        return _Pass(self._contexts[bucket, rows], addresses, start, rows)
