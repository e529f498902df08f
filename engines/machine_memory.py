"""How much memory this machine has, and how much of it a program may still take.

Knows: the kernel's files on memory and control groups (version 2; proc(5), docs.kernel.org/admin-guide/cgroup-v2).
Does not know: what the memory is for, GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def machine_memory_bytes(root: Path = Path("/")) -> tuple[int | None, int | None]:
    """Available and all of the machine's; None where the kernel does not say."""
    found = _numbers(root / "proc/meminfo", 1024)
    return found.get("MemAvailable"), found.get("MemTotal")


def free_memory_bytes(root: Path = Path("/")) -> int | None:
    """What this process may still take: the machine's available memory, or less where a control group limits it."""
    available, _ = machine_memory_bytes(root)
    rooms = [*([] if available is None else [available]), *_group_rooms(root)]
    return min(rooms, default=None)


def _group_rooms(root: Path) -> Iterator[int]:
    """What is left in each control group with a limit, from this process's own upwards; caches count as free."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    top = root / "sys/fs/cgroup"
    own = [top / line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    for group in (group for place in own for group in (place, *place.parents) if group.is_relative_to(top)):
        try:
            limit = (group / "memory.max").read_text(encoding="ascii").strip()
        except OSError:
            continue
        if limit.isdecimal():
            yield max(0, int(limit) - _numbers(group / "memory.stat", 1).get("anon", 0))


def _numbers(path: Path, unit: int) -> dict[str, int]:
    """Lines of a name and a number, with or without a colon."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {word[0]: unit * int(word[1]) for word in words if len(word) > 1 and word[1].isdecimal()}
