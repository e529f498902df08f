"""The streaming codec decoder: frames of codes in, samples out, state carried between calls.

Purpose: keep each slot's convolution history, transposed-convolution tails and attention window at fixed addresses and
run the codec graph on them. What a slot remembers is bounded by the graph's receptive field; any way of cutting a
stream of frames into calls gives the samples of one whole pass, up to rounding. Nothing is decoded twice. Knows: the
codec graph's inputs and outputs. Does not know: where codes come from, when to call, threads.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm
from engines.manifest import CodecInputs, CodecOutputs, Manifest
from engines.runner import Binding, Place, Runner


class Codec:
    """Decoder states for `slots` streams. One thread at a time."""

    def __init__(self, runner: Runner, manifest: Manifest, slots: int, most_frames: int) -> None:
        """Allocate the states and one block of `most_frames` frames; `BundleError` when the graph does not fit."""
        frame = manifest.frame
        self.most_frames = most_frames
        self._runner = runner
        self._samples_per_frame = frame.samples_per_frame
        self._states = {
            state.name: runner.allocate((slots, *state.shape), np.float32, Place.DEVICE)
            for state in manifest.codec.states
        }
        self._pcm = runner.allocate((1, most_frames * frame.samples_per_frame), np.float32, Place.HOST)
        self._codes = runner.allocate((most_frames, frame.codebooks), np.int64, Place.HOST)
        self._positions = runner.allocate((slots,), np.int64, Place.HOST)
        self._bindings: dict[tuple[int, int], Binding] = {}  # by slot and frames: at most slots * most_frames
        self._bind(0, 1)  # a graph that does not fit is found at once

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
        frames = len(codes)
        if not 1 <= frames <= self.most_frames:
            raise ValueError(f"the codec takes 1 to {self.most_frames} frames at once, not {frames}")
        self._codes.host[:frames] = codes
        binding = self._bindings.get((slot, frames)) or self._bind(slot, frames)
        binding.run()
        self._positions.host[slot] += frames
        pcm: Pcm = self._pcm.host[0, : frames * self._samples_per_frame]
        return pcm

    def _bind(self, slot: int, frames: int) -> Binding:
        inputs = {
            CodecInputs.CODES: self._codes.rows(0, frames).reshaped(1, frames, self._codes.shape[1]),
            CodecInputs.POSITION: self._positions.rows(slot, slot + 1),
        }
        samples = frames * self._samples_per_frame
        outputs = {CodecOutputs.PCM: self._pcm.reshaped(self._pcm.shape[1]).rows(0, samples).reshaped(1, samples)}
        for name, state in self._states.items():
            inputs[CodecInputs.state(name)] = state.rows(slot, slot + 1)
            outputs[CodecOutputs.state(name)] = state.rows(slot, slot + 1)
        binding = self._bindings[slot, frames] = self._runner.bind(inputs, outputs)
        return binding
