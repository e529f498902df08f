"""The daemon's hold on its player: a process that plays, and is started again when it broke.

Purpose: `PlayerProcess`: starts the player, sends it one playback at a time, and hands what it says to whoever plays.
Knows: processes, pipes. Does not know: contexts, whose turn it is, devices.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from app.children import ROOT, environment_for_children
from app.config import PlaybackConfig
from app.player_wire import (
    Cut,
    End,
    Ended,
    FromPlayer,
    Look,
    Play,
    Present,
    Sounding,
    Taken,
    ToPlayer,
    pack,
    pack_sound,
    read_from_player,
)
from engines.contract import Pcm

_BEGIN_S: Final = 60.0
"""A player that has not spoken by then does not work."""
_LOOK_AGAIN_S: Final = 1.0
_CUT_S: Final = 1.5
"""A player that has not fallen silent by then hangs, and is ended."""
_ASK_S: Final = 2.0
"""Between two looks whether a player that plays still lives: it may be silent for long, where the text or its place is
late, and is no different from one that was stopped or hangs in a sound library."""
_UNANSWERED: Final = 5
"""So many looks without any answer, and it is ended."""
_LEAVE_S: Final = 0.3
"""The same, when the daemon ends."""
_log: Final = structlog.stdlib.get_logger("speakd")


class PlayerProcess:
    """Belongs to the event loop. One playback at a time; `listener` hears of it."""

    def __init__(
        self, settings: PlaybackConfig, command: tuple[str, ...] = (sys.executable, "-m", "app.player")
    ) -> None:
        self._command = command
        self._settings = msgspec.json.encode(settings).decode()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None
        self._present = asyncio.Event()
        self._absence: str | None = "the loudspeaker is being opened"
        self._looked_at = 0.0
        self._listener: Callable[[Sounding | Taken | Ended], None] | None = None
        self._number = 0
        self._unanswered = 0
        self._closed = False

    def open(self) -> None:
        """Start it, in the background, where it does not run."""
        if self._process is None and self._opening is None and not self._closed:
            self._opening = asyncio.ensure_future(self._open())
            self._opening.add_done_callback(self._opened)

    async def running(self) -> None:
        """Start it again where it has ended, and wait until it has said how it is, or will not."""
        self.open()
        if self._opening is not None:
            await asyncio.wait((self._opening,))

    def absence(self) -> str | None:
        """Why nothing can be played, as far as known; None where something may. Looks again, for the next who asks."""
        if self._process is None:
            self.open()
        elif (
            self._absence is not None and time.monotonic() - self._looked_at > _LOOK_AGAIN_S and self._present.is_set()
        ):
            self._looked_at = time.monotonic()
            self._ask()
        return self._absence

    def play(self, sample_rate_hz: int, *, now: bool, listener: Callable[[Sounding | Taken | Ended], None]) -> None:
        """Begin a playback; the one before has ended. `listener` hears `Ended` once, whatever happens."""
        self._number += 1
        self._listener = listener
        if self._process is None:
            self._end("the player is not running; try again in a moment")
            return
        self._say(Play(number=self._number, sample_rate_hz=sample_rate_hz, now=now))
        asyncio.get_running_loop().call_later(_ASK_S, self._keep_asking, self._number)

    def sound(self, pcm: Pcm) -> None:
        """More of it; no more than was taken, and a little: that is what bounds the pipe."""
        self._write(pack_sound(pcm))

    def end(self) -> None:
        """No more sound; `Ended` follows when the last sample is out."""
        self._say(End(number=self._number))

    def cut(self) -> None:
        """Silence at once; `Ended` follows."""
        self._say(Cut(number=self._number))
        asyncio.get_running_loop().call_later(_CUT_S, self._kill_if_still, self._number)

    async def close(self) -> None:
        """End it; idempotent."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
        if self._process is not None:
            self._kill()
        if self._reading is not None:
            await asyncio.wait((self._reading,), timeout=_LEAVE_S)

    async def _open(self) -> None:
        self._present.clear()
        self._unanswered = 0
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            self._settings,
            cwd=ROOT,
            env=environment_for_children(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # sound libraries chatter
            start_new_session=True,  # the daemon decides when it ends, not a terminal
        )
        self._reading = asyncio.ensure_future(self._read(self._process))
        present = asyncio.ensure_future(self._present.wait())
        try:
            # Whichever comes first: one that ends without a word is not waited for, so that it can be started again.
            await asyncio.wait((present, self._reading), timeout=_BEGIN_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            present.cancel()
        if not self._present.is_set():
            self._kill()

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._opening = None
        if not opening.cancelled() and (error := opening.exception()) is not None:
            self._absence = f"the player cannot be started: {error}"

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hear the player out, until it ends."""
        assert process.stdout is not None
        try:
            while True:
                self._on(await read_from_player(process.stdout))
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, msgspec.MsgspecError):
            pass
        self._kill()  # it may have closed its pipe and live on
        code = await process.wait()
        self._process = None
        self._absence = "the player has ended"
        if not self._closed:
            _log.error("the player ended; it is started again when it is needed", exit_code=code)
        self._end("the player has ended; try again")

    def _on(self, message: FromPlayer) -> None:
        self._unanswered = 0
        if isinstance(message, Present):
            if message.absence != self._absence or not self._present.is_set():
                _log.info("loudspeaker", absence=message.absence)
            self._absence = message.absence
            self._looked_at = time.monotonic()
            self._present.set()
        elif message.number == self._number and self._listener is not None:
            listener = self._listener
            if isinstance(message, Ended):
                self._listener = None
            listener(message)

    def _end(self, error: str) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener(Ended(number=self._number, how="failed", error=error, underruns=0, gap_ms=0.0))

    def _keep_asking(self, number: int) -> None:
        """While it plays. What it owes counts by questions, not by time: this process may have stood still itself."""
        if number == self._number and self._listener is not None:
            self._ask()
            asyncio.get_running_loop().call_later(_ASK_S, self._keep_asking, number)

    def _ask(self) -> None:
        if self._unanswered >= _UNANSWERED:
            _log.error("the player does not answer, and is ended")
            self._kill()
            return
        self._unanswered += 1
        self._say(Look())

    def _kill_if_still(self, number: int) -> None:
        if number == self._number and self._listener is not None:
            _log.error("the player hangs in the sound device, and is ended")
            self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            # Not its own kill(), which could take the exit code that asyncio waits for.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def _say(self, message: ToPlayer) -> None:
        self._write(pack(message))

    def _write(self, data: bytes) -> None:
        if self._process is not None and self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(data)
