"""How an engine is sized and what it may do.

Purpose: the sizes, bounds and switches of one engine, checked. Knows: numbers. Does not know: what they are used for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engines.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How an engine is sized. All bounds are per engine unless they say otherwise."""

    slots: int = 2
    """Utterances spoken at once."""
    max_waiting: int = 8
    """Utterances admitted beyond those in slots."""
    positions: int | None = 1024
    """Rows (prompt and frames) of one utterance; they cost cache memory in every slot. None: all the bundle allows."""
    prefill_rows: int = 64
    """Rows of one piece of a prompt; between pieces the others go on."""
    talker_threads: int = 1
    """Processor threads of the frame graph."""
    codec_threads: int = 1
    """Processor threads of the codec graph."""
    spinning: bool = False
    """Let idle worker threads of a graph spin: a little faster, at the cost of the core."""
    codec_chunk_frames: int = 25
    """The most frames decoded at once."""
    codec_call_ms: float = 100.0
    """What one decoding should take at most, since it holds a cancelled slot and the others up; narrows blocks."""
    pcm_ring_s: float = 10.0
    """Sound that an utterance may be ahead of its reader, seconds."""
    underrun_margin_ms: float = 30.0
    """Sound that the block policy keeps in hand against uneven times."""
    runaway_loop_s: float = 4.0
    """How long an utterance may go round in circles before it counts as lost, seconds of sound; 0: for ever."""
    runaway_silence_s: float = 4.0
    """How long an utterance may be silent, seconds of sound; half as long before it was heard; 0: for ever."""
    comfortable_s: float = 2.0
    """Sound that a listener has in hand beyond which an utterance rests while others have less."""
    admission: bool = True
    """Hold real-time utterances to the number that this device can speak at once; without it, to `slots`."""
    codec_batching: bool = True
    """Decode several utterances in one call. This switch and the next ones are there to show what they bring."""
    async_chunks: bool = True
    """Decode while frames are still made; without it nothing is heard before an utterance is complete."""
    adaptive_chunks: bool = True
    """Choose the blocks by measured costs; without it `codec_chunk_frames` are gathered, fewer where time is short."""
    async_scheduling: bool | Literal["auto"] = "auto"
    """Launch the next step before the last one's codes are handled; "auto": where the device gains by it."""
    backend: str = "auto"
    """What runs the graphs: "tensorrt", "cuda", "cpu", or "auto", the best that works here."""
    precision: str = "auto"
    """Of TensorRT plans: "auto" is the bundle's own."""
    plans: str = ""
    """Directory of TensorRT plans; empty: the user's cache (`engines.plan_files.plan_cache`)."""
    verify: bool | None = None
    """Check the bundle's checksums at the start; None does for small bundles."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for sizes that cannot work."""
        least = {
            "slots": 1,
            "max_waiting": 0,
            "prefill_rows": 1,
            "talker_threads": 1,
            "codec_threads": 1,
            "codec_chunk_frames": 1,
            "underrun_margin_ms": 0,
            "runaway_loop_s": 0,
            "runaway_silence_s": 0,
        }
        for name, bound in least.items():
            if not getattr(self, name) >= bound:
                raise ValueError(f"{name} must be at least {bound}, not {getattr(self, name)}")
        for name in ("pcm_ring_s", "codec_call_ms"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")
        if self.positions is not None and self.positions < 1:
            raise ValueError(f"positions must be at least 1, not {self.positions}")


def rows_per_slot(manifest: Manifest, config: EngineConfig) -> int:
    """Rows of each slot's cache."""
    most = manifest.limits.max_positions
    return most if config.positions is None else min(config.positions, most)
