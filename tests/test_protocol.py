"""The conversation as values: every order of things ends with one context.done, and with silence after it."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.block import BlockHeader
from app.messages import Describe, Limits, print_message
from app.protocol import Asked, Event, Fed, Refused, SpeechProtocol, Start, TokenShown, Told
from app.protocol_errors import ProtocolError
from app.protocol_table import REFUSALS, TRANSITIONS, State, Step

LIMITS = Limits(message_bytes=1000, contexts=3, text_characters=100, flushes=2, context_idle_s=60.0)
REPORT: dict[str, Any] = {
    "frames": 1, "audio_ms": 80.0, "first_audio_ms": 5.0, "engine_ms": 9.0, "underruns": 0
}  # fmt: skip


def say(kind: str, context: str | None = "a", **fields: Any) -> str:
    return json.dumps({"type": kind, **({} if context is None else {"context": context}), **fields})


def opened(*, raw: bool = False) -> tuple[SpeechProtocol, int]:
    protocol = SpeechProtocol(LIMITS, raw=raw)
    event = protocol.receive(say("context.start"))
    assert isinstance(event, Start)
    protocol.started(event.number, "pcm_s16le", 24000)
    return protocol, event.number


def refusal(event: Event) -> ProtocolError:
    assert isinstance(event, Refused)
    return event.error


def test_a_conversation() -> None:
    protocol, number = opened()
    assert (protocol.receive(say("text", text="Hel", sequence=1))) == Fed(number, "a", "Hel", 1)
    assert json.loads(protocol.ack(number, 1) or "") == {"type": "text.ack", "context": "a", "sequence": 1}
    assert (protocol.receive(say("flush"))) == Told(number, Step.FLUSH)
    first = protocol.audio(number, b"12", 1)
    assert first is not None
    assert first[12:] == b"12"
    assert BlockHeader.unpack(first) == BlockHeader(number=number, sequence=0, first_sample=0)
    assert json.loads(protocol.flushed(number) or "") == {"type": "flushed", "context": "a"}
    assert (protocol.receive(say("end"))) == Told(number, Step.END)
    second = protocol.audio(number, b"3456", 2, last=True)
    assert second is not None
    assert BlockHeader.unpack(second) == BlockHeader(number=number, sequence=1, first_sample=1, last=True)
    assert json.loads(protocol.done(number, "end", **REPORT) or "")["outcome"] == "end"
    assert protocol.contexts == 0
    assert protocol.audio(number, b"12", 1) is None
    assert protocol.done(number, "end", **REPORT) is None


def test_silence_after_cancel_but_one_last_word() -> None:
    protocol, number = opened()
    protocol.receive(say("cancel"))
    assert protocol.audio(number, b"12", 1) is None
    assert protocol.flushed(number) is None
    assert protocol.ack(number, 1) is None
    assert refusal(protocol.receive(say("text", text="x"))).code == "context_cancelled"
    assert (protocol.receive(say("cancel"))) == Told(number, Step.CANCEL)
    assert protocol.done(number, "cancelled", **REPORT) is not None
    assert refusal(protocol.receive(say("cancel"))).code == "unknown_context"


def test_text_after_the_end_is_refused() -> None:
    protocol, _ = opened()
    protocol.receive(say("end"))
    assert refusal(protocol.receive(say("text", text="x"))).code == "context_ended"
    assert refusal(protocol.receive(say("flush"))).code == "context_ended"


def test_a_refused_context_was_never_there() -> None:
    protocol = SpeechProtocol(LIMITS)
    start = protocol.receive(say("context.start"))
    assert isinstance(start, Start)
    assert json.loads(protocol.refuse(start.number, "busy", "later") or "")["code"] == "busy"
    assert protocol.done(start.number, "end", **REPORT) is None
    assert refusal(protocol.receive(say("text", text="x"))).code == "unknown_context"
    assert isinstance((protocol.receive(say("context.start"))), Start)


def test_a_context_that_started_is_not_refused_any_more() -> None:
    protocol, number = opened()
    assert protocol.refuse(number, "busy", "later") is None
    assert isinstance(protocol.receive(say("text", text="x")), Fed)


def test_no_playback_is_told_of_a_context_that_is_cancelled_or_gone() -> None:
    protocol, number = opened()
    assert json.loads(protocol.playback(number, "playing", 1.5, "hdmi") or "")["state"] == "playing"
    protocol.receive(say("cancel"))
    assert protocol.playback(number, "underrun", 2.5, "hdmi") is None
    protocol.done(number, "cancelled", **REPORT)
    assert protocol.playback(number, "underrun", 2.5, "hdmi") is None


def test_limits() -> None:
    protocol, _ = opened()
    assert refusal(protocol.receive(say("context.start"))).code == "context_exists"
    protocol.receive(say("context.start", "b"))
    protocol.receive(say("context.start", "c"))
    assert refusal(protocol.receive(say("context.start", "d"))).code == "too_many_contexts"
    protocol.receive(say("text", text="x" * 99))
    assert refusal(protocol.receive(say("text", text="xx"))).code == "text_too_long"
    assert isinstance((protocol.receive(say("text", text="x"))), Fed)
    protocol.receive(say("flush"))
    protocol.receive(say("flush"))
    assert refusal(protocol.receive(say("flush"))).code == "too_many_flushes"


def test_numbers_wrap_around_those_in_use() -> None:
    protocol, kept = opened()
    for turn in range(70_000):
        start = protocol.receive(say("context.start", "b"))
        assert isinstance(start, Start)
        assert 0 <= start.number <= 0xFFFF
        assert start.number != kept, turn
        protocol.refuse(start.number, "busy", "")


def test_a_number_is_not_given_again_soon() -> None:
    """Blocks of the context that had it may still be on their way through a client."""
    protocol = SpeechProtocol(LIMITS)
    numbers = set()
    for _ in range(100):
        start = protocol.receive(say("context.start"))
        assert isinstance(start, Start)
        numbers.add(start.number)
        protocol.refuse(start.number, "busy", "")
    assert len(numbers) == 100


def test_describe_and_token() -> None:
    protocol = SpeechProtocol(LIMITS)
    assert (protocol.receive(print_message(Describe()))) == Asked()
    event = protocol.receive(say("authorise", None, token="secret"))
    assert event == TokenShown("secret")
    assert "secret" not in repr(event)


def test_binary_is_refused() -> None:
    assert "text" in str(refusal(SpeechProtocol(LIMITS).receive(say("describe", None).encode())))


def test_raw_framing_takes_lines_cut_anywhere() -> None:
    talk = "\n".join([say("context.start"), say("text", text="ä"), "", say("end"), ""]).encode()
    for size in (1, 2, 7, len(talk)):
        protocol = SpeechProtocol(LIMITS, raw=True)
        events = []
        for at in range(0, len(talk), size):
            for event in map(protocol.receive, protocol.messages(talk[at : at + size])):
                if isinstance(event, Start):
                    assert protocol.started(event.number, "pcm_s16le", 24000) is None
                events.append(event)
        assert [type(event) for event in events] == [Start, Fed, Told]


def test_raw_framing_is_sound_and_nothing_else() -> None:
    protocol, number = opened(raw=True)
    assert protocol.audio(number, b"12", 1) == b"12"
    assert protocol.audio(number, b"", 0, last=True) is None
    assert refusal(protocol.receive(say("context.start", "b") + "\n")).code == "too_many_contexts"
    assert protocol.done(number, "end", **REPORT) is None
    assert protocol.contexts == 0


def test_raw_framing_bounds_its_line() -> None:
    protocol = SpeechProtocol(LIMITS, raw=True)
    assert protocol.messages(b"x" * 1000) == []
    [line] = protocol.messages(b"x")
    assert refusal(protocol.receive(line)).code == "bad_json"
    assert protocol.messages(b"") == []


def test_raw_framing_takes_a_text_message_without_a_line_end() -> None:
    protocol = SpeechProtocol(LIMITS, raw=True)
    [line] = protocol.messages(say("context.start"))
    assert isinstance(protocol.receive(line), Start)


def test_a_message_may_be_as_long_as_the_limit_says() -> None:
    protocol = SpeechProtocol(LIMITS)
    message = say("describe", None).ljust(LIMITS.message_bytes)
    assert protocol.receive(message) == Asked()
    assert "1000 bytes" in str(refusal(protocol.receive(message + " ")))


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", " \n"])
def test_raw_framing_needs_no_line_end_after_the_last_message(end: str, binary: bool) -> None:
    """A script that joins its lines, or a file whose last line has no end, would wait for an `end` that was sent."""
    talk = "\n".join([say("context.start"), say("text", text='a "}" } b'), say("end")])
    for size in (1, len(talk)) if binary else (len(talk),):
        protocol = SpeechProtocol(LIMITS, raw=True)
        parts = [talk[at : at + size] for at in range(0, len(talk), size)] + [end] * bool(end)
        lines = [line for part in parts for line in protocol.messages(part.encode() if binary else part)]
        assert [json.loads(line)["type"] for line in lines] == ["context.start", "text", "end"]


def test_the_table_is_whole() -> None:
    assert set(TRANSITIONS) == set(State)
    for state, steps in TRANSITIONS.items():
        refused = {Step.TEXT, Step.FLUSH, Step.END, Step.CANCEL} - set(steps)
        assert not refused or state in REFUSALS or state is State.DONE
    audible = {state for state, steps in TRANSITIONS.items() if Step.AUDIO in steps}
    assert audible == {State.OPEN, State.ENDED}


MOVES = st.sampled_from(
    [
        *("context.start", "text", "flush", "end", "cancel", "describe"),
        *("yes", "no", "ack", "audio", "flushed", "done"),
    ]
)


@settings(max_examples=300)
@given(st.lists(st.tuples(MOVES, st.sampled_from("abcd")), max_size=60), st.booleans())
def test_one_done_for_each_started_and_no_sound_after_it(moves: list[tuple[str, str]], raw: bool) -> None:
    protocol = SpeechProtocol(LIMITS, raw=raw)
    started: Counter[str] = Counter()
    done: Counter[str] = Counter()
    numbers: dict[str, int] = {}
    silent: set[str] = set()
    for move, name in moves:
        number = numbers.get(name, 60_000)
        if move == "yes":
            if protocol.started(number, "pcm_s16le", 24000) is not None:
                started[name] += 1
                silent.discard(name)
        elif move == "no":
            protocol.refuse(number, "busy", "")
        elif move == "ack":
            protocol.ack(number, 1)
        elif move == "audio":
            block = protocol.audio(number, b"xx", 1)
            assert block is None or (raw or name not in silent)
        elif move == "flushed":
            protocol.flushed(number)
        elif move == "done":
            if protocol.done(number, "end", **REPORT) is not None:
                done[name] += 1
                silent.add(name)
        else:
            fields = {"text": "abc"} if move == "text" else {}
            event = protocol.receive(say(move, None if move == "describe" else name, **fields))
            if isinstance(event, Start):
                numbers[name] = event.number
            if event == Told(number, Step.CANCEL):
                silent.add(name)
        assert protocol.contexts <= LIMITS.contexts
        assert all(0 <= started[key] - done[key] <= 1 for key in "abcd")


def test_twenty_thousand_messages() -> None:
    """Random and nearly right messages from a fixed seed; every one is an event, and every refusal has a name."""
    dice = random.Random(4)
    protocol = SpeechProtocol(LIMITS)
    kinds = ["context.start", "text", "flush", "end", "cancel", "describe", "authorise", "", "x"]
    seen: Counter[str] = Counter()
    for _ in range(20_000):
        raw: Any = {"type": dice.choice(kinds), "context": dice.choice(["a", "b", "c", "d", "", 3])}
        if dice.random() < 0.5:
            raw["text"] = dice.choice(["x", "", 5, None])
        if dice.random() < 0.1:
            raw[dice.choice("xyz")] = 1
        data: str | bytes = msgspec.json.encode(raw).decode()
        if dice.random() < 0.2:
            data = data[: dice.randrange(len(data))]
        elif dice.random() < 0.1:
            data = dice.randbytes(dice.randrange(60))
        event = protocol.receive(data)
        if isinstance(event, Refused):
            assert event.error.code
            assert str(event.error)
            seen[event.error.code] += 1
        elif isinstance(event, Start):
            protocol.started(event.number, "pcm_s16le", 24000)
        elif isinstance(event, Told) and event.step is Step.CANCEL:
            protocol.done(event.number, "cancelled", **REPORT)
    assert protocol.contexts <= LIMITS.contexts
    assert {"bad_json", "unknown_type", "bad_field", "unknown_field", "unknown_context", "context_exists"} <= set(seen)


@pytest.mark.parametrize("code", ["busy", "internal"])
def test_errors_carry_code_and_context(code: Any) -> None:
    said = SpeechProtocol(LIMITS).error(ProtocolError(code, "why", "a"))
    assert json.loads(said or "") == {"type": "error", "context": "a", "code": code, "message": "why"}
