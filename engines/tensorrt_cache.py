"""Key/value caches of one stack on the device, in both forms that engines write them.

Purpose: say where each layer's cache of each slot lies, and bring new rows to their place where engines only present
them. In place: what goes in and what comes out is the same memory, and nothing is left to do. Rows: the engine puts the
new rows into `fresh`, and one copy a slot moves all layers' rows of a frame. Knows: the layout [2 * layers, slots, key
heads, rows, width], which makes that one copy possible. Does not know: what is in a row, who is in a slot.
"""

from __future__ import annotations

from math import lcm

import numpy as np

from engines.cuda_api import CudaApi, Stream
from engines.cuda_memory import ALIGNMENT, Want
from engines.graph_names import cache_names
from engines.manifest import StackSpec
from engines.runner import Tensor


class Caches:
    """Caches of `slots` slots, `rows` rows each; `memory` and `fresh` as `wants` has them."""

    def __init__(
        self, cuda: CudaApi, stack: StackSpec, slots: int, rows: int, memory: Tensor, fresh: Tensor | None
    ) -> None:
        """`fresh`: where engines present new rows; None where they write in place."""
        self._cuda, self._memory, self._fresh = cuda, memory, fresh
        self._tensors, self._slots, self._heads, self._rows = 2 * stack.layers, slots, stack.kv_heads, rows
        self._row_bytes = stack.head_dim * memory.dtype.itemsize
        self._step = fresh.shape[1] if fresh is not None else 0  # from one tensor's new rows to the next one's
        self._slot_bytes = self._heads * rows * self._row_bytes
        self._names = cache_names(stack.layers)

    @staticmethod
    def wants(
        name: str, stack: StackSpec, slots: int, rows: int, dtype: str, most_fresh: int | None
    ) -> dict[str, Want]:
        """The memory it takes; `most_fresh`: the most new rows of a run, slots times rows; None in place."""
        shape = (2 * stack.layers, slots, stack.kv_heads, rows, stack.head_dim)
        wants = {name: Want(shape, dtype)}
        if most_fresh is not None:
            row_bytes = stack.head_dim * np.dtype(dtype).itemsize
            unit = lcm(ALIGNMENT, row_bytes)  # every tensor begins aligned and at a whole row
            size = stack.kv_heads * most_fresh * row_bytes
            wants[f"{name}.fresh"] = Want((2 * stack.layers, -(-size // unit) * unit), "uint8")
        return wants

    def addresses(self, slot: int = 0) -> dict[str, int]:
        """Inputs and outputs of a run of the slots from `slot` on."""
        addresses = {}
        for index, (past, present) in enumerate(self._names):
            addresses[past] = addresses[present] = self._at(index, slot)
            if self._fresh is not None:
                addresses[present] = self._fresh.address + index * self._step
        return addresses

    def keep_frame(self, slot: int, position: int, stream: Stream) -> None:
        """Bring a slot's row of a run of the first slots, one row each, to its place."""
        if self._fresh is not None:
            row = self._row_bytes
            self._cuda.copy_blocks(
                self._at(0, slot) + position * row, self._rows * row, self._slots * self._heads,
                self._fresh.address + slot * self._heads * row, row, self._step // row,
                row, self._heads, self._tensors, stream,
            )  # fmt: skip

    def keep_rows(self, slot: int, many: int, start: int, rows: int, stream: Stream) -> None:
        """Bring the rows of a run of `many` slots from `slot` on, all at the same position, to their place."""
        if self._fresh is None:
            return
        width = rows * self._row_bytes
        for index in range(self._tensors):
            self._cuda.copy_rows(
                self._at(index, slot) + start * self._row_bytes, self._rows * self._row_bytes,
                self._fresh.address + index * self._step, width, width, many * self._heads, stream,
            )  # fmt: skip

    def forget(self, slot: int, stream: Stream) -> None:
        """Clear a slot's rows, of all layers at once."""
        pitch = self._slots * self._slot_bytes
        self._cuda.clear_rows(self._at(0, slot), pitch, self._slot_bytes, self._tensors, stream)

    def _at(self, index: int, slot: int) -> int:
        return self._memory.address + (index * self._slots + slot) * self._slot_bytes
