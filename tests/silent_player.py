"""A player that takes everything and plays nothing: it says what the test has it say.

Purpose: let tests of the daemon's own loudspeaker do without a process, a device and time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from app.config import PlaybackConfig
from app.player_process import PlayerProcess
from app.player_wire import Ended, Sounding, Taken
from engines.contract import Pcm

Listener = Callable[[Sounding | Taken | Ended], None]


class SilentPlayer(PlayerProcess):
    """The first sample is in the device at `at_s`, as soon as there is one; the rest the test says by `say`."""

    def __init__(self, at_s: float = 0.0) -> None:
        super().__init__(PlaybackConfig())
        self.at_s = at_s
        self.say: Listener = self._nobody
        self.given: list[int] = []
        self.closed = False

    async def running(self) -> None:
        """It needs no process."""

    def play(self, sample_rate_hz: int, *, now: bool, listener: Listener) -> None:
        self.say = listener
        self.given = []

    def sound(self, pcm: Pcm) -> None:
        self.given.append(len(pcm))
        if len(self.given) == 1:
            self.say(Sounding(number=1, device="hdmi", at_s=self.at_s))

    def end(self) -> None:
        self.over("played")

    def cut(self) -> None:
        self.over("cut")

    def over(self, how: Literal["played", "cut", "interrupted", "failed"], underruns: int = 0) -> None:
        error = "the device was unplugged" if how == "failed" else None
        self.say(Ended(number=1, how=how, error=error, underruns=underruns, gap_ms=100.0 * underruns))

    async def close(self) -> None:
        self.closed = True

    @staticmethod
    def _nobody(said: Sounding | Taken | Ended) -> None:
        raise AssertionError(f"nobody listens to {said}")
