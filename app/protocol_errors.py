"""What goes wrong in a conversation of `speakd.v1`, in words a client can use.

Purpose: `ProtocolError` with its codes; `explain`, which finds what is wrong with a message that could not be read.
Knows: JSON, msgspec's reasons, structs and their fields. Does not know: which messages there are (`messages`), in which
order they may come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from engines.errors import SpeechError

Code = Literal[
    "bad_json", "unknown_type", "unknown_field", "bad_field", "not_authorised",
    "context_exists", "unknown_context", "context_ended", "context_cancelled", "too_many_contexts", "too_many_flushes",
    "text_too_long", "unknown_voice", "unknown_language", "bad_format", "bad_request",
    "not_allowed", "no_loudspeaker", "busy", "idle", "shutting_down", "engine_failed", "internal",
]  # fmt: skip
"""What an error is about; its message says how to mend it."""

Structs = Mapping[str, type[msgspec.Struct]]
MAX_CONTEXT_ID: Final = 64
"""Characters."""
_NO_JSON: Final = (msgspec.DecodeError, ValueError, RecursionError)


class ProtocolError(SpeechError):
    """A message that cannot be taken; it changes nothing but what the answer says."""

    def __init__(self, code: Code, message: str, context: str | None = None) -> None:
        super().__init__(message)
        self.code: Final[Code] = code
        self.context: Final = context


def explain(data: str | bytes, error: Exception, kinds: Structs, parts: Structs) -> ProtocolError:
    """Which part of a message is wrong, and what it may be. `parts`: what its fields hold, by their names."""
    try:
        raw: Any = msgspec.json.decode(data)
    except _NO_JSON as fault:
        return _no_json(data, fault)
    if not isinstance(raw, dict):
        return ProtocolError("bad_json", 'a message must be a JSON object, like {"type": "describe"}')
    context = _context_of(raw)
    tag = raw.get("type")
    kind = kinds.get(tag) if isinstance(tag, str) else None
    if kind is None:
        return ProtocolError("unknown_type", f"'type' must be one of: {', '.join(kinds)}", context)
    what, _, where = str(error).partition(" - at `$")
    place = where.strip(".`")
    if "unknown field" in what:
        part = parts.get(place, kind)
        fields = [field.encode_name for field in msgspec.structs.fields(part)]
        takes = ", ".join(fields if part is not kind else ["type", *fields])
        return ProtocolError("unknown_field", f"{tag}: {what}; {place or tag} takes: {takes}", context)
    if "enum value" in what:
        what += f"; it may be {' or '.join(_choices(kind, place))}"
    return ProtocolError("bad_field", f"{tag}: {place + ': ' if place else ''}{what}", context)


def _no_json(data: str | bytes, fault: Exception) -> ProtocolError:
    """JavaScript sends half a character where a text was cut in one; the parser has no better word than "truncated"."""
    import json  # takes 2 ms, and is seldom asked

    try:
        raw = json.loads(data)
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        context = _context_of(raw) if isinstance(raw, dict) else None
        reason = "a character was cut in two (a lone surrogate): cut text between characters"
        return ProtocolError("bad_json", reason, context)
    except _NO_JSON:
        pass
    return ProtocolError("bad_json", f"a message must be one JSON object in UTF-8: {fault}")


def _context_of(raw: dict[str, Any]) -> str | None:
    name = raw.get("context")
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_CONTEXT_ID:
        return None
    return name if name == name.encode(errors="ignore").decode() else None


def _choices(kind: type[msgspec.Struct], place: str) -> list[str]:
    """The words a field takes, which may be optional."""
    [type_] = [field.type for field in msgspec.structs.fields(kind) if field.encode_name == place]
    words = get_args(type_)
    return [word for one in words for word in (get_args(one) or (one,)) if isinstance(word, str)]
