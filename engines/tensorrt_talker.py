"""The talker on TensorRT: slots, their caches, and frames that are launched ahead.

Purpose: what `engines.talker` does, on a device of its own: prompts go into a slot's cache piece by piece, a frame of
all slots is launched as one recorded sequence, and nothing is waited for but a frame's own event when its codes are
collected. Knows: two instances used in turn, what a frame must not disturb. Does not know: text, requests, threads.

A run has as many slots, from the first on, as reach the highest that steps (`plan_slots`). Those of them that do
not step run void rows: such a row is written where the slot's own next row will replace it. What a run hands on
(`codec_rows`, `seen`) is carried over for whoever did not step.

A prompt's last row is not prefilled: it is the slot's first step, together with everybody else's. Its codec side goes
with its text side into the text row, since the graph adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from engines.cuda_api import CudaApi, Event, Stream
from engines.graph_names import SAMPLING_INPUTS, FrameInputs
from engines.manifest import Manifest
from engines.plan_set import PlanSet, buckets, plan_slots
from engines.sampling import ResolvedSampling
from engines.stages import F32, FORBIDDEN, check_piece, write_sampling
from engines.tensorrt_contract import Engine
from engines.tensorrt_frame import Body, FrameInstance, SteppedFrames, unrolled
from engines.tensorrt_history import CodeHistory
from engines.tensorrt_memory import INSTANCES, TALKER_CACHE, Memory, caches
from engines.tensorrt_prefill import PromptPieces
from engines.tensorrt_recording import Recorder


class TensorRtTalker:
    """Slots of one plan; see `engines.stages.TalkerStage`."""

    def __init__(
        self,
        cuda: CudaApi,
        stream: Stream,
        manifest: Manifest,
        about: PlanSet,
        engines: Mapping[str, Engine],
        memory: Memory,
        scratch: int,
        history: CodeHistory,
        *,
        slots: int,
        positions: int,
        piece_rows: int,
        recorded: bool,
    ) -> None:
        """Bind and record everything. `engines` by role; `memory` as `engines.tensorrt_memory.frame_wants` has it;
        `scratch` is large enough for each of the engines.

        Raises `PlanError` when an engine does not fit, `DeviceError` when the device fails.
        """
        self.slots, self.positions, self.piece_rows = slots, positions, piece_rows
        self._cuda, self._stream, self._history = cuda, stream, history
        self._caches = caches(cuda, manifest.talker, about, about.sizes.positions, TALKER_CACHE, memory)
        self._kept = [self._caches]  # and the predictor's, where it has some
        self._instances = [FrameInstance(cuda, manifest, about, memory, index) for index in range(INSTANCES)]
        self._pieces = PromptPieces(
            cuda, stream, manifest, engines["prefill"], scratch, self._caches, slots, piece_rows
        )
        self._record(manifest, about, engines, memory, scratch, Recorder(cuda, stream, "the talker", recorded=recorded))
        rows = about.sizes.slots
        self._lengths = np.zeros(rows, dtype=np.int32)
        self._frames = np.zeros(rows, dtype=np.int64)  # launched since `begin`, which is the next one's number
        self._settings = {
            name: array.copy() for name, array in self._instances[0].inputs.arrays.items() if name in SAMPLING_INPUTS
        }
        self._begun: set[int] = set()
        self._first_rows: dict[int, F32] = {}  # of prompts that are in but for the last row
        self._events: list[Event] = []  # of frames launched and not collected, oldest first
        self._launched = 0
        self._codes: npt.NDArray[np.int64] = self._instances[0].codes

    # -- one slot -------------------------------------------------------------------------------------------------

    def begin(self, slot: int, sampling: ResolvedSampling) -> None:
        """Make a slot ready for a new utterance.

        Its caches are cleared: a run reads all their rows, and what is hidden counts for nothing only where it is a
        number. One that is none, from a product that overflowed, would be in all that this slot says for good.
        """
        self.release(slot)
        self._begun.add(slot)
        self._frames[slot] = 0
        for cache in self._kept:
            cache.forget(slot, self._stream)
        for instance in self._instances:
            for tensor in (instance.rows_in, instance.seen_in):
                row = tensor.rows(slot, slot + 1)
                self._cuda.clear(row.address, row.nbytes, self._stream)
        write_sampling(self._settings, slot, sampling)

    def release(self, slot: int) -> None:
        """Bring a slot back to idle; what it was set to stays, and does void rows no harm."""
        self._lengths[slot] = 0
        self._begun.discard(slot)
        self._first_rows.pop(slot, None)

    def length(self, slot: int) -> int:
        """Rows in the slot's cache; a prompt's last one comes with the first step."""
        return int(self._lengths[slot])

    def forbid_end(self, slot: int, forbidden: bool) -> None:
        """Whether the slot's next frame must not pick the end code."""
        self._next.inputs.arrays[FrameInputs.END_BIAS][slot] = FORBIDDEN if forbidden else 0.0

    def noise(self, slot: int) -> F32:
        """Where to write the noise of the slot's next frame, f32 [codebooks, K]."""
        noise: F32 = self._next.inputs.arrays[FrameInputs.NOISE][slot]
        return noise

    def text_row(self, slot: int) -> F32:
        """Where to write the text row of the slot's next step, f32 [hidden]."""
        row: F32 = self._next.inputs.arrays[FrameInputs.TEXT_ROWS][slot, 0]
        return row

    def codes(self, slot: int) -> npt.NDArray[np.int64]:
        """The slot's codes of the frame collected last, i64 [1, codebooks]; valid until the next launch."""
        return self._codes[slot : slot + 1]

    # -- runs -----------------------------------------------------------------------------------------------------

    def prefill(self, slot: int, codec_rows: F32, text_rows: F32, *, last: bool) -> bool:
        """Append a piece of a prompt, both f32 [1..piece_rows, hidden], and wait until it is in.

        Of the `last` piece the last row waits for the slot's first step, so no frame is made yet. Raises `ValueError`
        when the piece does not fit, `DeviceError` when the run fails.
        """
        rows, length = len(codec_rows), self.length(slot)
        check_piece(self, slot, rows)
        if last:
            self._first_rows[slot] = codec_rows[-1] + text_rows[-1]
            rows -= 1
        if rows:
            self._pieces.run(slot, length, codec_rows[:rows], text_rows[:rows])
            self._lengths[slot] = length + rows
        return False

    def launch(self, live: Sequence[int]) -> None:
        """Begin one frame of the slots in `live` (ascending); at most two are launched and not yet collected."""
        assert len(self._events) < INSTANCES
        instance, stream = self._next, self._stream
        self._write_inputs(instance, live)
        instance.launch(plan_slots(live[-1] + 1))
        for slot in live:
            self._caches.keep_frame(slot, int(self._lengths[slot]), stream)
            self._history.put(slot, int(self._frames[slot]), *instance.code_places(slot), stream)
            self._lengths[slot] += 1
            self._frames[slot] += 1
        for slot in self._begun.difference(live):
            self._carry(instance, slot)
        self._events.append(self._history.end_run(stream))
        self._launched += 1

    def collect(self) -> None:
        """Wait for the oldest frame launched; its codes are in `codes` afterwards. Raises `DeviceError`."""
        instance = self._instances[(self._launched - len(self._events)) % INSTANCES]
        self._cuda.synchronize(self._events.pop(0))
        self._codes = instance.codes

    def step(self, live: Sequence[int]) -> None:
        """Run one frame of the slots in `live` (ascending); their codes are in `codes` afterwards."""
        self.launch(live)
        self.collect()

    def close(self) -> None:
        """Let go of the engines' contexts, and with them of their weights; the other memory is the border's."""
        self._cuda.end_work()
        self._pieces.close()
        for instance in self._instances:
            instance.close()

    # -- inside -----------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> FrameInstance:
        """The instance of the next launch; whoever used it last was collected."""
        return self._instances[self._launched % INSTANCES]

    def _write_inputs(self, instance: FrameInstance, live: Sequence[int]) -> None:
        arrays = instance.inputs.arrays
        lengths = arrays[FrameInputs.PAST_LENGTHS]
        np.minimum(self._lengths, self.positions - 1, out=lengths)
        for name, values in self._settings.items():
            arrays[name][:] = values
        for slot in self._first_rows.keys() & set(live):
            arrays[FrameInputs.TEXT_ROWS][slot, 0] = self._first_rows.pop(slot)

    def _carry(self, instance: FrameInstance, slot: int) -> None:
        """A slot that does not step keeps what it had."""
        for kept, out in ((instance.rows_in, instance.rows_out), (instance.seen_in, instance.seen_out)):
            source, to = kept.rows(slot, slot + 1), out.rows(slot, slot + 1)
            self._cuda.copy(to.address, source.address, source.nbytes, self._stream)

    def _record(
        self, manifest: Manifest, about: PlanSet, engines: Mapping[str, Engine], memory: Memory, scratch: int,
        recorder: Recorder,
    ) -> None:  # fmt: skip
        """Every form of a frame that `launch` may ask for."""
        stream, sizes = self._stream, buckets(self.slots)
        bodies: Callable[[FrameInstance, int], Body]
        if about.frame == "unrolled":
            bodies = partial(unrolled, engines["frame"], scratch, stream, self._caches)
        else:
            frames = SteppedFrames(self._cuda, manifest, about, memory, engines["step"], scratch, stream, sizes)
            bodies = partial(frames.body, engines["talker"], self._caches)
            self._kept.append(frames.caches)
        for bucket in sizes:
            for instance in self._instances:
                instance.prepare(bucket, bodies(instance, bucket), stream, recorder)
