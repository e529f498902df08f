"""One at a time, in the order in which they came; somebody urgent interrupts, and goes before those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from app.playing_line import PlayingLine, Turn
from tests.daemon_rig import play


class People:
    """Those in a line, by name, and what happened to them."""

    def __init__(self) -> None:
        self.line = PlayingLine()
        self.playing: list[str] = []
        self.interrupted: list[str] = []
        self.turns: dict[str, Turn] = {}

    async def come(self, name: str, *, urgent: bool = False) -> asyncio.Task[None]:
        async def wait() -> None:
            turn = await self.line.enter(urgent=urgent, interrupt=self._interrupt(name))
            self.turns[name] = turn
            self.playing.append(name)

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        return task

    async def leave(self, name: str) -> None:
        self.line.leave(self.turns[name])
        self.line.leave(self.turns[name])
        await asyncio.sleep(0)

    def _interrupt(self, name: str) -> Callable[[], None]:
        return lambda: self.interrupted.append(name)


def test_in_order() -> None:
    async def scenario() -> None:
        people = People()
        assert people.line.free
        for name in "abc":
            await people.come(name)
        assert not people.line.free
        for name in "abc":
            assert people.playing[-1] == name
            await people.leave(name)
        assert people.line.free
        assert people.interrupted == []

    play(scenario())


def test_somebody_urgent_goes_first_and_the_others_keep_their_order() -> None:
    async def scenario() -> None:
        people = People()
        for name in "abc":
            await people.come(name)
        await people.come("X", urgent=True)
        assert people.interrupted == ["a"]
        await people.come("Y", urgent=True)
        assert people.interrupted == ["a", "a", "X"], "the one who waits would be interrupted at once anyway"
        for name in "aXYbc":
            assert people.playing[-1] == name
            await people.leave(name)

    play(scenario())


def test_who_gives_up_is_not_waited_for() -> None:
    async def scenario() -> None:
        people = People()
        await people.come("a")
        gone, also_gone = await people.come("b"), await people.come("c")
        await people.come("d")
        gone.cancel()
        await asyncio.wait((gone,))
        assert people.line.waiting == 2
        also_gone.cancel()  # it has not woken yet when its turn comes
        await people.leave("a")
        assert people.playing == ["a", "d"]
        assert people.line.waiting == 0

    play(scenario())


@given(st.lists(st.tuples(st.sampled_from(["come", "urgent", "leave", "give up"]), st.integers(0, 9)), max_size=60))
def test_there_is_never_more_than_one(moves: list[tuple[str, int]]) -> None:
    async def scenario() -> None:
        line = PlayingLine()
        inside: list[Turn] = []
        waiting: list[asyncio.Task[None]] = []

        async def enter(urgent: bool) -> None:
            inside.append(await line.enter(urgent=urgent, interrupt=lambda: None))

        for move, which in moves:
            if move in {"come", "urgent"}:
                waiting.append(asyncio.ensure_future(enter(move == "urgent")))
            elif move == "leave" and inside:
                line.leave(inside.pop())
            elif move == "give up" and waiting:
                waiting.pop(which % len(waiting)).cancel()
            if which % 2:
                await asyncio.sleep(0)
                assert len(inside) <= 1
        while True:
            for _ in range(3):
                await asyncio.sleep(0)
            assert len(inside) <= 1
            if not inside:
                break
            line.leave(inside.pop())
        assert line.free
        assert line.waiting == 0
        await asyncio.gather(*waiting, return_exceptions=True)

    play(scenario())
