"""What is wrong with a message that could not be read, in words its author can use.

Purpose: `explain`: code, reason and context of the error that answers it. Knows: JSON, msgspec's reasons, structs and
their fields. Does not know: which messages there are (`messages`), in which order they may come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

if TYPE_CHECKING:
    from app.messages import Code

Structs = Mapping[str, type[msgspec.Struct]]
MAX_CONTEXT_ID: Final = 64
"""Characters."""
_NO_JSON: Final = (msgspec.DecodeError, ValueError, RecursionError)


def explain(data: str | bytes, error: Exception, kinds: Structs, parts: Structs) -> tuple[Code, str, str | None]:
    """Which part of a message is wrong, and what it may be. `parts`: what its fields hold, by their names."""
    try:
        raw: Any = msgspec.json.decode(data)
    except _NO_JSON as fault:
        return _no_json(data, fault)
    if not isinstance(raw, dict):
        return "bad_json", 'a message must be a JSON object, like {"type": "describe"}', None
    context = _context_of(raw)
    tag = raw.get("type")
    kind = kinds.get(tag) if isinstance(tag, str) else None
    if kind is None:
        return "unknown_type", f"'type' must be one of: {', '.join(kinds)}", context
    what, _, where = str(error).partition(" - at `$")
    place = where.strip(".`")
    if "unknown field" in what:
        part = parts.get(place, kind)
        fields = [field.encode_name for field in msgspec.structs.fields(part)]
        takes = ", ".join(fields if part is not kind else ["type", *fields])
        return "unknown_field", f"{tag}: {what}; {place or tag} takes: {takes}", context
    if "enum value" in what:
        what += f"; it may be {' or '.join(_choices(kind, place))}"
    return "bad_field", f"{tag}: {place + ': ' if place else ''}{what}", context


def _no_json(data: str | bytes, fault: Exception) -> tuple[Code, str, str | None]:
    """JavaScript sends half a character where a text was cut in one; the parser has no better word than "truncated"."""
    import json  # takes 2 ms, and is seldom asked

    try:
        raw = json.loads(data)
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        context = _context_of(raw) if isinstance(raw, dict) else None
        return "bad_json", "a character was cut in two (a lone surrogate): cut text between characters", context
    except _NO_JSON:
        pass
    return "bad_json", f"a message must be one JSON object in UTF-8: {fault}", None


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
