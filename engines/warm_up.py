"""Run everything once before the first listener comes.

Purpose: touch every shape the engine will use, so that arenas have grown, weights are in memory and the block policy
knows what this machine can do. Knows: the talker's and the codec's runs. Does not know: utterances, threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from engines.codec import Codec
from engines.contract import Sampling
from engines.costs import CostModel
from engines.manifest import Manifest
from engines.sampling import resolve_sampling
from engines.talker import Talker

_STEPS: Final = 3  # measured, after a first one that is not


def warm_up(talker: Talker, codec: Codec, manifest: Manifest, costs: CostModel, clock: Callable[[], float]) -> None:
    """Run prompts, steps of 1 to all slots, and codec calls of 1 frame and of a full block; all slots are idle after.

    Raises `DeviceError` when a run fails. Nobody else may use `talker` and `codec` meanwhile.
    """
    _warm_talker(talker, manifest, costs, clock)
    for frames in (1, codec.most_frames, 1):
        codec.begin(0)
        codes = np.zeros((frames, manifest.frame.codebooks), dtype=np.int32)
        codec.decode(0, codes)
        began = clock()
        codec.decode(0, codes)
        costs.codec_took(frames, 1000.0 * (clock() - began))


def _warm_talker(talker: Talker, manifest: Manifest, costs: CostModel, clock: Callable[[], float]) -> None:
    rows = max(1, min(talker.piece_rows, talker.positions - (_STEPS + 1) * talker.slots))
    piece = np.zeros((rows, manifest.talker.hidden), dtype=np.float32)
    for slot in range(talker.slots):
        talker.begin(slot, resolve_sampling(Sampling(), 0, manifest.sampling))
        talker.prefill(slot, piece, piece, last=False)
        talker.release(slot)
        talker.prefill(slot, piece, piece, last=True)
    for many in range(talker.slots, 0, -1):  # alone last: that is what a first utterance will meet
        live = [slot for slot in range(many) if talker.length(slot) < talker.positions]
        for measured in range(_STEPS + 1 if many == 1 else 1):
            if not live or talker.length(live[0]) >= talker.positions:
                break
            began = clock()
            talker.step(live)
            if measured:
                costs.step_took(1000.0 * (clock() - began))
    for slot in range(talker.slots):
        talker.release(slot)
