"""Run everything once before the first listener comes.

Purpose: touch every shape the engine will use, so that arenas have grown, weights are in memory, the block policy knows
what this machine can do, and admission what it can do in a crowd, when talker and codec work at the same time. Knows:
the talker's and the codec's runs. Does not know: utterances, the engine's threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Final

import numpy as np

from engines.admission import BLOCK_FRAMES
from engines.chunk_policy import ample, frames_within, widest_block
from engines.contract import Sampling
from engines.costs import CostModel
from engines.manifest import Manifest
from engines.sampling import resolve_sampling
from engines.stages import CodecStage, TalkerStage

_WIDER: Final = 1.5  # than a call may be by what is known now; calls may turn out cheaper
_TIMES: Final = 3  # that something is measured; the middle one counts
_LEAST_POSITIONS: Final = 2  # a prompt's row, and the step's
_CALLS: Final = (1, 4, 1)  # frames of the codec calls that tell what a wider one will take

Beside = Callable[[Callable[[], object]], AbstractContextManager[None]]


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Go on with `work` on another thread; what it raises is raised at the end."""
    enough = threading.Event()

    def go_on() -> None:
        while not enough.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(go_on)
        try:
            yield
        finally:
            enough.set()
        going.result()


def warm_up(
    talker: TalkerStage,
    codec: CodecStage,
    manifest: Manifest,
    costs: CostModel,
    call_ms: float,
    clock: Callable[[], float],
    beside: Beside = beside,
) -> None:
    """Run a full piece of a prompt, steps of 1 to all slots, and codec calls up to the widest block; all idle after.

    `call_ms`: what a codec call should take at most; `beside` does something at the same time. Raises `DeviceError`
    when a run fails. Nobody else may use `talker` and `codec` meanwhile.
    """
    crowd = _Crowd(talker, manifest)
    _warm_prompt(talker, manifest, costs, clock)
    crowd.sit_down()
    for many in range(talker.slots, 0, -1):  # alone last: that is what a first utterance will meet
        crowd.step(many)
    costs.step_took(_usually_ms(lambda: crowd.step(1), clock))
    _warm_codec(codec, manifest, costs, call_ms, clock)
    most = widest_block(costs.snapshot(), call_ms, codec.most_frames)
    codes = np.zeros((min(BLOCK_FRAMES, most), manifest.frame.codebooks), dtype=np.int32)
    codec.decode(0, codes)  # what is done once for a shape is not part of what is measured
    with beside(lambda: crowd.step(talker.slots)):
        costs.call_lasts(len(codes), _usually_ms(lambda: codec.decode(0, codes), clock))
    sizes = {talker.slots, *(1 << power for power in range(talker.slots.bit_length()))}  # admission reads between these
    alone_ms = {many: _usually_ms(partial(crowd.step, many), clock) for many in sizes}
    with beside(lambda: codec.decode(0, codes)):
        for many in sizes:
            costs.step_lasts(many, _usually_ms(partial(crowd.step, many), clock), alone_ms[many])
    for slot in range(talker.slots):
        talker.release(slot)


def _took_ms(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """How long it takes, milliseconds."""
    began = clock()
    work()
    return 1000.0 * (clock() - began)


def _usually_ms(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """How long it takes, milliseconds; a hiccup does not count."""
    return sorted(_took_ms(work, clock) for _ in range(_TIMES))[_TIMES // 2]


def _warm_codec(
    codec: CodecStage, manifest: Manifest, costs: CostModel, call_ms: float, clock: Callable[[], float]
) -> None:
    codec.begin(0)
    codec.decode(0, np.zeros((1, manifest.frame.codebooks), dtype=np.int32))
    for frames in (*_CALLS, codec.most_frames):
        most = widest_block(costs.snapshot(), call_ms, codec.most_frames)
        codes = np.zeros((min(frames, most), manifest.frame.codebooks), dtype=np.int32)
        costs.codec_took(len(codes), _took_ms(partial(codec.decode, 0, codes), clock))
    known = costs.snapshot()
    widest = 2.0 * max(ample(known), codec.most_frames)  # company doubles until a call is ample
    _touch_memory(codec, manifest, _WIDER * min(frames_within(known, call_ms), widest))


def _touch_memory(codec: CodecStage, manifest: Manifest, most: float) -> None:
    """Run the widest calls for several streams, `most` frames in all: memory comes now and not when someone waits.

    A first call of 8 by 10 frames took 285 ms instead of 95, in which the kernel gave 70 MB page by page (LOG,
    2026-11-20).
    """
    for many in (1 << power for power in range(1, codec.slots.bit_length())):
        frames = min(int(most / many), codec.most_frames)
        if frames:
            codec.decode_many(0, np.zeros((many, frames, manifest.frame.codebooks), dtype=np.int32))


def _warm_prompt(talker: TalkerStage, manifest: Manifest, costs: CostModel, clock: Callable[[], float]) -> None:
    rows = np.zeros((min(talker.piece_rows, talker.positions), manifest.talker.hidden), dtype=np.float32)
    sampling = resolve_sampling(Sampling(), 0, manifest.sampling)
    for measured in (False, True):
        talker.begin(0, sampling)
        took_ms = _took_ms(lambda: talker.prefill(0, rows, rows, last=True), clock)
        if measured:
            costs.prompt_took(len(rows), took_ms)


class _Crowd:
    """Everybody speaks, for ever: who has no position left begins anew."""

    def __init__(self, talker: TalkerStage, manifest: Manifest) -> None:
        self._talker = talker
        self._row = np.zeros((1, manifest.talker.hidden), dtype=np.float32)
        self._sampling = resolve_sampling(Sampling(), 0, manifest.sampling)

    def sit_down(self) -> None:
        """One row in every slot."""
        for slot in range(self._talker.slots):
            self._begin(slot)

    def step(self, many: int) -> None:
        """A step of the first so many, where there is room for one at all."""
        if self._talker.positions < _LEAST_POSITIONS:
            return
        for slot in range(many):
            if self._talker.length(slot) >= self._talker.positions:
                self._begin(slot)
        self._talker.step(list(range(many)))

    def _begin(self, slot: int) -> None:
        self._talker.begin(slot, self._sampling)
        self._talker.prefill(slot, self._row, self._row, last=True)
