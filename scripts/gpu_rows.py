"""Results of `scripts/gpu_check` as lines of JSON: what its processes tell each other.

Purpose: write one result so that any reader of JSON takes it, at once, so that a process that is stopped keeps what it
had told. Does not know: what is measured. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping


def line(facts: Mapping[str, object]) -> str:
    """Facts as one line; numbers that JSON has no word for (NaN, infinities) become null."""
    return json.dumps(_plain(facts), allow_nan=False)


def emit(**facts: object) -> None:
    """Print one result, at once."""
    print(line(facts), flush=True)


def reason(error: BaseException) -> str:
    """An error's kind, and the first line of what it says."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
