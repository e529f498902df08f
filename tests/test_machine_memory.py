"""What the kernel says of memory, and what a control group leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.machine_memory import free_memory_bytes, machine_memory_bytes
from tests.jetson_tree import write

MEMINFO = "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:   4000 kB\nHugePages_Total:       0\n"


def test_this_machine_says_what_it_has() -> None:
    available, total = machine_memory_bytes()
    free = free_memory_bytes()
    assert available is not None
    assert total is not None
    assert free is not None
    assert 0 < available < total
    assert 0 < free <= available * 1.5, "another moment, but the same machine"


def test_lines_that_say_no_number_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", f"MemAvailable:\n\nMemTotal: many kB\n{MEMINFO}")
    assert machine_memory_bytes(tmp_path) == (4000 << 10, 8000 << 10)


def test_nothing_is_known_where_the_kernel_is_silent(tmp_path: Path) -> None:
    assert machine_memory_bytes(tmp_path) == (None, None)
    assert free_memory_bytes(tmp_path) is None


@pytest.mark.parametrize(
    ("limits", "free_kib"),
    [
        ({}, 4000),
        ({"a/b": "max", "a": "max"}, 4000),
        ({"a/b": "max", "a": "1024000"}, 900),
        ({"a/b": "512000", "a": "1024000"}, 400),
        ({"": "204800"}, 100),
        ({"a": "51200"}, 0),
        ({"c": "51200"}, 4000),
    ],
)
def test_the_tightest_group_above_a_process_counts(tmp_path: Path, limits: dict[str, str], free_kib: int) -> None:
    write(tmp_path, "proc/meminfo", MEMINFO)
    write(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    for group, limit in limits.items():
        write(tmp_path, f"sys/fs/cgroup/{group}/memory.max", f"{limit}\n")
        write(tmp_path, f"sys/fs/cgroup/{group}/memory.stat", "anon 102400\nfile 900000\n")
    assert machine_memory_bytes(tmp_path) == (4000 * 1024, 8000 * 1024)
    assert free_memory_bytes(tmp_path) == free_kib * 1024
