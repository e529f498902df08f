"""The talker: slots, their caches, and the runs of the frame graph.

Purpose: keep the memory of `slots` utterances at fixed addresses and run one graph on it: pieces of a prompt into one
slot, or one step of a range of slots, each run ending in a frame of codes. Knows: the frame graph's inputs and outputs,
lengths, what a run must not disturb. Does not know: text, requests, who is in a slot, threads.

A step runs the slots [low, high) that span the stepping ones. Slots between them that are not stepping run void rows:
such a row is written to the slot's next free position, where the slot's own next row will replace it, and what the run
hands on from frame to frame (`next_codec_row`, `next_seen`) is put back afterwards. So a resting slot comes to no harm.

All of a run's results become the next run's inputs in place: nothing moves, nothing is allocated per frame. Made to run
`ahead`, a frame is computed by another thread after `launch`, while its caller handles the codes of the frame before;
whatever would write to memory that the graph is using waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.graph_names import SAMPLING_INPUTS, FrameInputs, FrameOutputs, cache_names
from engines.manifest import Manifest
from engines.runner import Binding, Place, Runner, Tensor
from engines.sampling import ResolvedSampling
from engines.stages import F32, FORBIDDEN, check_piece, frame_inputs, write_sampling


class Talker:
    """Memory for `slots` utterances of at most `positions` rows each, and the runs on it. One thread at a time."""

    def __init__(
        self,
        runner: Runner,
        manifest: Manifest,
        slots: int,
        positions: int,
        piece_rows: int = 64,
        *,
        with_logits: bool = False,
        ahead: bool = False,
        cache_dtype: npt.DTypeLike = np.float32,
    ) -> None:
        """Allocate everything, the largest first. `piece_rows`: the most rows of one prefill run; `ahead`: steps are
        computed by another thread; `cache_dtype` is what the graph keeps keys and values in.

        `with_logits` keeps the raw logits of each run for `logits`. Raises `BundleError` when the graph does not fit.
        """
        self.slots, self.positions, self.piece_rows = slots, positions, piece_rows
        self._runner = runner
        stack, codebooks = manifest.talker, manifest.frame.codebooks
        cache_shape = (slots, stack.kv_heads, positions, stack.head_dim)
        self._caches = [
            (*names, runner.allocate(cache_shape, cache_dtype, Place.DEVICE)) for names in cache_names(stack.layers)
        ]

        def host(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Tensor:
            return runner.allocate(shape, dtype, Place.HOST)

        self._piece_codec = host((piece_rows, stack.hidden))
        self._piece_text = host((piece_rows, stack.hidden))
        self._total_length = host((1,), np.int32)  # the longest of the slots' lengths, which GroupQueryAttention wants
        inputs = {name: host(*wanted) for name, wanted in frame_inputs(manifest, slots).items()}
        self._state: dict[str, Tensor] = inputs | {
            FrameInputs.CODEC_ROWS: host((slots, 1, stack.hidden)),
            FrameInputs.SEEN: host((slots, stack.vocabulary)),
        }
        self._codes = host((slots, codebooks), np.int64)
        self._logits = host((slots, stack.vocabulary)) if with_logits else None
        self._codec_row = self._array(FrameInputs.CODEC_ROWS)
        self._seen = self._array(FrameInputs.SEEN)
        self._past_lengths = self._array(FrameInputs.PAST_LENGTHS)
        self._held_codec_row = np.empty_like(self._codec_row)
        self._held_seen = np.empty_like(self._seen)
        self._lengths = np.zeros(slots, dtype=np.int32)
        self._told = np.zeros((2, slots, codebooks), dtype=np.int64)  # codes by launch, in turn
        self._launched = self._collected = 0
        self._helper = ThreadPoolExecutor(1, thread_name_prefix="step") if ahead else None
        self._running: Future[None] | None = None
        for slot in range(slots):
            self._reset(slot)
        self._steps = {
            (low, high): self._bind_step(low, high) for low in range(slots) for high in range(low + 1, slots + 1)
        }

    # -- one slot -------------------------------------------------------------------------------------------------

    def begin(self, slot: int, sampling: ResolvedSampling) -> None:
        """Make a slot ready for a new utterance. Its cache is not cleared: no row reads beyond its own length."""
        self._settle()
        self._reset(slot)
        write_sampling({name: tensor.host for name, tensor in self._state.items()}, slot, sampling)

    def release(self, slot: int) -> None:
        """Bring a slot back to idle: no rows. What it was set to stays, and does void runs no harm."""
        self._lengths[slot] = 0

    def length(self, slot: int) -> int:
        """Rows in the slot's cache."""
        return int(self._lengths[slot])

    def forbid_end(self, slot: int, forbidden: bool) -> None:
        """Whether the slot's next run must not pick the end code."""
        self._settle()
        self._array(FrameInputs.END_BIAS)[slot] = FORBIDDEN if forbidden else 0.0

    def noise(self, slot: int) -> F32:
        """Where to write the noise of the slot's next run, f32 [codebooks, K]."""
        self._settle()
        noise: F32 = self._array(FrameInputs.NOISE)[slot]
        return noise

    def text_row(self, slot: int) -> F32:
        """Where to write the text row of the slot's next step, f32 [hidden]."""
        self._settle()
        row: F32 = self._array(FrameInputs.TEXT_ROWS)[slot, 0]
        return row

    def codes(self, slot: int) -> npt.NDArray[np.int64]:
        """The slot's codes of the frame collected last (or of its prompt), i64 [1, codebooks]; valid until the next."""
        return self._told[self._collected % 2, slot : slot + 1]

    def logits(self, slot: int) -> F32:
        """The talker's raw logits of the slot's last run, f32 [vocabulary]; only when made `with_logits`."""
        if self._logits is None:
            raise ValueError("this talker was made without logits")
        row: F32 = self._logits.host[slot]
        return row

    # -- runs -----------------------------------------------------------------------------------------------------

    def prefill(self, slot: int, codec_rows: F32, text_rows: F32, *, last: bool) -> bool:
        """Append a piece of a prompt, both f32 [1..piece_rows, hidden], to a slot. Wants every frame collected.

        With `last` the run also yields frame 0 (and says so): `codes`, and the input of the first step. Raises
        `ValueError` when the piece does not fit, `DeviceError` when the run fails.
        """
        rows, length = len(codec_rows), self.length(slot)
        check_piece(self, slot, rows)
        self._piece_codec.host[:rows] = codec_rows
        self._piece_text.host[:rows] = text_rows
        self._past_lengths[slot] = length + rows - 1
        self._total_length.host[0] = length + rows
        self._bind_piece(slot, rows, last).run()
        self._lengths[slot] = length + rows
        if last:
            self._told[self._collected % 2, slot] = self._codes.host[slot]
        return last

    def step(self, live: Sequence[int]) -> None:
        """Run one frame of the slots in `live` (ascending); their codes are in `codes` afterwards.

        Each must have been prefilled and have a position left. Raises `DeviceError` when the run fails.
        """
        self.launch(live)
        self.collect()

    def launch(self, live: Sequence[int]) -> None:
        """Begin one frame, as `step` has it; at most two are launched and not yet collected."""
        self._settle()
        low, high = live[0], live[-1] + 1
        held = [slot for slot in range(low, high) if slot not in live]
        lengths = self._past_lengths[low:high]
        np.minimum(self._lengths[low:high], self.positions - 1, out=lengths)
        self._total_length.host[0] = int(lengths.max()) + 1
        for slot in live:
            self._lengths[slot] += 1
        self._launched += 1
        if self._helper is None:
            self._run(low, high, held)
        else:
            self._running = self._helper.submit(self._run, low, high, held)

    def collect(self) -> None:
        """Wait for the oldest frame launched; its codes are in `codes` afterwards. Raises `DeviceError`."""
        if self._launched - self._collected == 1:
            self._settle()
        self._collected += 1

    def close(self) -> None:
        """Wait for what is running, and end the thread."""
        if self._helper is not None:
            self._helper.shutdown()

    def _settle(self) -> None:
        """Wait until no graph uses the memory."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def _run(self, low: int, high: int, held: list[int]) -> None:
        """One frame of the slots [low, high), of which `held` come to no harm."""
        for slot in held:
            self._held_codec_row[slot] = self._codec_row[slot]
            self._held_seen[slot] = self._seen[slot]
        self._steps[low, high].run()
        for slot in held:
            self._codec_row[slot] = self._held_codec_row[slot]
            self._seen[slot] = self._held_seen[slot]
        self._told[self._launched % 2, low:high] = self._codes.host[low:high]

    def _reset(self, slot: int) -> None:
        """No rows, and harmless values for void runs."""
        self._lengths[slot] = 0
        for name in (FrameInputs.CODEC_ROWS, FrameInputs.TEXT_ROWS, FrameInputs.SEEN, FrameInputs.NOISE):
            self._array(name)[slot] = 0.0
        self._array(FrameInputs.END_BIAS)[slot] = 0.0
        for name in SAMPLING_INPUTS:
            self._array(name)[slot] = 1

    # -- bindings ---------------------------------------------------------------------------------------------------

    def _array(self, name: str) -> npt.NDArray[Any]:
        return self._state[name].host

    def _bind_step(self, low: int, high: int) -> Binding:
        inputs = {name: tensor.rows(low, high) for name, tensor in self._state.items()}
        return self._runner.bind(self._with_shared(inputs, low, high), self._results(low, high, frame=True))

    def _bind_piece(self, slot: int, rows: int, last: bool) -> Binding:
        hidden = self._piece_codec.shape[1]
        inputs = {name: tensor.rows(slot, slot + 1) for name, tensor in self._state.items()}
        inputs[FrameInputs.CODEC_ROWS] = self._piece_codec.rows(0, rows).reshaped(1, rows, hidden)
        inputs[FrameInputs.TEXT_ROWS] = self._piece_text.rows(0, rows).reshaped(1, rows, hidden)
        return self._runner.bind(self._with_shared(inputs, slot, slot + 1), self._results(slot, slot + 1, frame=last))

    def _with_shared(self, inputs: dict[str, Tensor], low: int, high: int) -> dict[str, Tensor]:
        caches = {past: cache.rows(low, high) for past, _, cache in self._caches}
        return inputs | caches | {FrameInputs.TOTAL_LENGTH: self._total_length}

    def _results(self, low: int, high: int, *, frame: bool) -> dict[str, Tensor]:
        """A run's outputs; without `frame` only the caches, so that nothing carried from frame to frame is touched."""
        results = {present: cache.rows(low, high) for _, present, cache in self._caches}
        if frame:
            results[FrameOutputs.CODES] = self._codes.rows(low, high)
            results[FrameOutputs.NEXT_CODEC_ROW] = self._state[FrameInputs.CODEC_ROWS].rows(low, high)
            results[FrameOutputs.NEXT_SEEN] = self._state[FrameInputs.SEEN].rows(low, high)
            if self._logits is not None:
                results[FrameOutputs.LOGITS] = self._logits.rows(low, high)
        return results
