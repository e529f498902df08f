"""Who waits and who sits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from engines.errors import EngineBusyError, EngineClosedError
from engines.scheduler import Scheduler
from engines.utterance import LiveUtterance


@dataclass(eq=False)
class Person:
    """All the scheduler looks at."""

    ready: bool = True
    realtime: bool = True
    empty: bool = False


def person(ready: bool = True, realtime: bool = True, empty: bool = False) -> LiveUtterance:
    return cast("LiveUtterance", Person(ready, realtime, empty))


def test_in_order_of_arrival_lowest_slot_first() -> None:
    scheduler = Scheduler(2, 2)
    people = [person() for _ in range(4)]
    for someone in people:
        scheduler.enter(someone)
    assert scheduler.admit() == [(0, people[0]), (1, people[1])]
    assert scheduler.admit() == []
    assert scheduler.waiting() == people[2:]
    scheduler.leave(people[0])
    assert scheduler.admit() == [(0, people[2])]
    assert scheduler.seated() == [(0, people[2]), (1, people[1])]


def test_who_is_not_ready_lets_others_pass() -> None:
    scheduler = Scheduler(1, 2)
    slow, quick = person(ready=False), person()
    scheduler.enter(slow)
    scheduler.enter(quick)
    assert scheduler.admit() == [(0, quick)]
    scheduler.leave(quick)
    assert scheduler.admit() == []
    cast("Person", slow).ready = True
    assert scheduler.admit() == [(0, slow)]


def test_the_bound_counts_everyone() -> None:
    scheduler = Scheduler(1, 1)
    first, second = person(), person(ready=False)
    scheduler.enter(first)
    scheduler.admit()
    scheduler.enter(second)
    with pytest.raises(EngineBusyError, match="all 2 places"):
        scheduler.enter(person())
    scheduler.leave(second)
    scheduler.enter(person())


def test_leaving_twice_is_harmless() -> None:
    scheduler = Scheduler(1, 1)
    someone = person()
    scheduler.enter(someone)
    scheduler.leave(someone)
    scheduler.leave(someone)
    assert not scheduler.waiting()
    assert not scheduler.seated()


def test_closing_returns_everyone_and_keeps_the_first_reason() -> None:
    scheduler = Scheduler(1, 1)
    people = [person(), person()]
    for someone in people:
        scheduler.enter(someone)
    scheduler.admit()
    assert set(scheduler.close("broken")) == set(people)
    assert scheduler.close("closed") == []
    with pytest.raises(EngineClosedError, match="broken"):
        scheduler.enter(person())


def test_no_more_are_seated_in_real_time_than_the_device_holds() -> None:
    held = 1
    scheduler = Scheduler(3, 2, lambda _: held)
    people = [person() for _ in range(3)]
    hasty = [person(realtime=False) for _ in range(2)]
    for someone in (*people, *hasty):
        scheduler.enter(someone)
    assert scheduler.admit() == [(0, people[0]), (1, hasty[0]), (2, hasty[1])]
    scheduler.leave(hasty[0])
    assert scheduler.admit() == []
    with pytest.raises(EngineBusyError, match="holds 1 utterances in real time"):
        scheduler.enter(person())
    scheduler.enter(person(realtime=False))
    held = 2
    assert scheduler.admit() == [(1, people[1])]


def test_who_has_nothing_to_say_is_let_through() -> None:
    """It leaves at once, whatever the device holds."""
    scheduler = Scheduler(2, 2, lambda _: 1)
    people = [person(), person(), person(empty=True)]
    for someone in people:
        scheduler.enter(someone)
    assert scheduler.admit() == [(0, people[0]), (1, people[2])]
