"""The streaming codec on TensorRT.

Purpose: what `engines.codec` does, on a stream of lower priority than the talker's: frames of codes come from where the
talker left them on the device; samples go to pinned memory; one event is waited for. Knows: the codec
graph's inputs and outputs, each slot's states. Does not know: when to call, threads.

A run has as many slots, from the first on, as reach the highest that is decoded (`plan_slots`). An engine must
not write what it reads, so new states come out beside the old ones; those of the slots that were really decoded are
then copied over, and the others have lost nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm
from engines.cuda_api import CudaApi, Stream
from engines.cuda_memory import SharedBlock, Want
from engines.graph_names import CodecInputs, CodecOutputs
from engines.manifest import Manifest
from engines.plan_set import PlanGraph, PlanSet, buckets, plan_slots
from engines.stages import check_call
from engines.tensorrt_contract import Context, Engine, profile_of
from engines.tensorrt_history import CODE_BYTES, CodeHistory
from engines.tensorrt_memory import Memory
from engines.tensorrt_recording import Recorder

_CODES: Final = "codec.codes"


def codec_wants(manifest: Manifest, about: PlanSet) -> dict[str, Want]:
    """What the codec keeps on the device."""
    sizes, books = about.sizes, manifest.frame.codebooks
    wants = {_CODES: Want((sizes.slots * sizes.codec_chunk_frames, books), np.int64)}
    for state in manifest.codec.states:
        for name in (CodecInputs.state(state.name), CodecOutputs.state(state.name)):
            wants[name] = Want((sizes.slots, *state.shape), about.dtype)
    return wants


class TensorRtCodec:
    """Decoder states for the slots of one plan; see `engines.stages.CodecStage`."""

    def __init__(
        self,
        cuda: CudaApi,
        stream: Stream,
        manifest: Manifest,
        about: PlanSet,
        engine: Engine,
        memory: Memory,
        scratch: int,
        history: CodeHistory,
        *,
        slots: int,
        most_frames: int,
        recorded: bool,
    ) -> None:
        """Bind and record. `history`: where the talker leaves the codes.

        Raises `PlanError` when the engine does not fit, `DeviceError` when the device fails.
        """
        self.slots, self.most_frames = slots, most_frames
        self._cuda, self._stream, self._history, self._memory = cuda, stream, history, memory
        self._books = manifest.frame.codebooks
        self._samples_per_frame = manifest.frame.samples_per_frame
        self._names = [state.name for state in manifest.codec.states]
        many = about.sizes.slots * about.sizes.codec_chunk_frames
        self._inputs = SharedBlock(cuda, {CodecInputs.POSITION: Want((about.sizes.slots,), np.int64)})
        self._pcm = SharedBlock(cuda, {CodecOutputs.PCM: Want((many * self._samples_per_frame,), np.float32)})
        self._frames_seen = np.zeros(about.sizes.slots, dtype=np.int64)
        self._done = cuda.event()
        self._codes = memory[_CODES].address
        self._open(about, engine, scratch)
        recorder = Recorder(cuda, stream, "the codec", recorded=recorded)
        pairs = [(low, high) for low in range(slots) for high in range(low + 1, slots + 1)]
        self._keep = {pair: recorder.recorded(partial(self._put_keep, *pair)) for pair in pairs}
        self._forget = [recorder.recorded(partial(self._put_forget, slot)) for slot in range(slots)]

    def begin(self, slot: int) -> None:
        """Start a new stream in a slot: the state of silence before the first frame."""
        self._forget[slot]()
        self._frames_seen[slot] = 0

    def decode(self, slot: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of a slot's stream; see `engines.codec.Codec.decode`."""
        pcm: Pcm = self.decode_many(slot, codes[None])[0]
        return pcm

    def decode_many(self, low: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of the streams in slots `low`, `low` + 1, ..., codes [slots, frames, codebooks].

        Only the shape of `codes` counts: the frames are those of the history that follow the last ones decoded. Returns
        samples [slots, frames * samples_per_frame], valid until the next call. Raises `ValueError` for too many frames
        or slots, `DeviceError` when the run fails.
        """
        many, frames, _ = codes.shape
        check_call(self, low, many, frames)
        bucket = plan_slots(low + many)
        self._inputs.arrays[CodecInputs.POSITION][:] = self._frames_seen
        self._inputs.send(self._stream)
        for slot in range(low, low + many):
            to = self._codes + slot * frames * self._books * CODE_BYTES
            self._history.fetch(slot, int(self._frames_seen[slot]), frames, to, self._stream)
        self._context(bucket, frames).enqueue(self._stream)
        self._keep[low, low + many]()
        self._frames_seen[low : low + many] += frames
        return self._fetch(bucket, frames * self._samples_per_frame)[low : low + many]

    def close(self) -> None:
        """Let go of the engine's contexts, and with them of its weights; the other memory is the border's."""
        self._cuda.end_work()
        self._keep.clear()
        self._forget.clear()
        self._contexts.clear()

    # -- inside -----------------------------------------------------------------------------------------------------

    def _fetch(self, bucket: int, samples: int) -> Pcm:
        """What the run made, [bucket, samples]."""
        self._pcm.fetch(self._stream, 4 * bucket * samples)
        self._cuda.record(self._done, self._stream)
        self._cuda.synchronize(self._done)
        pcm: Pcm = self._pcm.arrays[CodecOutputs.PCM][: bucket * samples].reshape(bucket, samples)
        return pcm

    def _open(self, about: PlanSet, engine: Engine, scratch: int) -> None:
        """A context for each bucket and profile, its addresses set once."""
        addresses = self._inputs.addresses | {CodecInputs.CODES: self._codes}
        addresses |= {CodecOutputs.PCM: self._pcm.addresses[CodecOutputs.PCM]}
        addresses |= {name: tensor.address for name, tensor in self._memory.items() if name in engine.names}
        self._graph: PlanGraph = about.graph("codec")
        self._contexts: dict[tuple[int, int], tuple[Context, int]] = {}  # with the frames each is set to
        for bucket, frames in product(buckets(self.slots), range(self.most_frames, 0, -1)):
            sizes = {"B": bucket, "T": frames}
            place = bucket, profile_of(self._graph, sizes)
            if place not in self._contexts:
                context = engine.context(scratch, sizes, self._stream)
                context.bind(addresses)
                context.enqueue(self._stream)  # its first run settles what later ones rely on
                self._contexts[place] = context, frames

    def _context(self, bucket: int, frames: int) -> Context:
        sizes = {"B": bucket, "T": frames}
        place = bucket, profile_of(self._graph, sizes)
        context, set_to = self._contexts[place]
        if set_to != frames:
            context.resize(sizes)
            self._contexts[place] = context, frames
        return context

    def _put_keep(self, low: int, high: int) -> None:
        """Take over the new states of slots [low, high)."""
        for name in self._names:
            old = self._memory[CodecInputs.state(name)].rows(low, high)
            new = self._memory[CodecOutputs.state(name)].rows(low, high)
            self._cuda.copy(old.address, new.address, old.nbytes, self._stream)

    def _put_forget(self, slot: int) -> None:
        for name in self._names:
            state = self._memory[CodecInputs.state(name)].rows(slot, slot + 1)
            self._cuda.clear(state.address, state.nbytes, self._stream)
