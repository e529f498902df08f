"""The only door between the event loop and the engine's threads.

Purpose: `EngineClient` admits utterances by lease and hands out `Speech`, an utterance seen from the loop. A lease is
bounded in number, refused beyond a bounded queue, and given back once, when the engine has said what became of the
utterance: a listener who left frees nothing before the engine has really let go.
Knows: asyncio and the engine's contract. Does not know: text, sinks, tensors, how the engine works inside.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol

from engines.contract import Outcome, Pcm, SpeechRequest, Utterance, VoiceInfo
from engines.errors import EngineBusyError, EngineClosedError


class Engine(Protocol):
    """What this door needs of an engine; `engines.engine.SpeechEngine` has it."""

    @property
    def info(self) -> VoiceInfo:
        """What the voice can do."""
        ...

    def start(self, request: SpeechRequest) -> Utterance:
        """Begin an utterance; must not wait for the device. Raises `RequestError`, `EngineClosedError`."""
        ...


class Lease:
    """The right to one utterance; giving it back a second time does nothing."""

    def __init__(self, client: EngineClient, owner: object = None) -> None:
        self._client: EngineClient | None = client
        self._owner = owner

    def release(self) -> None:
        """Give the place back. On the loop's thread only."""
        client, self._client = self._client, None
        if client is not None:
            client.give_back(self._owner)


class Speech:
    """One utterance, on the event loop; to be closed by whoever began it."""

    def __init__(self, utterance: Utterance, lease: Lease) -> None:
        self._loop = asyncio.get_running_loop()
        self._utterance = utterance
        self._lease = lease
        self._readable = asyncio.Event()
        self._ended: asyncio.Future[Outcome] = self._loop.create_future()
        utterance.pcm.on_readable(lambda: self._from_engine_thread(self._readable.set))
        utterance.outcome.add_done_callback(lambda future: self._from_engine_thread(lambda: self._end(future)))

    def feed(self, ids: tuple[int, ...]) -> None:
        """Append text ids. Raises `RequestError`."""
        self._utterance.feed(ids)

    def end_of_text(self) -> None:
        """No more text will come."""
        self._utterance.end_of_text()

    def cancel(self) -> None:
        """Stop at the next frame; `outcome` follows."""
        self._utterance.cancel()

    @property
    def buffered_samples(self) -> int:
        """Sound that was made and not yet read."""
        return self._utterance.pcm.statistics().used

    async def read(self, limit: int) -> Pcm:
        """Wait for sound and take at most `limit` samples; an empty array is the end. Raises `SpeechError`."""
        while True:
            self._readable.clear()
            pcm = self._utterance.pcm.read_nowait(limit)
            if pcm is not None:
                return pcm
            await self._readable.wait()

    async def outcome(self) -> Outcome:
        """Wait for what became of the utterance; any number of tasks may wait, and giving up changes nothing."""
        return await asyncio.shield(self._ended)

    async def close(self) -> None:
        """Cancel what still goes on and wait until the engine has let go; idempotent."""
        if not self._ended.done():
            self._utterance.cancel()
        await asyncio.wait((self._ended,))
        self._utterance.pcm.on_readable(None)

    def _from_engine_thread(self, action: Callable[[], None]) -> None:
        """Hand an action to the loop; a loop that has closed has nobody left to tell."""
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            if not self._loop.is_closed():
                raise

    def _end(self, future: Future[Outcome]) -> None:
        self._lease.release()
        self._readable.set()
        if self._ended.done():
            return
        error = EngineClosedError("the engine gave the utterance up") if future.cancelled() else future.exception()
        if error is not None:
            self._ended.set_exception(error)
            self._ended.exception()  # a failure nobody waits for is not worth a warning
        else:
            self._ended.set_result(future.result())


class EngineClient:
    """Admits at most `max_active` utterances; `max_waiting` more wait in order; beyond that, refuses."""

    def __init__(self, engine: Engine, *, max_active: int, max_waiting: int) -> None:
        self._engine: Final = engine
        self._max_active = max_active
        self._max_waiting = max_waiting
        self.active = 0
        """Utterances the engine has not let go of."""
        self._waiting: deque[_Turn] = deque()
        self._shares: Counter[object] = Counter()
        """Places each owner holds."""

    @property
    def info(self) -> VoiceInfo:
        """What the voice can do."""
        return self._engine.info

    @property
    def waiting(self) -> int:
        """Callers waiting for a place."""
        return len(self._waiting)

    async def start(self, request: SpeechRequest, owner: object = None) -> Speech:
        """Wait for a place and begin an utterance. Of many owners, who holds fewest places gets a free one first.

        Raises `EngineBusyError` where even the queue is full, and whatever the engine finds wrong with the request.
        """
        lease = await self._admit(owner)
        try:
            return Speech(self._engine.start(request), lease)
        except BaseException:
            lease.release()
            raise

    async def _admit(self, owner: object) -> Lease:
        if self.active < self._max_active and not self._waiting:
            self.active += 1
            self._shares[owner] += 1
            return Lease(self, owner)
        if len(self._waiting) >= self._max_waiting:
            raise EngineBusyError(
                f"{self.active} utterances are being spoken and {self._max_waiting} wait; try again in a moment"
            )
        turn = _Turn(asyncio.get_running_loop().create_future(), owner)
        self._waiting.append(turn)
        try:
            await turn.come
        except asyncio.CancelledError:
            if turn.come.done() and not turn.come.cancelled():
                self.give_back(owner)
            else:
                with contextlib.suppress(ValueError):  # `give_back` may have passed over it already
                    self._waiting.remove(turn)
            raise
        return Lease(self, owner)

    def give_back(self, owner: object = None) -> None:
        """Free one place, or hand it to whoever is next. Called by `Lease.release` alone."""
        self._shares[owner] -= 1
        if not self._shares[owner]:
            del self._shares[owner]
        while self._waiting:
            turn = min(self._waiting, key=lambda waiting: self._shares[waiting.owner])
            self._waiting.remove(turn)
            if not turn.come.done():
                self._shares[turn.owner] += 1
                turn.come.set_result(None)
                return
        self.active -= 1


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A caller in the line."""

    come: asyncio.Future[None]
    owner: object
