"""What the daemon writes about its work: one line for each event, for people or for the journal.

Purpose: set logging up once, and word the lines about a context and about how the daemon is. Text of clients is written
only where the configuration says so, tokens never. Knows: structlog, the journal's priorities. Does not know: where the
events come from.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from typing import Any, Final

import structlog

from app.context import ContextReport
from app.log_handler import StderrHandler
from app.server_config import LogConfig
from app.services import Services
from app.voices import names_of

_PRIORITIES: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_as_json: Final = structlog.processors.JSONRenderer()


def set_up(config: LogConfig) -> None:
    """Write to stderr from here on. May be called again."""
    console = config.format == "console" or (config.format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.StackInfoRenderer(),
    ]
    if console:
        shared.append(structlog.processors.TimeStamper(fmt="%H:%M:%S"))
        last: list[Any] = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    elif _is_journal():  # the journal has its own time
        last = [structlog.processors.format_exc_info, _with_priority]
    else:
        shared.append(structlog.processors.TimeStamper(fmt="iso"))
        last = [structlog.processors.format_exc_info, _as_json]
    root = logging.getLogger()
    handler = next((one for one in root.handlers if isinstance(one, StderrHandler)), None)
    if handler is None or handler.stream is not sys.stderr:
        handler = StderrHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _note_level],
            processors=[_note_level, structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root.handlers[:] = [handler]
    root.setLevel(config.level.upper())
    logging.getLogger("websockets").setLevel(logging.ERROR)  # it reports every broken handshake
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def log_context(session: str, context: str, report: ContextReport, text: str | None) -> None:
    """The one line about a context."""
    fields: dict[str, Any] = {
        "session": session,
        "context": context,
        "outcome": report.outcome.value,
        "voice": report.voice,
        "encoding": report.encoding,
        "segments": report.segments,
        "characters": report.characters,
        "frames": report.frames,
        "audio_ms": round(report.audio_ms),
        "first_audio_ms": None if report.first_audio_ms is None else round(report.first_audio_ms, 1),
        "engine_ms": round(report.engine_ms, 1),
        "wall_ms": round(report.wall_ms),
        "underruns": report.listening.underruns,
        "gap_ms": round(1000 * report.listening.gap_s),
    }
    if report.error is not None:
        fields["code"] = report.error.code
        fields["error"] = str(report.error)
    if text is not None:
        fields["text"] = text
    log = structlog.stdlib.get_logger("speakd")
    (log.warning if report.error is not None else log.info)("utterance", **fields)


def log_statistics(services: Services) -> None:
    """How the daemon is, as one line."""
    models = services.voices.models if services.voices is not None else ()
    structlog.stdlib.get_logger("speakd").info(
        "statistics",
        sockets=services.gate.sockets,
        connections=services.gate.connections,
        contexts=services.gate.contexts,
        text_pool=_fields(services.pools.text.statistics()),
        audio_pool=_fields(services.pools.audio.statistics()),
        engines={name: _fields(model.engine.statistics()) for name, model in names_of(models)},
    )


def _fields(statistics: Any) -> dict[str, object]:
    """A record as a mapping, its numbers short."""
    return {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in dataclasses.asdict(statistics).items()
    }


def _is_journal() -> bool:
    """Whether stderr leads to the journal; children of a desktop's session inherit the variable alone."""
    try:
        place = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{place.st_dev}:{place.st_ino}"


def _note_level(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    record = event.get("_record")
    if record is not None:
        event["level"] = record.levelname.lower()
    return event


def _with_priority(logger: Any, name: str, event: structlog.typing.EventDict) -> str:
    """JSON behind the priority, as the journal takes it."""
    return f"<{_PRIORITIES.get(event.get('level', ''), 6)}>{_as_json(logger, name, event)!s}"
