"""The GET side of the port: health, readiness, figures, voices, and a page to try it all.

Purpose: answer a request that is not a WebSocket's. Knows: paths, HTTP. Does not know: messages, sockets, speech.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from app.executor import BoundedExecutor, ExecutorClosedError, ExecutorFullError
from app.pulse import Condition
from app.voices import VoiceTable

_PAGE: Final = Path(__file__).with_name("page.html")
_JSON: Final = "application/json"
_HTML: Final = "text/html; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self' ws: wss:; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
PATHS: Final = ("/health", "/ready", "/metrics", "/v1/voices", "/")
GUARDED: Final = frozenset({"/metrics", "/v1/voices"})
"""These need the token where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where answers come from."""

    health: Callable[[], Condition]
    ready: Callable[[], Condition]
    voices: Callable[[], VoiceTable | None]
    before_metrics: Callable[[], None]
    """Called on the loop, to note what only the loop may read."""
    metrics: Callable[[], bytes]
    pool: BoundedExecutor
    """Where the figures are printed."""


async def answer(path: str, sources: Sources) -> Response:
    """The answer to GET `path`."""
    if (now := at_once(sources).get(path)) is not None:
        return now()
    try:
        return await _page_of(path, sources)
    except (ExecutorFullError, ExecutorClosedError) as error:
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), {"Retry-After": "1"})


async def _page_of(path: str, sources: Sources) -> Response:
    if path == "/metrics":
        sources.before_metrics()
        return _response(HTTPStatus.OK, _METRICS, await sources.pool.run(sources.metrics))
    if path == "/v1/voices":
        table = sources.voices()
        if table is None:
            return _condition(Condition(False, "the voices are being opened"))
        return _response(HTTPStatus.OK, _JSON, msgspec.json.encode(describe(table)))
    if path == "/":
        page = await sources.pool.run(_page)
        return _response(HTTPStatus.OK, _HTML, page, {"Content-Security-Policy": _POLICY})
    return problem(HTTPStatus.NOT_FOUND, f"there is no {path}; try {', '.join(PATHS)}, or a WebSocket at /v1/speak")


def at_once(sources: Sources) -> dict[str, Callable[[], Response]]:
    """The pages that need neither a pool nor a look at the request, by path."""
    return {"/health": lambda: _condition(sources.health()), "/ready": lambda: _condition(sources.ready())}


def problem(status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what is wrong."""
    return _response(status, _JSON, msgspec.json.encode({"error": text}), headers)


def describe(table: VoiceTable) -> dict[str, Any]:
    """What `/v1/voices` says."""
    return {
        "default": table.default.name,
        "voices": [
            {
                "name": voice.name,
                "model": voice.model.info.name,
                "kind": voice.model.info.model_type,
                "languages": voice.model.info.language_choices,
                "takes_instruct": voice.model.info.takes_instruct,
                "sample_rate": voice.model.info.sample_rate_hz,
            }
            for voice in table.voices.values()
        ],
    }


def target(request: Request) -> tuple[str, str]:
    """Path and query of a request."""
    path, _, query = request.path.partition("?")
    return path, query


def _condition(condition: Condition) -> Response:
    status = HTTPStatus.OK if condition.ok else HTTPStatus.SERVICE_UNAVAILABLE
    return _response(status, _JSON, msgspec.json.encode({"ok": condition.ok, "status": condition.text}))


def _response(status: HTTPStatus, media_type: str, body: bytes, extra: dict[str, str] | None = None) -> Response:
    headers = Headers()
    headers["Content-Type"] = media_type
    headers["Content-Length"] = str(len(body))
    headers["Connection"] = "close"
    headers["Cache-Control"] = "no-store"
    headers["X-Content-Type-Options"] = "nosniff"
    for name, value in (extra or {}).items():
        headers[name] = value
    return Response(status.value, status.phrase, headers, body)


@cache
def _page() -> bytes:
    return _PAGE.read_bytes()
