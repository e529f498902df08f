"""One making of a voice: where its results lie, how its time is shared out, who teaches.

Knows: names and numbers. Does not know: stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from export.train.sampling_plan import Mixture
from export.train.shape import VoiceShape

SHARES = {
    "teacher": 0.13, "codec": 0.26, "codes": 0.04, "talker": 0.35, "own past": 0.02, "foretold": 0.03, "decoder": 0.12,
    "polish": 0.03,
}  # fmt: skip
SHARD = 100  # texts
TEACHERS = {"anna": "festival", "robert": "flite"}
MIX = Mixture(joined=0.4, cut=0.25)
FULL_STEPS_S = 2400.0
"""Budget from which on a processor's training steps have their full size; see `Job.step_share`."""
STREAMING = 0.4  # share of examples in the streaming-text layout


@dataclass(frozen=True)
class Job:
    """One training: where, how long [s], who speaks, from which seed, on which device."""

    folder: Path
    budget: float
    speakers: tuple[str, ...] = ("anna", "robert")
    seed: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    shape: VoiceShape = field(default_factory=VoiceShape)
    report: Callable[[str], None] = print
    longest_hours: float = 20.0

    def seconds(self, stage: str) -> float:
        """Budget of a stage."""
        return self.budget * SHARES[stage]

    @property
    def step_share(self) -> float:
        """How large training steps are, of full ones: where time is for few, more and smaller ones teach more."""
        return 1.0 if self.device.type == "cuda" else min(1.0, max(0.25, self.budget / FULL_STEPS_S))

    def sized(self, full: int) -> int:
        """What a step of this budget has of something that a full one has `full` of."""
        return max(1, round(full * self.step_share))

    @property
    def mixture(self) -> Mixture:
        """What a step of the talker sees; joined utterances are for those who have time to learn single ones."""
        return replace(MIX, joined=MIX.joined * self.step_share, step_frames=self.sized(MIX.step_frames))

    @property
    def frame_seconds(self) -> float:
        """Length of a frame."""
        return self.shape.frame_samples / self.shape.sample_rate
