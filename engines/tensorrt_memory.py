"""Which memory the talker needs on the device, by name.

Purpose: say it before anything is allocated, and fill what never changes. Knows: the names of `engines.graph_names` and
`engines.step_names`, a plan's sizes. Does not know: when anything runs, who reads what.

Of what a frame hands to the next (`codec_rows`, `seen`) there are two: one frame reads the first and writes the second,
the next the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from engines.cuda_api import CudaApi
from engines.cuda_memory import ALIGNMENT, Want
from engines.errors import PlanError
from engines.graph_names import FrameInputs, FrameOutputs
from engines.manifest import Manifest, StackSpec
from engines.plan_files import Plan
from engines.plan_set import PlanSet
from engines.runner import Tensor
from engines.step_names import StepInputs, StepOutputs, StepTables, TalkerStepOutputs
from engines.tensorrt_cache import Caches
from engines.tensorrt_history import CodeHistory

Memory = Mapping[str, Tensor]
INSTANCES: Final = 2
TALKER_CACHE: Final = "talker.cache"
PREDICTOR_CACHE: Final = "predictor.cache"
HISTORY: Final = "history"


def code_want(manifest: Manifest, about: PlanSet) -> Want:
    """The codes of a frame: [slots, codebooks], or of a stepped one [codebooks, >= slots], each row aligned."""
    if about.frame == "unrolled":
        return Want((about.sizes.slots, manifest.frame.codebooks), np.int64)
    return Want((manifest.frame.codebooks, ALIGNMENT // 8), np.int64)


def frame_wants(manifest: Manifest, about: PlanSet) -> dict[str, Want]:
    """What a frame keeps on the device."""
    slots, f32 = about.sizes.slots, np.float32
    row, seen = Want((slots, 1, manifest.talker.hidden), f32), Want((slots, manifest.talker.vocabulary), f32)
    most_fresh = max(slots, about.sizes.prefill_rows) if about.attention == "rows" else None
    wants = Caches.wants(TALKER_CACHE, manifest.talker, slots, about.sizes.positions, about.dtype, most_fresh)
    wants |= {
        FrameOutputs.LOGITS: seen,
        HISTORY: CodeHistory.want(slots, about.sizes.positions, manifest.frame.codebooks),
    }
    for instance in range(INSTANCES):
        wants |= {f"{FrameInputs.CODEC_ROWS}.{instance}": row, f"{FrameInputs.SEEN}.{instance}": seen}
    if about.frame == "unrolled":
        return wants
    stack, groups = manifest.predictor, manifest.frame.codebooks
    most_fresh = 2 * slots if about.attention == "rows" else None
    wants |= Caches.wants(PREDICTOR_CACHE, stack, slots, groups, about.dtype, most_fresh)
    wants |= {f"{name}.{turn}": row for name in (StepOutputs.NEXT_ROW, StepOutputs.NEXT_ROW_SUM) for turn in range(2)}
    return wants | {
        TalkerStepOutputs.PREDICTOR_ROWS: Want((slots, 2, manifest.talker.hidden), f32),
        TalkerStepOutputs.CODE_ROW: row,
        StepInputs.HEAD: Want((groups - 1, stack.hidden, stack.vocabulary), about.dtype),
        StepInputs.EMBEDDING: Want((groups - 1, stack.vocabulary, manifest.talker.hidden), about.dtype),
        StepInputs.GROUP: Want((groups - 1, ALIGNMENT // 8), np.int64),
        FrameInputs.PAST_LENGTHS: Want((groups - 1, ALIGNMENT // 4), np.int32),
    }


def caches(cuda: CudaApi, stack: StackSpec, about: PlanSet, rows: int, name: str, memory: Memory) -> Caches:
    """The caches that `frame_wants` asked for by this name."""
    return Caches(cuda, stack, about.sizes.slots, rows, memory[name], memory.get(f"{name}.fresh"))


def fill_constants(cuda: CudaApi, plan: Plan, manifest: Manifest, memory: Memory) -> None:
    """What a stepped frame reads and nothing writes: its tables, and what each pass is told of itself.

    Pass i draws code group i + 1, at position i + 1.
    """
    if plan.about.tables is None:
        return
    tables = safetensors.numpy.load(bytes(plan.read(plan.about.tables)))
    for name, table in ((StepInputs.HEAD, StepTables.HEADS), (StepInputs.EMBEDDING, StepTables.EMBEDDINGS)):
        _upload(cuda, memory[name], tables[table])
    for name in (StepInputs.GROUP, FrameInputs.PAST_LENGTHS):
        tensor = memory[name]
        numbers = np.arange(1, manifest.frame.codebooks, dtype=tensor.dtype)
        _upload(cuda, tensor, np.broadcast_to(numbers[:, None], tensor.shape))


def _upload(cuda: CudaApi, tensor: Tensor, values: npt.NDArray[Any]) -> None:
    if values.shape != tensor.shape or values.dtype != tensor.dtype:
        raise PlanError(f"a table of the plan is {values.dtype} {values.shape}, not {tensor.dtype} {tensor.shape}")
    whole = np.ascontiguousarray(values)
    cuda.upload(tensor.address, whole.ctypes.data, whole.nbytes)
