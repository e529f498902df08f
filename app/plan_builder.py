"""The daemon's side of a build: TensorRT plans that a voice lacks, made by a process of its own.

Purpose: know whether a plan is missing that could be built here, start the builder, and tell how far it is. Knows: the
builder's command and the lines it writes. Does not know: TensorRT, engines, systemd.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

import msgspec
import structlog

from app.build_command import build_words
from app.children import ROOT, environment_for_children
from app.config import Config
from app.threads import in_thread
from app.voices import engine_config
from engines.errors import SpeechError
from engines.gpu_presence import check_gpu

_LINE_BYTES: Final = 1 << 16
_END_S: Final = 0.5
"""A builder that is told to end and has not ended by then is killed; the next build cleans up."""
_NICENESS: Final = 10
_DISPENSABLE: Final = "800"
"""For the kernel, where memory runs out: this process before the daemon."""
_FATAL: Final = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})
"""What a builder dies of, and will again; other signals come from people, or with the daemon's own end."""
_WITHOUT: Final = "no TensorRT plan could be built; speaking without"
_log: Final = structlog.stdlib.get_logger("speakd")


class BuilderLine(msgspec.Struct, frozen=True, kw_only=True):
    """What the builder writes: how far it is, or how it ended."""

    stage: str = ""
    fraction: float = 0.0
    told: str = ""
    """Time left, for people."""
    plan: str = ""
    built: bool = False
    error: str = ""
    failure: str = ""
    """Where to write why it died, if it does: what failed is not tried again unasked."""


class Builder(Protocol):
    """Builds plans; `PlanBuilder` is the one."""

    async def lacks(self, bundle: str) -> bool:
        """Whether a bundle would speak without TensorRT now."""
        ...

    async def build(self, bundle: str) -> bool:
        """Build the plan of a bundle; whether there is one now. Whatever is wrong is logged, and nothing is lost."""
        ...


MakePlanBuilder = Callable[[Config, Callable[[str], None]], Builder | None]


class PlanBuilder:
    """Builds what is missing, one plan at a time. Belongs to the event loop."""

    def __init__(
        self, config: Config, tell: Callable[[str], None], words: Callable[[Config, str], Sequence[str]]
    ) -> None:
        """`tell` is told in one line how far it is; `words` is the builder's command (`build_words`)."""
        self._config, self._tell, self._words = config, tell, words

    async def lacks(self, bundle: str) -> bool:
        """Whether a bundle would speak without TensorRT now."""
        return await in_thread("plans", lambda: _lacks(bundle, self._config))

    async def build(self, bundle: str) -> bool:
        """Build the plan of a bundle; whether there is a new one. Whatever is wrong is logged, and nothing is lost."""
        _log.info("building a TensorRT plan; this takes minutes", bundle=bundle)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words(self._config, bundle),
                "--json",
                cwd=ROOT,
                env=environment_for_children(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LINE_BYTES,
            )
        except OSError as error:  # no memory, or no more tasks for this service
            _log.error(_WITHOUT, bundle=bundle, error=f"the builder cannot be started: {error}")
            return False
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
            Path(f"/proc/{process.pid}/oom_score_adj").write_text(_DISPENSABLE)
        try:
            last, failure = await self._follow(process, Path(bundle).name)
            code = await process.wait()
        finally:
            await _end(process)
        if last.plan:
            _log.info("a TensorRT plan is there", bundle=bundle, plan=last.plan, built=last.built)
            return True
        reason = _reason(last, code)
        _log.error(_WITHOUT, bundle=bundle, error=reason)
        if -code in _FATAL and failure:  # it cannot have told so itself
            await in_thread("plans", lambda: _remember(Path(failure), reason))
        return False

    async def _follow(self, process: asyncio.subprocess.Process, name: str) -> tuple[BuilderLine, str]:
        """Read what it writes until it ends; returns the last line, and where to write why it died."""
        assert process.stdout is not None
        line, failure = BuilderLine(), ""
        async for raw in process.stdout:
            with contextlib.suppress(msgspec.DecodeError):
                line = msgspec.json.decode(raw, type=BuilderLine)
                failure = line.failure or failure
                if line.stage:
                    self._tell(f"building the TensorRT plan of {name}: {line.stage}, {line.fraction:.0%}, {line.told}")
        return line, failure


def make_plan_builder(config: Config, tell: Callable[[str], None]) -> Builder | None:
    """A builder where one could have work here: plans are wanted, and TensorRT and a GPU are there."""
    if config.server.build_plans == "off" or config.engine.backend not in {"auto", "tensorrt"}:
        return None
    if find_spec("tensorrt") is None:
        return None
    try:
        check_gpu()
    except SpeechError as error:
        _log.warning("TensorRT is installed, but no plans are built", reason=str(error))
        return None
    return PlanBuilder(config, tell, build_words)


def _lacks(bundle: str, config: Config) -> bool:
    from engines.device_facts import device_facts  # loads what runs graphs, which the start need not wait for

    try:  # no other backend: to ask for it may take memory of the device, which the builder will want
        device_facts(Path(bundle), replace(engine_config(config), backend="tensorrt"))
    except SpeechError:
        return True  # or the bundle is bad, which the builder will say
    return False


def _remember(failure: Path, reason: str) -> None:
    with contextlib.suppress(OSError):
        failure.write_text(reason, encoding="utf-8")


def _reason(last: BuilderLine, code: int) -> str:
    if last.error:
        return last.error
    if code < 0:
        return (
            f"the builder was ended by signal {-code}, most likely since memory ran out; build with `speakd build`"
            " while nothing else runs, or with a lower [engine] precision"
        )
    return f"the builder ended with {code}; `speakd build` shows why"


async def _end(process: asyncio.subprocess.Process) -> None:
    """However this build ends, its process does."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), _END_S)
            return
        process.kill()
        await process.wait()
