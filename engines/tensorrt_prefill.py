"""Pieces of prompts on TensorRT.

Purpose: bring rows into a slot's cache. Knows: the prefill engine, which has one slot and any number of rows. Does not
know: whose prompt it is, what comes after it.
"""

from __future__ import annotations

import numpy as np

from engines.cuda_api import CudaApi, Stream
from engines.cuda_memory import SharedBlock, Want
from engines.graph_names import FrameInputs
from engines.manifest import Manifest
from engines.stages import F32
from engines.tensorrt_cache import Caches
from engines.tensorrt_contract import Context, Engine


class PromptPieces:
    """Runs them one after the other; each slot has its own context, whose addresses are set once."""

    def __init__(
        self, cuda: CudaApi, stream: Stream, manifest: Manifest, engine: Engine, scratch: int, talker: Caches,
        slots: int, most_rows: int,
    ) -> None:  # fmt: skip
        self._cuda, self._stream, self._caches = cuda, stream, talker
        rows = Want((1, most_rows, manifest.talker.hidden), np.float32)
        self._inputs = SharedBlock(
            cuda,
            {
                FrameInputs.PAST_LENGTHS: Want((1,), np.int32),
                FrameInputs.CODEC_ROWS: rows,
                FrameInputs.TEXT_ROWS: rows,
            },
        )
        self._done = cuda.event()
        self._rows = [1] * slots
        self._contexts: list[Context] = []
        for slot in range(slots):
            context = engine.context(scratch, {"S": 1}, stream)
            context.bind(self._inputs.addresses | talker.addresses(slot))
            context.enqueue(stream)  # its first run settles what later ones rely on; no row of it will be read
            self._contexts.append(context)

    def close(self) -> None:
        """Let go of the contexts."""
        self._contexts.clear()

    def run(self, slot: int, start: int, codec_rows: F32, text_rows: F32) -> None:
        """Put rows into a slot's cache from position `start` on, and wait for it."""
        rows, arrays = len(codec_rows), self._inputs.arrays
        arrays[FrameInputs.CODEC_ROWS][0, :rows] = codec_rows
        arrays[FrameInputs.TEXT_ROWS][0, :rows] = text_rows
        arrays[FrameInputs.PAST_LENGTHS][0] = start + rows - 1
        context = self._contexts[slot]
        if self._rows[slot] != rows:
            context.resize({"S": rows})
            self._rows[slot] = rows
        self._inputs.send(self._stream)
        context.enqueue(self._stream)
        self._caches.keep_rows(slot, 1, start, rows, self._stream)
        self._cuda.record(self._done, self._stream)
        self._cuda.synchronize(self._done)
