"""Talker and codec on TensorRT, put together from one plan.

Purpose: find the plan for a bundle on this device, load its engines, allocate everything they and their stages want,
the largest first, and make the stages. Knows: every part of TensorRT's side of this room by name. Does not know: what
else could be used (`engines.backends`), what the stages do.

`SPEAKD_NO_CUDA_GRAPH=1` in the environment puts every frame on the stream piece by piece instead of launching it as one
recorded sequence: slower, and a way out where a driver cannot record an engine.
"""

from __future__ import annotations

import os
from typing import Final

from engines.bundle import Bundle
from engines.cuda_api import CudaApi
from engines.cuda_memory import Want, allocate
from engines.engine_config import EngineConfig, rows_per_slot
from engines.errors import PlanError
from engines.manifest import Manifest
from engines.plan_files import Plan, bundle_hash, find_plan, plan_cache, plan_precision, plans_of
from engines.plan_set import PlanSizes
from engines.stages import Stages
from engines.tensorrt_codec import TensorRtCodec, codec_wants
from engines.tensorrt_contract import Engine, Loader
from engines.tensorrt_history import CodeHistory
from engines.tensorrt_memory import HISTORY, fill_constants, frame_wants
from engines.tensorrt_talker import TensorRtTalker

NO_GRAPH: Final = "SPEAKD_NO_CUDA_GRAPH"
_SCRATCH, _CODEC_SCRATCH = "scratch", "codec.scratch"


def find_plan_here(bundle: Bundle, config: EngineConfig) -> Plan:
    """The plan that serves this bundle and configuration with the TensorRT and the GPU that are here.

    Raises `PlanError`, `GpuError` saying what is missing.
    """
    try:
        import tensorrt
    except ImportError as error:
        raise PlanError(f"TensorRT is not installed ({error}); scripts/setup finds or installs it") from error
    built, sizes = plans_of(plan_cache(config.plans), bundle_hash(bundle.path)), wished_sizes(bundle.manifest, config)
    known = {
        "tensorrt": str(tensorrt.__version__), "precision": plan_precision(config.precision, bundle.manifest),
    }  # fmt: skip
    find_plan(built, known, sizes)  # or the device is not even looked at: what that takes of its memory stays taken
    device = CudaApi().device
    return find_plan(built, {**known, "device": device.name, "architecture": device.architecture}, sizes)


def open_plan_here(plan: Plan, manifest: Manifest, config: EngineConfig) -> Stages:
    """The stages of a plan that `find_plan_here` found. Raises `PlanError`, `GpuError`, `DeviceError`."""
    from engines.tensorrt_engine import TensorRtLoader

    return open_tensorrt(plan, manifest, config, CudaApi(), TensorRtLoader())


def wished_sizes(manifest: Manifest, config: EngineConfig) -> PlanSizes:
    """What a configuration needs of a plan."""
    positions = rows_per_slot(manifest, config)
    sizes = PlanSizes(
        slots=config.slots,
        positions=positions,
        prefill_rows=config.prefill_rows,
        codec_chunk_frames=config.codec_chunk_frames,
    )
    return sizes.within(positions)


def open_tensorrt(plan: Plan, manifest: Manifest, config: EngineConfig, cuda: CudaApi, loader: Loader) -> Stages:
    """Both stages of a plan that serves this configuration; they own `cuda`, which is closed where it raises.

    Raises `PlanError` when an engine does not fit its plan, `DeviceError` when the device has not enough memory.
    """
    try:
        return _open(plan, manifest, config, cuda, loader)
    except BaseException:
        cuda.close()
        raise


def _open(plan: Plan, manifest: Manifest, config: EngineConfig, cuda: CudaApi, loader: Loader) -> Stages:
    recorded = os.environ.get(NO_GRAPH) != "1"
    about, wished = plan.about, wished_sizes(manifest, config)
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
    cuda.settle()  # first runs read memory that is the host's to write from here on; one that failed is told of here
    return Stages(talker, codec, cuda.close, ahead=config.async_scheduling is not False)


def _scratch(engines: dict[str, Engine]) -> Want:
    """For engines that run one after the other."""
    return Want((max(engine.scratch_bytes for engine in engines.values()),), "uint8")
