"""Plans: built TensorRT engines on disk, and the rule by which one may be loaded.

Purpose: the one contract between `export` (builds plans) and the runtime (loads them). A plan is a directory of the
cache, whole or not there: `plan.json` and beside it the built engines. It serves one bundle, one version of TensorRT,
one kind of device, one precision, and sizes up to its own; every other is refused by name.
Knows: `plan.json`, the cache's directories. Does not know: TensorRT, devices, how engines are built or run.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from engines.errors import PlanError
from engines.manifest import MANIFEST_NAME, Manifest
from engines.plan_set import PLAN_FORMAT, PlanFile, PlanKey, PlanSet, PlanSizes
from engines.records import read_record, record_version, write_record

PLAN_NAME: Final = "plan.json"
REMEDY: Final = "run `speakd build`"
AGAIN: Final = "run `speakd build --again`"
"""Where a plan is found and cannot be used all the same: without `--again` it would count as there already."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan in its directory."""

    folder: Path
    about: PlanSet

    def read(self, file: PlanFile) -> memoryview:
        """The bytes of an engine or the tables, mapped and compared with their checksum. Raises `PlanError`."""
        path = self.folder / file.file
        try:
            with path.open("rb") as opened:
                content = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise PlanError(f"{path} cannot be read ({error}); {AGAIN}") from error
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise PlanError(f"{path} is damaged: its SHA-256 is not the plan's; {AGAIN}")
        return content


def bundle_hash(bundle: Path) -> str:
    """Which model a bundle is: the manifest names the hash of every file. Raises `PlanError` where there is none."""
    try:
        return hashlib.sha256((bundle / MANIFEST_NAME).read_bytes()).hexdigest()
    except OSError as error:
        raise PlanError(f"{bundle} is not a voice bundle: cannot read {MANIFEST_NAME} ({error.strerror})") from error


def plan_cache(setting: str = "", environment: Mapping[str, str] | None = None) -> Path:
    """Where plans lie: the configured directory, or without one the user's cache."""
    if setting:
        return Path(setting)
    environment = os.environ if environment is None else environment
    home = environment.get("XDG_CACHE_HOME", "") or Path.home() / ".cache"
    return Path(home) / "speakd" / "plans"


def plan_precision(setting: str, manifest: Manifest) -> str:
    """The precision a plan for this bundle has: what was asked for, or with "auto" the bundle's own, fp16 where nothing
    is quantised."""
    if setting != "auto":
        return setting
    stored = manifest.provenance.precision
    return "fp16" if stored == "fp32" else stored


def folder_name(key: PlanKey, sizes: PlanSizes) -> str:
    """The one directory name of a plan inside its cache."""
    digest = hashlib.sha256(msgspec.json.encode((PLAN_FORMAT, key, sizes))).hexdigest()
    return f"{folder_stem(key)}{sizes.slots}-{digest[:8]}"


def folder_stem(key: PlanKey) -> str:
    """What the names of a voice's plans of one precision begin with, whatever their sizes."""
    return f"{key.bundle[:12]}-{key.tensorrt}-{key.architecture}-{key.precision}-"


def read_plan_set(folder: Path) -> PlanSet:
    """Read and check `plan.json` and the sizes of the files it names. Raises `PlanError` naming what is wrong."""
    plan = read_record(folder / PLAN_NAME, PlanSet, PLAN_FORMAT, what="plan", wrong=PlanError, remedy=REMEDY)
    _check(folder, plan)
    return plan


def write_plan_set(folder: Path, plan: PlanSet) -> None:
    """Write `plan.json`, indented for people."""
    write_record(folder / PLAN_NAME, plan)


def plans(cache: Path, bundle: str | None = None) -> Iterator[Plan]:
    """Every plan of a cache that can be read, or those of one bundle (`bundle_hash`), by name."""
    for folder in _folders(cache):
        try:
            about = read_plan_set(folder)
        except PlanError:
            continue
        if bundle in {None, about.key.bundle}:
            yield Plan(folder, about)


def plans_of_older_programs(cache: Path) -> Iterator[Path]:
    """The folders of plans whose format is an earlier one: nothing here can load them any more."""
    for folder in _folders(cache):
        version = record_version(folder / PLAN_NAME)
        if isinstance(version, int) and version < PLAN_FORMAT:
            yield folder


def _folders(cache: Path) -> list[Path]:
    return sorted(path.parent for path in cache.glob(f"*/{PLAN_NAME}") if not path.parent.name.startswith("."))


def plans_of(cache: Path, bundle: str) -> list[Plan]:
    """Every plan of a bundle, whether or not it serves here. Raises `PlanError` where there is none."""
    found = list(plans(cache, bundle))
    if not found:
        raise PlanError(f"there is no TensorRT plan for this bundle in {cache}; {REMEDY}")
    return found


def find_plan(built: Sequence[Plan], known: Mapping[str, str], sizes: PlanSizes) -> Plan:
    """The smallest plan that serves by all that is `known` of its key, by field (`PlanKey`).

    Raises `PlanError` saying what is different of the nearest one.
    """
    why = [differences(plan.about, known, sizes) for plan in built]
    serving = [plan for plan, differs in zip(built, why, strict=True) if not differs]
    if serving:
        return min(serving, key=lambda plan: msgspec.structs.astuple(plan.about.sizes))
    nearest = min(range(len(built)), key=lambda place: len(why[place]))
    raise PlanError(
        f"the TensorRT plan {built[nearest].folder.name} does not serve: {', '.join(why[nearest])}; {REMEDY}"
    )


def differences(plan: PlanSet, known: Mapping[str, str], sizes: PlanSizes) -> list[str]:
    """Why a plan must not be loaded here, one phrase each; empty when it may be. `known`: of its key, by field."""
    why = []
    for name, here in known.items():
        built = getattr(plan.key, name)
        if built != here:
            why.append(f"{name} is {_short(here)}, it was built for {_short(built)}")
    for name in PlanSizes.__struct_fields__:
        built, here = getattr(plan.sizes, name), getattr(sizes, name)
        if built < here:
            why.append(f"{name} is {here}, it was built for at most {built}")
    if plan.verification is not None and not plan.verification.passed:
        why.append("it failed its verification")
    return why


def _short(value: str) -> str:
    return value if len(value) < 64 else value[:12]  # a hash


def _check(folder: Path, plan: PlanSet) -> None:
    """Every engine the frame's shape needs is there, in a file of the right size."""
    roles = {graph.role for graph in plan.graphs}
    needed = {"prefill", "codec", *(("frame",) if plan.frame == "unrolled" else ("talker", "step"))}
    if roles != needed or len(plan.graphs) != len(roles):
        raise PlanError(f"{folder} has the engines {', '.join(sorted(roles))}, not those it needs; {REMEDY}")
    if (plan.frame == "stepped") != (plan.tables is not None):
        raise PlanError(f"{folder}: a stepped frame has tables and no other has; {REMEDY}")
    for file in plan.files:
        path = folder / file.file
        if path.name != file.file or not path.is_file():
            raise PlanError(f"{path} is missing; {REMEDY}")
        if path.stat().st_size != file.bytes:
            raise PlanError(f"{path} has not the {file.bytes} bytes of the plan; {REMEDY}")
