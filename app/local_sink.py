"""A context's sound on the daemon's own loudspeaker.

Purpose: `LocalLoudspeaker`, the one player with its line, and `LocalSink`, the `Sink` of one context: it waits for its
turn before the engine begins, gives the player what that has room for, and accounts for what was heard. Knows: the
player, whose turn it is. Does not know: sockets, engines, devices.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from app.config import PlaybackConfig
from app.listening import Listening
from app.messages import PlaybackState
from app.player_process import PlayerProcess
from app.player_wire import Ended, Sounding, Taken
from app.playing_line import PlayingLine, Turn
from app.protocol_errors import ProtocolError
from app.sink import SinkError
from engines.contract import Pcm

_log: Final = structlog.stdlib.get_logger("speakd")
_AHEAD_MS: Final = 500
"""Sound on its way to the player, beyond what that holds itself."""
Tell = Callable[[PlaybackState, float, str | None], None]
"""Told of what happens, when (seconds of the monotonic clock), on which device."""


class LocalLoudspeaker:
    """One for a daemon; belongs to the event loop."""

    def __init__(self, settings: PlaybackConfig, player: PlayerProcess | None = None) -> None:
        self.player: Final = player or PlayerProcess(settings)
        self.line: Final = PlayingLine()

    def open(self) -> None:
        """Begin to look for a device."""
        self.player.open()

    def admit(self, *, allowed: bool) -> None:
        """Raises `ProtocolError` where this client may not play here, or nobody can."""
        if not allowed:
            reason = "this machine's loudspeaker is for clients of its Unix socket; see security.loudspeaker_over_tcp"
            raise ProtocolError("not_allowed", reason)
        absence = self.player.absence()
        if absence is not None:
            raise ProtocolError("no_loudspeaker", f"the daemon has no loudspeaker: {absence}")

    async def close(self) -> None:
        """Silence."""
        await self.player.close()


class LocalSink:
    """The sound of one context."""

    def __init__(
        self,
        loudspeaker: LocalLoudspeaker,
        sample_rate_hz: int,
        *,
        now: bool,
        interrupt: Callable[[], None],
        tell: Tell,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`interrupt` is called when somebody more urgent wants to be heard."""
        self.listening: Final = Listening(clock)
        self.first_sample_at: float | None = None
        """When the first sample was in the device."""
        self._line = loudspeaker.line
        self._player = loudspeaker.player
        self._rate_hz = sample_rate_hz
        self._now = now
        self._interrupt = interrupt
        self._tell = tell
        self._clock = clock
        self._turn: Turn | None = None
        self._turn_at = 0.0
        self._owed = 0
        """Samples the player was given and has not taken."""
        self._ended: Ended | None = None
        self._news = asyncio.Event()
        self._device: str | None = None
        self._underruns = 0

    @property
    def active_at(self) -> float:
        """Until when its turn and its sound have lasted, by the clock; now, while its first sample is still to come."""
        if self._ended is None and self.listening.audio_s and self.first_sample_at is None:
            return self._clock()
        return max(self._turn_at, (self.first_sample_at or 0.0) + self.listening.audio_s)

    async def begin(self) -> None:
        """Wait for the turn, and have the device opened while the first sound is being made."""
        if not self._line.free:
            self._tell("waiting", self._clock(), None)
        self._turn = await self._line.enter(urgent=self._now, interrupt=self._interrupt)
        try:
            await self._player.running()  # it may have ended with the one before, whom alone that concerns
        except BaseException:
            self._leave()
            raise
        self._turn_at = self._clock()
        self._player.play(self._rate_hz, now=self._now, listener=self._hear)

    async def write(self, pcm: Pcm) -> None:
        """Give it to the player when that has room. Raises `SinkError`."""
        while self._ended is None and self._owed > self._rate_hz * _AHEAD_MS // 1000:
            await self._wait()
        self._check()
        self._owed += len(pcm)
        self._player.sound(pcm)
        self.listening.sent(len(pcm) / self._rate_hz)

    async def finish(self) -> None:
        """Returns when the last sample has left the device. Raises `SinkError`."""
        if self._turn is None:
            return
        self._player.end()
        while self._ended is None:
            await self._wait()
        self._leave()
        self._check()

    async def stop(self) -> None:
        """Silence, at once; idempotent."""
        if self._turn is None:
            return
        if self._ended is None:
            self._player.cut()
        while self._ended is None:
            await self._wait()
        self._leave()

    async def abort(self) -> None:
        """The same."""
        await self.stop()

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()

    def _check(self) -> None:
        if self._ended is not None and self._ended.how == "failed":
            raise SinkError(self._ended.error or "the loudspeaker failed")

    def _leave(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            self._line.leave(turn)

    def _hear(self, said: Sounding | Taken | Ended) -> None:
        """What the player says."""
        if isinstance(said, Sounding):
            self.first_sample_at, self._device = said.at_s, said.device
            _log.debug("playing", at_ms=round(1000 * said.at_s, 3), device=said.device)
            self._tell("playing", said.at_s, said.device)
        elif isinstance(said, Taken):
            self._owed -= said.samples
            if said.underruns > self._underruns:
                self._underruns = said.underruns
                self._tell("underrun", self._clock(), self._device)
        else:
            self._ended = said
            self.listening.underruns, self.listening.gap_s = said.underruns, said.gap_ms / 1000
            self.listening.worst_gap_s = min(self.listening.worst_gap_s, self.listening.gap_s)
            if said.how == "interrupted":
                self._interrupt()
        self._news.set()
