"""The streaming codec decoder: frames of codes in, samples out, state carried between calls.

Purpose: keep each slot's convolution history, transposed-convolution tails and attention window at fixed addresses and
run the codec graph on them, for one slot or several in a row at once. What a slot remembers is bounded by the graph's
receptive field; any way of cutting a stream of frames into calls gives the samples of one whole pass, up to rounding.
Nothing is decoded twice. Knows: the codec graph's inputs and outputs. Does not know: where codes come from, when to
call, threads.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm
from engines.graph_names import CodecInputs, CodecOutputs
from engines.manifest import Manifest
from engines.runner import Binding, Place, Runner
from engines.stages import check_call

_MOST_BINDINGS: Final = 512
"""Kept at once; another is made in a fraction of a millisecond."""


class Codec:
    """Decoder states for `slots` streams. One thread at a time."""

    def __init__(self, runner: Runner, manifest: Manifest, slots: int, most_frames: int) -> None:
        """Allocate the states and one block of `most_frames` frames; `BundleError` when the graph does not fit."""
        frame = manifest.frame
        self.slots, self.most_frames = slots, most_frames
        self._runner = runner
        self._samples_per_frame = frame.samples_per_frame
        self._states = {
            state.name: runner.allocate((slots, *state.shape), np.float32, Place.DEVICE)
            for state in manifest.codec.states
        }
        self._pcm = runner.allocate((slots * most_frames * frame.samples_per_frame,), np.float32, Place.HOST)
        self._codes = runner.allocate((slots * most_frames, frame.codebooks), np.int64, Place.HOST)
        self._positions = runner.allocate((slots,), np.int64, Place.HOST)
        self._bindings: dict[tuple[int, int, int], Binding] = {}  # by slots [low, high) and frames
        self._bind(0, 1, 1)  # a graph that does not fit is found at once

    def begin(self, slot: int) -> None:
        """Start a new stream in a slot: the state of silence before the first frame."""
        for state in self._states.values():
            self._runner.clear(state.rows(slot, slot + 1))
        self._positions.host[slot] = 0

    def decode(self, slot: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of a slot's stream, codes [1..most_frames, codebooks].

        Returns samples [frames * samples_per_frame], valid until the next call. Raises `ValueError` for too many
        frames, `DeviceError` when the run fails.
        """
        pcm: Pcm = self.decode_many(slot, codes[None])[0]
        return pcm

    def decode_many(self, low: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of the streams in slots `low`, `low` + 1, ..., codes [slots, frames, codebooks].

        Each stream's samples are those it would have alone. Returns samples [slots, frames * samples_per_frame], valid
        until the next call. Raises `ValueError` for too many frames or slots, `DeviceError` when the run fails.
        """
        many, frames, books = codes.shape
        check_call(self, low, many, frames)
        self._codes.host[: many * frames] = codes.reshape(many * frames, books)
        binding = self._bindings.get((low, low + many, frames)) or self._bind(low, low + many, frames)
        binding.run()
        self._positions.host[low : low + many] += frames
        samples = frames * self._samples_per_frame
        pcm: Pcm = self._pcm.host[: many * samples].reshape(many, samples)
        return pcm

    def close(self) -> None:
        """Nothing of its own to let go: the memory goes with the runner and the bindings."""
        self._bindings.clear()

    def _bind(self, low: int, high: int, frames: int) -> Binding:
        many, samples = high - low, frames * self._samples_per_frame
        inputs = {
            CodecInputs.CODES: self._codes.rows(0, many * frames).reshaped(many, frames, self._codes.shape[1]),
            CodecInputs.POSITION: self._positions.rows(low, high),
        }
        outputs = {CodecOutputs.PCM: self._pcm.rows(0, many * samples).reshaped(many, samples)}
        for name, state in self._states.items():
            inputs[CodecInputs.state(name)] = state.rows(low, high)
            outputs[CodecOutputs.state(name)] = state.rows(low, high)
        if len(self._bindings) >= _MOST_BINDINGS:
            del self._bindings[next(iter(self._bindings))]
        binding = self._bindings[low, high, frames] = self._runner.bind(inputs, outputs)
        return binding
