"""Counting in and out, and the reasons for a no."""

from __future__ import annotations

import pytest

from app.gate import RESERVE, Gate
from app.protocol_errors import ProtocolError
from tests.daemon_rig import settings


def test_sockets_in_all_and_of_one_address() -> None:
    gate = Gate(settings(limits={"sockets": 3, "sockets_per_address": 2}))
    assert gate.enter_socket("a") is None
    assert gate.enter_socket("a") is None
    assert "your address" in (gate.enter_socket("a") or "")
    assert gate.enter_socket("b") is None
    assert "try again in" in (gate.enter_socket("c") or "")
    gate.leave_socket("a")
    assert gate.enter_socket("c") is None
    assert gate.sockets == 3
    assert gate.most_connections == 3 + RESERVE


def test_contexts_and_the_end() -> None:
    gate = Gate(settings(server={"max_contexts": 1}))
    gate.enter_context()
    with pytest.raises(ProtocolError, match="try again in") as busy:
        gate.enter_context()
    assert busy.value.code == "busy"
    gate.leave_context(100.0)
    assert gate.retry_s() > 5.0, "long contexts, long hint"
    gate.closing = True
    with pytest.raises(ProtocolError) as ending:
        gate.enter_context()
    assert ending.value.code == "shutting_down"


def test_nothing_is_kept_of_an_address_that_left() -> None:
    gate = Gate(settings())
    for address in ("a", "b"):
        gate.enter_socket(address)
        gate.enter_socket(address)
    gate.leave_socket("a")
    gate.leave_socket("a")
    assert list(gate._sockets) == ["b"]


def test_bounds_may_change_under_way() -> None:
    gate = Gate(settings(server={"max_contexts": 1}))
    gate.enter_context()
    gate.configure(settings(server={"max_contexts": 2}))
    gate.enter_context()
    assert gate.contexts == 2
