"""The other side of text in another process: what the worker holds, and the messages between the two."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from app.text_messages import (
    ANSWERS,
    MOST_BYTES,
    REQUESTS,
    Begin,
    Done,
    Failed,
    Feed,
    Finish,
    Forget,
    Open,
    Pieces,
    receive,
    send,
)
from app.text_piece import TextPiece
from app.text_worker import TextWorker

TEXT = "Dr. Smith left at 7:05 p.m.; it cost $3.50. Was it far? It was 12 km."


def test_the_worker_holds_what_was_begun_and_nothing_more(tiny_bundle: Path) -> None:
    worker = TextWorker()
    assert worker.answer(Open(1, str(tiny_bundle))) == Done()
    for stream in range(50):
        assert worker.answer(Begin(stream, 1, "auto")) == Done()
        assert isinstance(worker.answer(Feed(stream, TEXT)), Pieces)
        assert worker.answer(Forget(stream)) == Done()
    assert not worker._streams
    answer = worker.answer(Finish(3))
    assert isinstance(answer, Failed)
    assert answer.kind == "internal"


def test_messages_are_bounded() -> None:
    left, right = socket.socketpair()
    with left, right:
        send(left, Feed(1, "caf\u00e9"))
        assert receive(right, REQUESTS) == Feed(1, "caf\u00e9")
        piece = TextPiece(ids=(1, 2), ends_segment=True, text="a", span=(0, 1))
        send(right, Pieces([piece]))
        assert receive(left, ANSWERS) == Pieces([piece])
        with pytest.raises(ValueError, match="are the most"):
            send(left, Feed(1, "x" * MOST_BYTES))
        left.sendall((MOST_BYTES + 1).to_bytes(4, "little"))
        with pytest.raises(ValueError, match="are the most"):
            receive(right, REQUESTS)
        left.sendall(b"\x05\x00")
        left.close()
        with pytest.raises(EOFError):
            receive(right, REQUESTS)
