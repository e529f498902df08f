"""What the two loops need of whatever runs the graphs.

Purpose: the talker and the codec as the engine sees them; `engines.talker` and `engines.codec` run them through any
`Runner`, `engines.tensorrt_talker` and `engines.tensorrt_codec` on TensorRT. Knows: slots, rows, codes, samples.
Does not know: devices, threads, who is in a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from engines.contract import Pcm
from engines.graph_names import FrameInputs
from engines.manifest import Manifest
from engines.sampling import ResolvedSampling

F32 = npt.NDArray[np.float32]

FORBIDDEN: Final = -1e30
"""Added to the end code's logit: it never wins."""


class TalkerStage(Protocol):
    """Slots that are prefilled and stepped. One thread at a time.

    A frame is launched and later collected, in the order of launches; at most two are launched and not yet collected.
    What is written for a slot (`noise`, `text_row`, `forbid_end`) is for its next launch. `begin` and `prefill` want
    every frame collected.
    """

    slots: int
    positions: int
    """Rows (prompt and frames) of one slot's cache."""
    piece_rows: int
    """The most rows of one `prefill`."""

    def begin(self, slot: int, sampling: ResolvedSampling) -> None:
        """Make a slot ready for a new utterance."""
        ...

    def release(self, slot: int) -> None:
        """Bring a slot back to idle; also while a frame of it is launched, which is void then."""
        ...

    def length(self, slot: int) -> int:
        """Rows in the slot's cache."""
        ...

    def forbid_end(self, slot: int, forbidden: bool) -> None:
        """Whether the slot's next run must not pick the end code."""
        ...

    def noise(self, slot: int) -> F32:
        """Where to write the noise of the slot's next run, f32 [codebooks, K]."""
        ...

    def text_row(self, slot: int) -> F32:
        """Where to write the text row of the slot's next step, f32 [hidden]."""
        ...

    def codes(self, slot: int) -> npt.NDArray[np.int64]:
        """The slot's codes of the frame collected last, i64 [1, codebooks]; valid until the next launch."""
        ...

    def prefill(self, slot: int, codec_rows: F32, text_rows: F32, *, last: bool) -> bool:
        """Append a piece of a prompt; see `engines.talker.Talker.prefill`.

        Whether frame 0 was made with the `last` piece; where it was not, the slot's first step makes it, and has its
        text row already.
        """
        ...

    def launch(self, live: Sequence[int]) -> None:
        """Begin one frame of the slots in `live` (ascending)."""
        ...

    def collect(self) -> None:
        """Wait for the oldest frame launched; `codes` are its codes then. Raises `DeviceError` when it failed."""
        ...

    def step(self, live: Sequence[int]) -> None:
        """`launch` and `collect`."""
        ...

    def close(self) -> None:
        """Let everything go; nothing may be called afterwards."""
        ...


class CodecStage(Protocol):
    """Decoder states of `slots` streams. One thread at a time."""

    slots: int
    most_frames: int
    """The most frames of each slot in one call."""

    def begin(self, slot: int) -> None:
        """Start a new stream in a slot."""
        ...

    def decode(self, slot: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of a slot's stream; see `engines.codec.Codec.decode`."""
        ...

    def decode_many(self, low: int, codes: npt.NDArray[np.integer]) -> Pcm:
        """Decode the next frames of several streams; see `engines.codec.Codec.decode_many`."""
        ...

    def close(self) -> None:
        """Let everything go; nothing may be called afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Both, ready for an engine, which owns them from then on."""

    talker: TalkerStage
    codec: CodecStage
    close: Callable[[], None]
    """Lets go of what they share, after they were closed themselves."""
    ahead: bool = False
    """Whether frames are launched before the codes of the last one are handled."""
    sentence: str = ""
    """What people are told about it at the start."""
    falls_back: bool = False
    """Whether that is worth a warning: a GPU is here, and the best way to use it was looked for in vain."""


def frame_inputs(manifest: Manifest, slots: int) -> dict[str, tuple[tuple[int, ...], npt.DTypeLike]]:
    """Shape and type of what the host writes for each frame on any backend, by input name."""
    f32 = np.float32
    return {
        FrameInputs.TEXT_ROWS: ((slots, 1, manifest.talker.hidden), f32),
        FrameInputs.NOISE: ((slots, manifest.frame.codebooks, manifest.sampling.max_top_k), f32),
        FrameInputs.PAST_LENGTHS: ((slots,), np.int32),
        FrameInputs.END_BIAS: ((slots, 1), f32),
        FrameInputs.REPETITION_PENALTY: ((slots, 1), f32),
        FrameInputs.TEMPERATURE: ((slots, 2), f32),
        FrameInputs.TOP_K: ((slots, 2), np.int64),
        FrameInputs.TOP_P: ((slots, 2), f32),
    }


def write_sampling(arrays: Mapping[str, npt.NDArray[Any]], slot: int, sampling: ResolvedSampling) -> None:
    """Set how a slot's codes are picked, in the frame's inputs by name, each [slots, ...]."""
    arrays[FrameInputs.REPETITION_PENALTY][slot] = sampling.repetition_penalty
    for stage, numbers in enumerate((sampling.talker, sampling.predictor)):
        arrays[FrameInputs.TEMPERATURE][slot, stage] = numbers.temperature
        arrays[FrameInputs.TOP_K][slot, stage] = numbers.top_k
        arrays[FrameInputs.TOP_P][slot, stage] = numbers.top_p


def check_call(codec: CodecStage, low: int, many: int, frames: int) -> None:
    """Raise `ValueError` when a call of so many frames of each of so many slots, from `low` on, does not fit."""
    if not 1 <= frames <= codec.most_frames:
        raise ValueError(f"the codec takes 1 to {codec.most_frames} frames at once, not {frames}")
    if not 0 <= low < low + many <= codec.slots:
        raise ValueError(f"there are {codec.slots} slots, not {low} to {low + many - 1}")


def check_piece(talker: TalkerStage, slot: int, rows: int) -> None:
    """Raise `ValueError` when a piece of so many rows does not fit into a slot."""
    left = talker.positions - talker.length(slot)
    if not 1 <= rows <= talker.piece_rows or rows > left:
        raise ValueError(f"{rows} rows do not fit: pieces of {talker.piece_rows}, {left} positions left")
