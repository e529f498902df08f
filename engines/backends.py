"""What an engine runs on: TensorRT, ONNX Runtime on CUDA, or the processor.

Purpose: pick the best that this device and this bundle have, and say in one sentence what it is and why nothing better
is used; a fallback is never silent. Knows: the order of preference, who to ask. Does not know: how any of them works.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from engines.bundle import Bundle
from engines.codec import Codec
from engines.engine_config import EngineConfig, rows_per_slot
from engines.errors import BundleError, DeviceError, GpuError, NoGpuError, SpeechError
from engines.gpu_presence import check_gpu
from engines.manifest import Manifest
from engines.plan_files import Plan
from engines.runner import Runner
from engines.runner_ort import OrtRunner
from engines.runner_ort_cuda import OrtDeviceRunner, cuda_fault
from engines.stages import Stages
from engines.talker import Talker


class BackendName(str, Enum):
    """A backend, as the configuration and metrics call it."""

    TENSORRT = "tensorrt"
    CUDA = "cuda"
    """ONNX Runtime on an NVIDIA GPU."""
    CPU = "cpu"


AUTO: Final = "auto"
"""The best that works."""


@dataclass(frozen=True, slots=True)
class Backend:
    """What was picked."""

    name: BackendName
    sentence: str
    """What people are told at the start."""
    plan: Plan | None = None
    """TensorRT's engines; None for the other backends."""
    falls_back: bool = False
    """Whether a GPU is here and something better than this was looked for in vain."""


def choose_backend(bundle: Bundle, config: EngineConfig, failed: Mapping[BackendName, str] | None = None) -> Backend:
    """The backend for this bundle on this device: `config.backend`, or the best that works for `AUTO`.

    `failed`: those that could not be opened, and why. Raises `BundleError` when the wished one does not work, with the
    reason.
    """
    missed, falls_back = list[str](), False
    for name, find in _BEST_FIRST.items():
        if config.backend not in {AUTO, name.value}:
            continue
        try:
            if failed and name in failed:
                raise DeviceError(failed[name])
            found = find(bundle, config)
        except NoGpuError as error:
            missed = [str(error)]
            continue
        except SpeechError as error:
            missed.append(f"{_TITLES[name]}: {error}")
            falls_back = True
            continue
        reasons = f" ({'; '.join(missed)})" if missed else ""
        return Backend(name, f"speaking with {_TITLES[name]}{reasons}", found, falls_back)
    known = ", ".join((AUTO, *(name.value for name in BackendName)))
    raise BundleError("; ".join(missed) or f"unknown backend {config.backend!r}; known are: {known}")


def open_stages(bundle: Bundle, config: EngineConfig) -> Stages:
    """Load the bundle's graphs on the backend `choose_backend` picks, with `AUTO` on the best that can be opened.

    Raises `SpeechError` of several kinds.
    """
    failed = dict[BackendName, str]()
    while True:
        backend = choose_backend(bundle, config, failed)
        try:
            return _open(backend, bundle, config)
        except SpeechError as error:
            if config.backend != AUTO or backend.name is BackendName.CPU:
                raise
            failed[backend.name] = str(error)  # not the error, which holds what was opened so far
        gc.collect()  # what of that holds itself goes too: the next needs the memory


def _open(backend: Backend, bundle: Bundle, config: EngineConfig) -> Stages:
    if backend.plan is not None:
        from engines.tensorrt_stages import open_plan_here

        stages = open_plan_here(backend.plan, bundle.manifest, config)
    elif backend.name is BackendName.CUDA:
        stages = on_runners(bundle.manifest, *_open_on_cuda(bundle), config, np.float16)
    else:
        stages = on_runners(bundle.manifest, *_open_on_processor(bundle, config), config)
    return replace(stages, sentence=backend.sentence, falls_back=backend.falls_back)


def on_runners(
    manifest: Manifest, frame: Runner, codec: Runner, config: EngineConfig, cache_dtype: npt.DTypeLike = np.float32
) -> Stages:
    """Stages of two graphs that runners have loaded. Raises `BundleError` when a graph does not fit."""
    ahead = config.async_scheduling is True  # "auto" is off: a processor gains nothing by it (docs/LOG.md)
    positions = rows_per_slot(manifest, config)

    def close() -> None:
        frame.close()
        codec.close()

    return Stages(
        Talker(frame, manifest, config.slots, positions, config.prefill_rows, ahead=ahead, cache_dtype=cache_dtype),
        Codec(codec, manifest, config.slots, config.codec_chunk_frames),
        close,
        ahead,
    )


def _open_on_processor(bundle: Bundle, config: EngineConfig) -> tuple[Runner, Runner]:
    graphs = bundle.manifest.graphs
    with ThreadPoolExecutor(max_workers=1) as pool:  # loading lets the interpreter go: half the wait
        codec = pool.submit(OrtRunner, bundle.path / graphs.codec, config.codec_threads, spinning=config.spinning)
        frame = OrtRunner(bundle.path / graphs.frame, config.talker_threads, spinning=config.spinning)
        return frame, codec.result()


def _open_on_cuda(bundle: Bundle) -> tuple[Runner, Runner]:
    graphs = bundle.manifest.graphs
    assert graphs.frame_cuda is not None  # by `_find_cuda`
    return OrtDeviceRunner(bundle.path / graphs.frame_cuda), OrtDeviceRunner(bundle.path / graphs.codec)


def _find_tensorrt(bundle: Bundle, config: EngineConfig) -> Plan:
    check_gpu()
    from engines.tensorrt_stages import find_plan_here  # only where there is a GPU

    return find_plan_here(bundle, config)


def _find_cuda(bundle: Bundle, config: EngineConfig) -> None:
    check_gpu()
    if bundle.manifest.graphs.frame_cuda is None:
        raise BundleError("the bundle was made before there was a graph for it; export it again")
    if fault := cuda_fault():
        raise GpuError(fault)


def _find_cpu(bundle: Bundle, config: EngineConfig) -> None:
    """Always there."""


_BEST_FIRST: Final[dict[BackendName, Callable[[Bundle, EngineConfig], Plan | None]]] = {
    BackendName.TENSORRT: _find_tensorrt,
    BackendName.CUDA: _find_cuda,
    BackendName.CPU: _find_cpu,
}
_TITLES: Final = {
    BackendName.TENSORRT: "TensorRT",
    BackendName.CUDA: "ONNX Runtime on CUDA",
    BackendName.CPU: "ONNX Runtime on the processor",
}
