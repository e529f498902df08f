"""One case of `scripts/gpu_check`, in a process of its own: a model on a backend with so many slots.

Purpose: time the engine's stages by themselves, let the whole engine speak, and compare what it says with the
processor's. Prints a JSON line after each part, so that whatever ends it costs only what comes later. Knows: the parts
and their order. Does not know: how a part is measured, how a plan is built.
"""

from __future__ import annotations

from engines.backends import open_stages
from engines.bundle import Bundle, open_bundle
from engines.engine import SpeechEngine
from engines.stages import Stages
from scripts.gpu_asked import Asked, read_asked
from scripts.gpu_case_speech import compare, speak
from scripts.gpu_case_times import CONTEXT_ROWS, measure_stages
from scripts.gpu_frame_time import HeardCuda
from scripts.gpu_memory import MemoryWatch, copy_bandwidth_gb_s
from scripts.gpu_rows import emit
from scripts.gpu_shape import BITS, Shape


def main() -> None:
    """Measure one case."""
    asked = read_asked()
    watch = MemoryWatch()  # before anything of this process is on the device
    if asked.model == "0.6b" and not asked.smoke:
        emit(**Shape().reads(BITS[asked.backend, asked.precision], asked.slots, CONTEXT_ROWS))
    bundle = open_bundle(asked.bundle, verify=False)
    stages, cuda = open_case(asked, bundle)
    for found in measure_stages(stages, bundle, asked.slots, cuda):
        emit(**found)
    with SpeechEngine(bundle, stages, asked.config) as engine:
        engine.warm_up()
        emit(**speak(engine, asked.slots))
        emit(**watch.found())
        if asked.model == "default":
            emit(**compare(engine, bundle, asked.config))
    if asked.backend == "tensorrt":
        emit(bandwidth_gb_s=copy_bandwidth_gb_s())


def open_case(asked: Asked, bundle: Bundle) -> tuple[Stages, HeardCuda | None]:
    """The stages; and CUDA as they use it, for TensorRT, whose recorded frames can be timed on the device."""
    if asked.backend != "tensorrt":
        return open_stages(bundle, asked.config), None
    from engines.tensorrt_engine import TensorRtLoader  # TensorRT is asked for only here
    from engines.tensorrt_stages import find_plan_here, open_tensorrt

    plan, cuda = find_plan_here(bundle, asked.config), HeardCuda()
    emit(plan_slots=plan.about.sizes.slots, l2_bytes=cuda.l2_bytes())
    return open_tensorrt(plan, bundle.manifest, asked.config, cuda, TensorRtLoader()), cuda


if __name__ == "__main__":
    main()
