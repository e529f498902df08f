"""What an engine runs on: TensorRT, ONNX Runtime on CUDA, or the processor.

Purpose: pick the best that this device and this bundle have, and say in one sentence what it is and why nothing better
is used; a fallback is never silent. Knows: the order of preference, who to ask. Does not know: how any of them works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from engines.bundle import Bundle
from engines.engine_config import EngineConfig
from engines.errors import BundleError, SpeechError
from engines.plan_files import Plan


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

    @property
    def launches_ahead(self) -> bool:
        """Whether steps are launched ahead unless the configuration says otherwise: not where the step needs the very
        processor that handles its codes (measured: docs/LOG.md, async scheduling)."""
        return self.name is BackendName.TENSORRT


def choose_backend(bundle: Bundle, config: EngineConfig) -> Backend:
    """The backend for this bundle on this device: `config.backend`, or the best that works for `AUTO`.

    Raises `BundleError` when the wished one does not work, with the reason.
    """
    missed = []
    for name, find in _BEST_FIRST.items():
        if config.backend not in {AUTO, name.value}:
            continue
        try:
            found = find(bundle, config)
        except SpeechError as error:
            missed.append(f"{_TITLES[name]}: {error}")
            continue
        reasons = f" ({'; '.join(missed)})" if missed else ""
        return Backend(name, f"speaking with {_TITLES[name]}{reasons}", found)
    known = ", ".join((AUTO, *(name.value for name in BackendName)))
    raise BundleError("; ".join(missed) or f"unknown backend {config.backend!r}; known are: {known}")


def _find_tensorrt(bundle: Bundle, config: EngineConfig) -> Plan:
    raise BundleError("no plan was looked for")


def _find_cuda(bundle: Bundle, config: EngineConfig) -> None:
    raise BundleError("not asked")


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
