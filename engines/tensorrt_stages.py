"""Talker and codec on TensorRT, put together from one plan.

Purpose: load the plan's engines, allocate everything they and their stages want, the largest first, and make the
stages. Knows: every part of TensorRT's side of this room by name. Does not know: whether the plan suits this device
(`engines.backends` asked), what the stages do.

`SPEAKD_NO_CUDA_GRAPH=1` in the environment puts every frame on the stream piece by piece instead of launching it as one
recorded sequence: slower, and a way out where a driver cannot record an engine.
"""

from __future__ import annotations

import os
from typing import Final

from engines.cuda_api import CudaApi
from engines.cuda_memory import Want, allocate
from engines.engine_config import EngineConfig
from engines.manifest import Manifest
from engines.plan_files import Plan, PlanSizes
from engines.stages import Stages
from engines.tensorrt_codec import TensorRtCodec, codec_wants
from engines.tensorrt_contract import Engine, Loader
from engines.tensorrt_history import CodeHistory
from engines.tensorrt_memory import HISTORY, fill_constants, frame_wants
from engines.tensorrt_talker import TensorRtTalker

NO_GRAPH: Final = "SPEAKD_NO_CUDA_GRAPH"
_SCRATCH, _CODEC_SCRATCH = "scratch", "codec.scratch"


def open_tensorrt(
    plan: Plan, manifest: Manifest, config: EngineConfig, wished: PlanSizes, cuda: CudaApi, loader: Loader
) -> Stages:
    """Both stages of a plan that serves sizes as `wished`; they own `cuda` from then on.

    Raises `PlanError` when an engine does not fit its plan, `DeviceError` when the device has not enough memory.
    """
    recorded = os.environ.get(NO_GRAPH) != "1"
    about = plan.about
    by_size = sorted(about.graphs, key=lambda graph: -graph.bytes)
    engines = {str(graph.role): loader.load(plan, graph) for graph in by_size}
    talking = {role: engine for role, engine in engines.items() if role != "codec"}
    wants = frame_wants(manifest, about) | codec_wants(manifest, about)
    wants |= {_SCRATCH: _scratch(talking), _CODEC_SCRATCH: _scratch({"codec": engines["codec"]})}
    memory = allocate(cuda, wants)
    fill_constants(cuda, plan, manifest, memory)
    history = CodeHistory(cuda, memory[HISTORY])
    talker = TensorRtTalker(
        cuda, cuda.stream(urgent=True), manifest, about, talking, memory, memory[_SCRATCH].address, history,
        slots=wished.slots, positions=wished.positions, piece_rows=wished.prefill_rows, recorded=recorded,
    )  # fmt: skip
    codec = TensorRtCodec(
        cuda, cuda.stream(urgent=False), manifest, about, engines["codec"], memory, memory[_CODEC_SCRATCH].address,
        history, slots=wished.slots, most_frames=wished.codec_chunk_frames, recorded=recorded,
    )  # fmt: skip
    return Stages(talker, codec, cuda.close, ahead=config.async_scheduling is not False)


def _scratch(engines: dict[str, Engine]) -> Want:
    """For engines that run one after the other."""
    return Want((max(engine.scratch_bytes for engine in engines.values()),), "uint8")
