"""What could run the graphs here, and what would.

Purpose: for people and for metrics: the backend that a bundle would get, why, the versions that matter, the plans that
are there. Knows: whom to ask. Does not know: how any backend works.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from engines.backends import choose_backend
from engines.bundle import open_bundle
from engines.engine_config import EngineConfig
from engines.plan_files import Plan, bundle_hash, plan_cache, plans

_PACKAGES: Final = {
    "TensorRT": ("tensorrt", "tensorrt-cu13", "tensorrt-cu12"),
    "ONNX Runtime": ("onnxruntime-gpu", "onnxruntime"),
    "cuda-python": ("cuda-bindings", "cuda-python"),
}
"""Packages that each may have come with, the more telling first."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """See the module's text."""

    backend: str
    sentence: str
    """What was picked and why nothing better."""
    versions: dict[str, str]
    """By product: version and the package it came with, or "not installed"."""
    plans: tuple[str, ...]
    """TensorRT plans of this bundle, whether or not they serve here."""


def device_facts(bundle: Path, config: EngineConfig) -> DeviceFacts:
    """Ask everybody. Raises `BundleError` where the bundle cannot be used at all. Opens no engine."""
    backend = choose_backend(open_bundle(bundle, verify=False), config)
    mine = plans(plan_cache(config.plans), bundle_hash(bundle))
    return DeviceFacts(backend.name.value, backend.sentence, versions(), tuple(map(_plan, mine)))


def versions() -> dict[str, str]:
    """Versions of what graphs can be run with. Imports nothing."""
    return {product: _version(names) for product, names in _PACKAGES.items()}


def _version(names: tuple[str, ...]) -> str:
    for name in names:
        try:
            return f"{metadata.version(name)} ({name})"
        except metadata.PackageNotFoundError:
            continue
    return "installed, version unknown" if find_spec(names[0]) is not None else "not installed"


def _plan(plan: Plan) -> str:
    key, sizes = plan.about.key, plan.about.sizes
    return (
        f"{key.precision}, {sizes.slots} slots of {sizes.positions} rows, for TensorRT {key.tensorrt} on {key.device}"
        f" ({key.architecture}), {plan.about.bytes / 1e6:.0f} MB"
    )
