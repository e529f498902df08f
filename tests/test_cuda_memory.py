"""Memory of the device: where tensors lie in it, and blocks that both sides share."""

from __future__ import annotations

import numpy as np
import pytest

from engines.cuda_memory import ALIGNMENT, SharedBlock, Want, allocate
from tests.fake_cuda import FakeCuda


def test_the_largest_is_allocated_first_and_all_of_it_aligned() -> None:
    cuda = FakeCuda()
    wants = {"small": Want((3,), np.int8), "large": Want((99, 7), np.float32), "middle": Want((5, 8), np.int64)}
    found = allocate(cuda, wants | {"nothing": Want((0,), np.uint8)})
    assert cuda.allocated == [11 * ALIGNMENT, 2 * ALIGNMENT, ALIGNMENT, ALIGNMENT]
    assert all(tensor.address % ALIGNMENT == 0 for tensor in found.values())
    assert [found[name].nbytes for name in wants] == [3, 99 * 7 * 4, 320]


@pytest.mark.parametrize("integrated", [True, False])
def test_a_shared_block_is_copied_only_where_it_must(integrated: bool) -> None:
    cuda = FakeCuda(integrated=integrated)
    block = SharedBlock(cuda, {"a": Want((3,), np.float32), "b": Want((2, 2), np.int64)})
    assert not block.arrays["b"].any()
    assert block.addresses["b"] == block.addresses["a"] + ALIGNMENT
    assert len(cuda.allocated) == (0 if integrated else 1)
    block.arrays["b"][1, 1] = 7
    stream = cuda.stream(urgent=False)
    block.send(stream)
    block.arrays["b"][1, 1] = 8
    block.fetch(stream)
    assert block.arrays["b"][1, 1] == (8 if integrated else 7)
    assert len(cuda.called("copy")) == (0 if integrated else 2)


def test_no_more_is_brought_back_than_was_asked_for() -> None:
    """The codec has room for all slots' largest blocks, of which a run mostly fills a part."""
    cuda = FakeCuda()
    block, stream = SharedBlock(cuda, {"a": Want((300,), np.float32)}), cuda.stream(urgent=False)
    block.fetch(stream, 8)
    block.fetch(stream)
    assert [call.about[2] for call in cuda.called("copy")] == [8, 5 * ALIGNMENT]
