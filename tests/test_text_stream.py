"""A context's text between the socket and the session."""

from __future__ import annotations

import asyncio

import pytest

from app.session import Mark
from app.text_stream import ContextIdleError, TextStream
from tests.daemon_rig import play


async def nothing() -> None: ...


def stream(idle_s: float = 60.0) -> TextStream:
    return TextStream(idle_s, lambda: 0.0)


def test_pieces_marks_and_the_end_in_order() -> None:
    async def scenario() -> None:
        text, mark = stream(), Mark(nothing)
        for piece in ("a", "b", "", "c"):
            text.feed(piece)
        text.mark(mark)
        text.feed("d")
        text.end()
        text.end()
        assert [item async for item in aiter(text)] == ["abc", mark, "d"]

    play(scenario())


def test_a_long_text_comes_in_short_pieces() -> None:
    async def scenario() -> None:
        text = stream()
        for _ in range(50):
            text.feed(300 * "x")
        text.feed("y")
        text.end()
        pieces = [str(item) async for item in aiter(text)]
        assert "".join(pieces) == 15_000 * "x" + "y"
        assert max(map(len, pieces)) <= 512

    play(scenario())


def test_it_waits_for_what_comes_later() -> None:
    async def scenario() -> None:
        text = stream()
        items = aiter(text)
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert text.starved
        text.feed("late")
        assert await waiting == "late"
        assert not text.starved

    play(scenario())


def test_a_cancel_that_comes_together_with_text_is_not_lost() -> None:
    """Found by the soak: the context then hung until its idle deadline."""

    async def scenario() -> None:
        for turns in range(6):
            text = stream()
            taken: list[object] = []

            async def take(text: TextStream = text, taken: list[object] = taken) -> None:
                async for item in aiter(text):
                    taken.append(item)

            task = asyncio.ensure_future(take())
            await asyncio.sleep(0)
            text.feed("a")
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    play(scenario(), 5)


def test_left_alone_for_too_long() -> None:
    async def scenario() -> None:
        text = stream(0.05)
        text.feed("a")
        items = aiter(text)
        assert await anext(items) == "a"
        rest = await anext(items)
        assert isinstance(rest, Mark), "what is held of the text is spoken first"
        ending = asyncio.ensure_future(anext(items))
        assert not (await asyncio.wait((ending,), timeout=0.1))[0], "nobody is sent away before that was heard"
        await rest.reached()
        with pytest.raises(ContextIdleError, match="send 'end'"):
            await ending

    play(scenario())


def test_a_writer_is_not_alone_from_the_last_text_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        now = [loop.time()]
        monkeypatch.setattr(loop, "time", lambda: now[0])
        text = stream(5.0)
        items = aiter(text)
        coming = asyncio.ensure_future(anext(items))
        for letter in "abc":
            now[0] += 4.0
            text.feed(letter)
            assert await coming == letter
            coming = asyncio.ensure_future(anext(items))
            await asyncio.sleep(0)
        now[0] += 4.0
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not coming.done()
        now[0] += 1.5
        assert isinstance(await coming, Mark)

    asyncio.run(scenario())


def test_a_listener_who_still_hears_is_not_alone() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        text = TextStream(0.05, lambda: min(loop.time(), began + 0.15))
        with pytest.raises(ContextIdleError):
            await anext(aiter(text))
        assert loop.time() - began >= 0.2 - 0.01

    play(scenario())
