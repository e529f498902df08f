"""A pause is told where the writer paused, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from app.pauses import Pause, with_pauses


async def written(queue: asyncio.Queue[str | None]) -> AsyncIterator[str]:
    while (item := await queue.get()) is not None:
        yield item


def test_what_comes_together_has_no_pause_inside() -> None:
    async def read() -> list[str | Pause]:
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        for item in ("one", "two", None):
            queue.put_nowait(item)
        return [item async for item in with_pauses(written(queue))]

    assert asyncio.run(read()) == ["one", "two"]


def test_a_pause_is_told_once_and_the_text_goes_on_behind_it() -> None:
    async def read() -> list[str | Pause]:
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        queue.put_nowait("one")
        found = []
        async for item in with_pauses(written(queue), soon_s=0.0):
            found.append(item)
            if item is Pause.PAUSE:
                queue.put_nowait("two" if len(found) == 2 else None)
        return found

    assert asyncio.run(read()) == ["one", Pause.PAUSE, "two", Pause.PAUSE]


def test_giving_up_ends_the_reader_of_the_source() -> None:
    async def read() -> bool:
        waiting, ended = asyncio.Event(), asyncio.Event()

        async def source() -> AsyncIterator[str]:
            try:
                yield "one"
                waiting.set()
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def reader() -> None:
            async for _ in with_pauses(source()):
                pass

        task = asyncio.ensure_future(reader())
        await waiting.wait()
        task.cancel()
        await asyncio.wait((task,))
        await ended.wait()
        return task.cancelled()

    assert asyncio.run(read())
