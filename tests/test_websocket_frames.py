"""Frames as bytes: a client's are masked and whole, the daemon's are taken as they come, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SERVER, Protocol
from websockets.streams import StreamReader

from app import websocket_frames as frames

PAYLOAD = st.one_of(st.binary(max_size=200), st.integers(0, 70_000).map(lambda size: b"x" * size))


@example(b"x" * 65_535, frames.BINARY)
@example(b"x" * 65_536, frames.BINARY)
@given(PAYLOAD, st.sampled_from([frames.TEXT, frames.BINARY, frames.PONG]))
def test_a_server_understands_what_a_client_sends(payload: bytes, kind: int) -> None:
    if kind == frames.PONG:
        payload = payload[:125]
    elif kind == frames.TEXT:
        payload = payload.decode("latin-1").encode()
    server = Protocol(SERVER)
    server.receive_data(frames.client_frame(kind, payload))
    [event] = server.events_received()
    assert isinstance(event, Frame)
    assert (event.opcode, event.data) == (Opcode(kind), payload)


@given(st.lists(PAYLOAD, max_size=4), st.lists(st.integers(1, 100_000), min_size=1, max_size=20))
def test_what_a_server_sends_is_taken_whole(payloads: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(Frame(Opcode.BINARY, payload).serialize(mask=False) for payload in payloads)
    held, at = bytearray(), 0
    taken: list[tuple[int, bytes]] = []
    while at < len(wire):
        size = cuts[len(taken) % len(cuts)]
        held += wire[at : at + size]
        at += size
        while (frame := frames.take_frame(held)) is not None:
            taken.append(frame)
    assert taken == [(frames.BINARY, payload) for payload in payloads]
    assert not held


@pytest.mark.parametrize("wire", [b"\x82\x81abcde", b"\x02\x01a", b"\xc2\x01a", b"\x82\x7f" + b"\x01" * 8])
def test_foreign_frames(wire: bytes) -> None:
    with pytest.raises(ValueError, match="daemon"):
        frames.take_frame(bytearray(wire))


def test_a_frame_may_be_as_long_as_the_bound() -> None:
    head = b"\x82\x7f" + frames.MOST_BYTES.to_bytes(8, "big")
    assert frames.take_frame(bytearray(head)) is None
    with pytest.raises(ValueError, match="daemon"):
        frames.take_frame(bytearray(b"\x82\x7f" + (frames.MOST_BYTES + 1).to_bytes(8, "big")))


def test_the_handshake_is_a_request() -> None:
    reader = StreamReader()
    reader.feed_data(frames.handshake("/v1/speak", "speakd.v1", b"a2V5"))
    parsing = Request.parse(reader.read_line)
    with pytest.raises(StopIteration) as ended:
        next(parsing)
    request = ended.value.value
    assert request.path == "/v1/speak"
    assert request.headers["Sec-WebSocket-Key"] == "a2V5"
    status, headers = frames.parse_head(b"HTTP/1.1 101 Switching\r\nA-b:  c \r\nD: e")
    assert (status, headers) == ("HTTP/1.1 101 Switching", {"a-b": "c", "d": "e"})


def test_reasons() -> None:
    assert frames.close_reason(b"") == (1005, "")
    assert frames.close_reason((1012).to_bytes(2, "big") + b"bye") == (1012, "bye")
