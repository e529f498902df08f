"""Run everything once before the first listener comes.

Purpose: touch every shape the engine will use, so that arenas have grown, weights are in memory and the block policy
knows what this machine can do. Knows: the talker's and the codec's runs. Does not know: utterances, threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from engines.chunk_policy import widest_block
from engines.contract import Sampling
from engines.costs import CostModel
from engines.manifest import Manifest
from engines.sampling import resolve_sampling
from engines.stages import CodecStage, TalkerStage

_STEPS: Final = 3  # measured, the best of which counts, after a first one that does not
_CALLS: Final = (1, 4, 1)  # frames of the codec calls that tell what a wider one will take


def warm_up(
    talker: TalkerStage,
    codec: CodecStage,
    manifest: Manifest,
    costs: CostModel,
    call_ms: float,
    clock: Callable[[], float],
) -> None:
    """Run a full piece of a prompt, steps of 1 to all slots, and codec calls up to the widest block; all idle after.

    `call_ms`: what a codec call should take at most. Raises `DeviceError` when a run fails. Nobody else may use
    `talker` and `codec` meanwhile.
    """
    _warm_talker(talker, manifest, costs, clock)
    codec.begin(0)
    codec.decode(0, np.zeros((1, manifest.frame.codebooks), dtype=np.int32))
    for frames in (*_CALLS, codec.most_frames):
        most = widest_block(costs.snapshot(), call_ms, codec.most_frames)
        codes = np.zeros((min(frames, most), manifest.frame.codebooks), dtype=np.int32)
        began = clock()
        codec.decode(0, codes)
        costs.codec_took(len(codes), 1000.0 * (clock() - began))


def _warm_talker(talker: TalkerStage, manifest: Manifest, costs: CostModel, clock: Callable[[], float]) -> None:
    room = talker.positions - talker.slots - _STEPS * (talker.slots.bit_length() + 1)
    piece = np.zeros((max(1, min(talker.piece_rows, room)), manifest.talker.hidden), dtype=np.float32)
    for measured in (False, True):
        talker.begin(0, resolve_sampling(Sampling(), 0, manifest.sampling))
        began = clock()
        talker.prefill(0, piece, piece, last=True)
        if measured:
            costs.prompt_took(len(piece), 1000.0 * (clock() - began))
    for slot in range(talker.slots):
        rows = piece if slot == 0 else piece[:1]
        talker.begin(slot, resolve_sampling(Sampling(), 0, manifest.sampling))
        talker.prefill(slot, rows, rows, last=True)
    for many in range(talker.slots, 0, -1):  # alone last: that is what a first utterance will meet
        telling = many == talker.slots or many & (many - 1) == 0  # admission reads between these
        took_ms = []
        for _ in range(_STEPS + 1 if telling else 1):
            live = [slot for slot in range(many) if talker.length(slot) < talker.positions]
            if len(live) < many:
                break
            began = clock()
            talker.step(live)
            took_ms.append(1000.0 * (clock() - began))
        if took_ms[1:]:
            costs.step_lasts(many, min(took_ms[1:]))
            costs.step_took(min(took_ms[1:]))
    for slot in range(talker.slots):
        talker.release(slot)
