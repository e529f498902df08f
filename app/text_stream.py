"""The text of a context on its way from the socket to the session.

Purpose: `TextStream`: pieces, flush marks and the end go in without waiting, and come out as an async iterator; pieces
that pile up are joined. It holds no more text than the protocol lets a context have. Knows: asyncio, deadlines. Does
not know: messages, text rules, sound.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, NoReturn

from app.session import Mark
from engines.errors import SpeechError

_PIECE: Final = 512
"""Characters; some milliseconds of the text pool's time."""
_JOINED: Final = 4096
"""Pieces are joined up to this length."""
_YIELD_S: Final = 2.0
"""A writer who pauses for so long within a sentence keeps nobody else waiting: all of it that was there was heard."""


class ContextIdleError(SpeechError):
    """A context was left alone for too long."""


class TextStream:
    """One context's text; one reader."""

    def __init__(
        self,
        idle_s: float,
        last_activity: Callable[[], float],
        tell: Callable[[ContextIdleError], None] | None = None,
        wanted: Callable[[], bool] = lambda: False,
    ) -> None:
        """`last_activity`: when the context last did anything a listener can tell, by the loop's clock.

        `tell` is called when it is given up as idle, before anything is taken down. `wanted`: whether somebody waits
        for the place in the engine that the text so far holds.
        """
        self._loop = asyncio.get_running_loop()
        self._idle_s = idle_s
        self._last_activity = last_activity
        self._tell = tell
        self._wanted = wanted
        self._last_text_at = self._loop.time()
        self._pending: deque[str | Mark] = deque()
        self._ended = False
        self._changed = asyncio.Event()
        self.starved = False
        """The reader waits for text that has not come."""
        self._unspoken = False
        """Text came that is not known to have been spoken."""
        self._speaking_rest = False
        """It is being spoken, because no more came."""
        self.left_alone = False
        """It was given up as idle: what comes now would not be spoken."""

    def feed(self, text: str) -> None:
        """Append text."""
        if not text:
            return
        self._unspoken = True
        if self._pending and isinstance(last := self._pending[-1], str) and len(last) < _JOINED:
            self._pending[-1] = last + text
        else:
            self._pending.append(text)
        self._wake()

    def mark(self, mark: Mark) -> None:
        """Append a flush."""
        self._pending.append(mark)
        self._wake()

    def end(self) -> None:
        """No more text will come; idempotent."""
        self._ended = True
        self._wake()

    async def __aiter__(self) -> AsyncIterator[str | Mark]:
        while True:
            while self._pending:
                yield self._take()
            if self._ended:
                return
            self.starved = True
            try:
                await self._wait()
            finally:
                self.starved = False

    def _take(self) -> str | Mark:
        """The next piece: short, so that one long text does not keep all others from the text pool."""
        first = self._pending.popleft()
        if isinstance(first, str) and len(first) > _PIECE:
            self._pending.appendleft(first[_PIECE:])
            first = first[:_PIECE]
        return first

    async def _wait(self) -> None:
        """Until something has come; text that nothing followed for long is spoken. Raises `ContextIdleError`.

        With a timer rather than `asyncio.wait_for`, which before Python 3.12 loses a cancellation that comes together
        with what it waits for.
        """
        while not (self._pending or self._ended):
            left_s = self._idle_s
            if not self._speaking_rest:
                quiet_s = self._loop.time() - max(self._last_text_at, self._last_activity())
                left_s -= quiet_s
                if self._unspoken and (left_s <= 0.0 or (quiet_s >= _YIELD_S and self._wanted())):
                    self._unspoken, self._speaking_rest = False, True
                    self._pending.append(Mark(self._spoke_rest))
                    return
                if left_s <= 0.0:
                    self._give_up()
                if self._unspoken:
                    left_s = min(left_s, _YIELD_S)  # then it is asked again whether somebody waits
            self._changed.clear()
            timer = self._loop.call_later(left_s, self._changed.set)
            try:
                await self._changed.wait()
            finally:
                timer.cancel()

    def _give_up(self) -> NoReturn:
        self.left_alone = True
        error = ContextIdleError(f"no text came for {self._idle_s:g} s; send 'end' when the text is complete")
        if self._tell is not None:
            self._tell(error)
        raise error

    async def _spoke_rest(self) -> None:
        self._speaking_rest = False
        self._changed.set()

    def _wake(self) -> None:
        self._last_text_at = self._loop.time()
        self._changed.set()
