"""Messages and block headers: parse what was printed, refuse everything else by name."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.block import HEADER, BlockHeader
from app.messages import AnyClientMessage, AnyServerMessage, parse_client, parse_server, print_message
from app.protocol_errors import Code, ProtocolError

CODES = frozenset(get_args(Code))
NUMBER = st.integers(0, 0xFFFF)
WORD = st.integers(0, 0xFFFFFFFF)


def _of(info: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911
    """Anything a type of a message may hold, by its bounds."""
    inspect = msgspec.inspect
    if isinstance(info, inspect.UnionType):
        return st.one_of(*map(_of, info.types))
    if isinstance(info, inspect.NoneType):
        return st.none()
    if isinstance(info, inspect.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, inspect.BoolType):
        return st.booleans()
    if isinstance(info, inspect.StrType):
        letters = st.characters(codec="utf-8")
        return st.text(letters, min_size=info.min_length or 0, max_size=min(info.max_length or 20, 40))
    if isinstance(info, inspect.IntType):
        low = info.ge if info.ge is not None else -1000
        high = info.le if info.le is not None else info.lt - 1 if info.lt is not None else 1 << 40
        return st.integers(low, high)
    if isinstance(info, inspect.FloatType):
        least: float = info.ge if info.ge is not None else info.gt if info.gt is not None else 0.0
        return st.floats(least, info.le if info.le is not None else 1e6, exclude_min=info.gt is not None)
    if isinstance(info, inspect.ListType):
        return st.lists(_of(info.item_type), max_size=3)
    assert isinstance(info, inspect.StructType), info
    return st.builds(info.cls, **{field.name: _of(field.type) for field in info.fields})


def any_of(union: Any) -> st.SearchStrategy[Any]:
    return st.one_of(*(_of(msgspec.inspect.type_info(kind)) for kind in get_args(union)))


@given(any_of(AnyClientMessage))
def test_client_messages_come_back(message: Any) -> None:
    assert parse_client(print_message(message)) == message


@given(any_of(AnyServerMessage))
def test_server_messages_come_back(message: Any) -> None:
    assert parse_server(print_message(message)) == message


@given(NUMBER, WORD, WORD, st.booleans(), st.binary(max_size=9))
def test_headers_come_back(number: int, sequence: int, sample: int, last: bool, payload: bytes) -> None:
    header = BlockHeader(number=number, sequence=sequence, first_sample=sample, last=last)
    packed = header.pack()
    assert len(packed) == 12 == HEADER.size
    assert BlockHeader.unpack(packed + payload) == header


def test_the_header_is_as_documented() -> None:
    header = BlockHeader(number=0x0201, sequence=0x06050403, first_sample=0x0A090807, last=True)
    assert header.pack() == bytes([1, 1, *range(1, 11)])


@pytest.mark.parametrize("block", [b"", b"\x01" * 11, bytes(12), b"\x02" + bytes(11), b"\x01\x02" + bytes(10)])
def test_foreign_blocks_are_refused(block: bytes) -> None:
    with pytest.raises(ProtocolError):
        BlockHeader.unpack(block)


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        ("", "bad_json", "one JSON object"),
        ("[]", "bad_json", "must be a JSON object"),
        ("3", "bad_json", "must be a JSON object"),
        ('{"type":"describe"', "bad_json", "one JSON object"),
        ('{"type":"describe"} {}', "bad_json", "one JSON object"),
        (b"\xff\xfe{}", "bad_json", "one JSON object"),
        ("[" * 100_000, "bad_json", "one JSON object"),
        ("{}", "unknown_type", "context.start, text, flush, end, cancel, describe"),
        ('{"type":"shout","context":"a"}', "unknown_type", "context.start"),
        ('{"type":7}', "unknown_type", "context.start"),
        ('{"type":"text","context":"a","txt":"b"}', "unknown_field", "takes: type, context, text, sequence"),
        ('{"type":"context.start","context":"a","format":{"codec":"pcm"}}', "unknown_field", "encoding, sample_rate"),
        ('{"type":"context.start","context":"a","sampling":{"topk":1}}', "unknown_field", "top_k"),
        ('{"type":"text","context":"a"}', "bad_field", "text"),
        ('{"type":"text","context":"","text":"b"}', "bad_field", "context"),
        (f'{{"type":"end","context":"{65 * "a"}"}}', "bad_field", "length <= 64"),
        ('{"type":"text","context":"a","text":"b","sequence":-1}', "bad_field", "sequence"),
        ('{"type":"context.start","context":"a","pace":"slow"}', "bad_field", "realtime or fast"),
        ('{"type":"context.start","context":"a","play":"far"}', "bad_field", "may be local"),
        ('{"type":"context.start","context":"a","sampling":{"top_p":0}}', "bad_field", "sampling.top_p"),
        ('{"type":"context.start","context":"a","sampling":{"temperature":1e999}}', "bad_json", ""),
        ('{"type":"context.start","context":"a","sampling":{"seed":99999999999999999999999}}', "bad_field", "seed"),
    ],
)
def test_refusals_say_how_to_mend_it(data: str | bytes, code: str, says: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_client(data)
    assert caught.value.code == code
    assert says in str(caught.value)


def test_a_missing_field_is_named_alone() -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_client('{"type":"text","context":"a"}')
    assert str(caught.value) == "text: Object missing required field `text`"


def test_a_refusal_names_the_context_where_it_can() -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_client('{"type":"text","context":"mine","text":3}')
    assert caught.value.context == "mine"


@pytest.mark.parametrize("name", ["", 65 * "a"])
def test_a_refusal_does_not_give_back_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_client(f'{{"type":"end","context":"{name}"}}')
    assert caught.value.context is None


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00", "a\\ud83d b"])
def test_lone_surrogates_are_no_text(half: str) -> None:
    """JavaScript's `slice` cuts a character in two; what was lost with it should be found without a debugger."""
    with pytest.raises(ProtocolError, match="cut in two") as caught:
        parse_client(f'{{"type":"text","context":"a","text":"{half}"}}')
    assert (caught.value.code, caught.value.context) == ("bad_json", "a")
    with pytest.raises(ProtocolError, match="cut in two") as caught:
        parse_client(f'{{"type":"end","context":"{half}"}}')
    assert caught.value.context is None
    parse_client('{"type":"text","context":"a","text":"\\ud83d\\ude00"}')
    with pytest.raises(ProtocolError):
        parse_client('{"type":"text","context":"a","text":"\ud800"}')


def test_a_token_is_never_shown() -> None:
    assert "secret" not in repr(parse_client('{"type":"authorise","token":"secret"}'))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["type", "context", "text", "sequence", "voice", "format", "encoding", "sampling", "seed", "pace", "x"]
)
TYPES = st.sampled_from(["context.start", "text", "flush", "end", "cancel", "describe", "authorise", "ready"])
NEARLY = st.dictionaries(FIELDS, JSON | TYPES, max_size=5)


@settings(max_examples=400)
@given(st.binary(max_size=200) | st.text(max_size=200) | (JSON | NEARLY).map(msgspec.json.encode))
def test_anything_is_a_message_or_a_named_error(data: str | bytes) -> None:
    try:
        message = parse_client(data)
    except ProtocolError as error:
        assert error.code in CODES  # noqa: PT017
        assert str(error)  # noqa: PT017
    else:
        assert parse_client(print_message(message)) == message
