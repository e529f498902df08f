"""The async door: leases, the bridge from engine threads, and that a place is free only once the engine let go."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

from app.engine_client import EngineClient, Lease
from engines.contract import End, SpeechRequest
from engines.errors import EngineBusyError, RequestError, SpeechError
from tests.fake_engine import FakeEngine, sine

REQUEST = SpeechRequest()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


def test_sound_written_by_another_thread_arrives() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        speech = await EngineClient(engine, max_active=1, max_waiting=0).start(REQUEST)
        first = asyncio.ensure_future(speech.read(10_000))
        await asyncio.sleep(0)
        assert not first.done()
        thread = threading.Thread(target=engine.started[0].sound, args=(2,))
        thread.start()
        heard = await first
        thread.join()
        assert np.array_equal(heard, sine(2)[: len(heard)])
        ending = threading.Thread(target=engine.started[0].end)
        ending.start()
        rest = []
        while len(block := await speech.read(1000)):
            rest.append(block)
        ending.join()
        assert np.array_equal(np.concatenate([heard, *rest]), sine(2))
        assert (await speech.outcome()).end is End.END
        await speech.close()

    run(scenario())


def test_places_are_bounded_and_refused_beyond() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=1)
        await client.start(REQUEST)
        second = asyncio.ensure_future(client.start(REQUEST))
        await asyncio.sleep(0)
        assert (client.active, client.waiting) == (1, 1)
        with pytest.raises(EngineBusyError, match="try again"):
            await client.start(REQUEST)
        engine.started[0].end()
        await (await second).close()
        await asyncio.sleep(0)
        assert (client.active, client.waiting) == (0, 0)

    run(scenario())


def test_a_cancelled_utterance_keeps_its_place_until_the_engine_let_go() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True, slow_to_cancel=True)
        client = EngineClient(engine, max_active=1, max_waiting=0)
        speech = await client.start(REQUEST)
        closing = asyncio.ensure_future(speech.close())
        await asyncio.sleep(0)
        assert engine.started[0].cancelled
        assert client.active == 1
        with pytest.raises(EngineBusyError):
            await client.start(REQUEST)
        assert not closing.done()
        engine.started[0].end(End.CANCELLED)
        await closing
        assert client.active == 0
        await speech.close()
        assert client.active == 0

    run(scenario())


def test_who_gives_up_waiting_leaves_no_trace() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=2)
        await client.start(REQUEST)
        leaving = asyncio.ensure_future(client.start(REQUEST))
        staying = asyncio.ensure_future(client.start(REQUEST))
        await asyncio.sleep(0)
        leaving.cancel()
        engine.started[0].end()
        await staying
        assert leaving.cancelled()
        assert (client.active, client.waiting) == (1, 0)

    run(scenario())


def test_who_gives_up_just_after_its_turn_passes_it_on() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=2)
        first = await client.start(REQUEST)
        leaving = asyncio.ensure_future(client.start(REQUEST))
        staying = asyncio.ensure_future(client.start(REQUEST))
        await asyncio.sleep(0)
        client.give_back()  # the turn is given in this very step of the loop ...
        leaving.cancel()  # ... and its owner leaves before it could take it
        await staying
        assert (client.active, client.waiting) == (1, 0)
        del first

    run(scenario())


def test_a_refused_request_frees_its_place() -> None:
    async def scenario() -> None:
        engine = FakeEngine(refuse=RequestError("no such voice"))
        client = EngineClient(engine, max_active=1, max_waiting=0)
        for _ in range(3):
            with pytest.raises(RequestError, match="no such voice"):
                await client.start(REQUEST)
        assert client.active == 0

    run(scenario())


def test_failure_reaches_the_reader_and_the_outcome() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=0)
        speech = await client.start(REQUEST)
        engine.started[0].sound(1)
        engine.started[0].end(End.ERROR, "the device broke")
        assert len(await speech.read(5000)) == 1920
        with pytest.raises(SpeechError, match="the device broke"):
            await speech.read(5000)
        assert (await speech.outcome()).error == "the device broke"
        await speech.close()

    run(scenario())


def test_closing_an_utterance_cancels_it_and_waits_until_the_engine_let_go() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=0)
        speech = await client.start(REQUEST)
        assert client.active == 1
        await speech.close()
        assert engine.started[0].cancelled
        assert client.active == 0

    run(scenario())


def test_a_lease_given_back_twice_frees_one_place() -> None:
    async def scenario() -> None:
        client = EngineClient(FakeEngine(hold=True), max_active=3, max_waiting=0)
        for _ in range(2):
            await client.start(REQUEST)
        lease = Lease(client)
        lease.release()
        lease.release()
        assert client.active == 1

    run(scenario())


def test_an_engine_that_outlives_the_loop_is_not_disturbed() -> None:
    engine = FakeEngine(hold=True)

    async def scenario() -> None:
        await EngineClient(engine, max_active=1, max_waiting=0).start(REQUEST)

    run(scenario())
    for _ in range(2):
        engine.started[0].sound(1)  # a call back that failed would close the ring, with a traceback in the log
    engine.started[0].end()


def test_a_failure_nobody_waits_for_is_not_told_as_a_fault_of_the_loop() -> None:
    told: list[object] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=0)
        speech = await client.start(REQUEST)
        engine.started[0].outcome.set_exception(SpeechError("the device broke"))
        await asyncio.sleep(0)
        assert client.active == 0
        del speech
        engine.started.clear()
        gc.collect()

    run(scenario())
    assert told == []


def test_giving_up_on_an_outcome_changes_nothing() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        speech = await EngineClient(engine, max_active=1, max_waiting=0).start(REQUEST)
        impatient = asyncio.ensure_future(speech.outcome())
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        assert not engine.started[0].outcome.cancelled()
        engine.started[0].end()
        assert (await speech.outcome()).end is End.END
        await speech.close()

    run(scenario())


def test_an_engine_that_ends_after_the_loop_is_no_trouble() -> None:
    engine = FakeEngine(hold=True)

    async def scenario() -> None:
        await EngineClient(engine, max_active=1, max_waiting=0).start(REQUEST)

    run(scenario())
    engine.started[0].sound(1)
    engine.started[0].end()


def test_a_free_place_goes_to_the_owner_who_holds_fewest() -> None:
    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=2, max_waiting=8)
        first = await client.start(SpeechRequest(seed=1), "greedy")
        second = await client.start(SpeechRequest(seed=2), "greedy")
        waiting = [asyncio.ensure_future(client.start(SpeechRequest(seed=seed), "greedy")) for seed in (3, 4)]
        late = asyncio.ensure_future(client.start(SpeechRequest(seed=5), "modest"))
        await asyncio.sleep(0)
        await first.close()
        speech = await late
        assert [utterance.request.seed for utterance in engine.started] == [1, 2, 5]
        await second.close()
        await speech.close()
        for task in waiting:
            await (await task).close()
        assert (client.active, client.waiting) == (0, 0)

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_nothing_is_kept_of_an_owner_whose_utterances_are_over() -> None:
    """An owner is a client's connection: many come and go in a daemon's life."""

    class Owner:
        pass

    async def scenario() -> None:
        engine = FakeEngine(hold=True)
        client = EngineClient(engine, max_active=1, max_waiting=1)
        owner = Owner()
        gone = weakref.ref(owner)
        first = await client.start(REQUEST, owner)
        second = asyncio.ensure_future(client.start(REQUEST, owner))
        await asyncio.sleep(0)
        await first.close()
        await (await second).close()
        await asyncio.sleep(0)
        del owner, first, second
        engine.started.clear()
        gc.collect()
        assert gone() is None

    run(scenario())
