"""The daemon: what `speakd` runs, from the configuration to the last word.

Purpose: put the parts together in the right order, and answer signals: SIGTERM and SIGINT end it in good order, SIGHUP
reads the configuration again, SIGUSR1 writes down how things are. Knows: which part needs which. Does not know:
messages, text, sound.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import logging
import os
import signal
import sys
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NoReturn

import structlog

from app import build_command, logs, open_files, security
from app.bundle_reader import BundleReader
from app.config import Config, ConfigError, load_config
from app.config_check import check, check_sizes, check_voices
from app.device_watch import DeviceWatch
from app.executor import BoundedExecutor
from app.gate import Gate
from app.http_pages import Sources
from app.inline_executor import InlineExecutor
from app.local_sink import LocalLoudspeaker
from app.metrics import Metrics
from app.plan_builder import MakePlanBuilder, make_plan_builder
from app.plans import PATIENCE_S, Plans
from app.pools import open_pools
from app.promptness import be_prompt, spare_collections
from app.pulse import Pulse
from app.reload import reload_services
from app.remote_reader import RemoteReader
from app.server import SpeakServer
from app.services import Services, bundles_of
from app.socket_path import server_path
from app.standard_streams import hold_open
from app.systemd_notify import SystemdNotify
from app.text_process import TextProcess
from app.threads import in_thread
from app.voices import OpenModel, VoiceModel, VoiceTable, open_model
from engines.errors import SpeechError

_CLOSE_LEAST_S: Final = 0.3
_CLOSE_MOST_S: Final = 0.8
"""Engines that have not ended by then are left to the process's end; longer where clients have left at once."""
_log: Final = structlog.stdlib.get_logger("speakd")


class Daemon:
    """One run of the daemon."""

    def __init__(
        self,
        config: Config,
        config_file: Path | None,
        notify: SystemdNotify | None = None,
        opener: OpenModel | None = None,
        make_builder: MakePlanBuilder = make_plan_builder,
    ) -> None:
        """Raises `ConfigError` for what cannot be served."""
        check_sizes(config)
        open_files.allow_for(config)
        self._file = config_file
        pools = open_pools(config, BoundedExecutor if config.server.offload else InlineExecutor)
        self._figures = BoundedExecutor("figures", workers=1, max_waiting=8)
        self._text = TextProcess(pools.text, config.server.stall_s / 2) if config.server.offload else None
        open_reader = partial(RemoteReader, self._text) if self._text else BundleReader
        self.services = Services(
            config=config,
            guard=security.open_guard(config),
            voices=None,
            pools=pools,
            gate=Gate(config),
            metrics=Metrics(),
            open_model=opener or partial(open_model, open_reader=open_reader),
            loudspeaker=LocalLoudspeaker(config.playback),
            tls=security.open_tls(config),
        )
        self.notify = notify or SystemdNotify()
        self.pulse = Pulse(self.services, self.notify, self._text)
        metrics = self.services.metrics
        self.server = SpeakServer(
            self.services,
            Sources(
                health=self.pulse.health,
                ready=self.pulse.ready,
                voices=lambda: self.services.voices,
                before_metrics=lambda: metrics.rings_hold(self.server.ring_levels_s()),
                metrics=metrics.text,
                pool=self._figures,
            ),
        )
        self._plans = Plans(self.services, self.pulse, self.notify, make_builder)
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._changed = False
        """The configuration is to be read again."""
        self._reloading: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()
        """Set when the first request would be as fast as the tenth."""
        self._watch()

    async def run(self) -> int:
        """Serve until told to stop; returns the exit code."""
        config, loop = self.services.config, self._loop
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        loop.add_signal_handler(signal.SIGUSR1, self.write_statistics)
        work: list[asyncio.Future[Any]] = []
        try:
            unix = server_path(config.server.socket)
            try:
                await self.server.open(unix, self.services.tls)
            except OSError as error:
                passes = error.errno in {errno.EADDRINUSE, errno.EADDRNOTAVAIL}  # another ends, a network comes up
                raise (SpeechError if passes else ConfigError)(f"cannot listen: {error}") from error
            _log.info("listening", host=config.server.host, port=self.server.port, socket=str(unix) if unix else None)
            opening = asyncio.ensure_future(self._open_voices())
            stopped = asyncio.ensure_future(self._stop.wait())
            work = [opening, stopped]
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
                work.append(asyncio.ensure_future(self.pulse.beat(self.stop)))
                work.append(asyncio.ensure_future(DeviceWatch(self._models).run()))
                if config.server.build_plans == "background":
                    work.append(asyncio.ensure_future(self._plans.build_behind(bundles_of(self.services.config))))
                await stopped
            return 1 if self.pulse.failure else 0
        finally:
            await self._end(work)

    def stop(self) -> None:
        """Begin to end; idempotent."""
        self._stop.set()

    def reload(self) -> None:
        """Read the configuration again: one at a time, and once more where the file may have changed meanwhile."""
        self._changed = True
        if self.ready.is_set() and (self._reloading is None or self._reloading.done()):
            self._reloading = asyncio.ensure_future(self._reload())

    def write_statistics(self) -> None:
        """How things are, as one line in the log."""
        logs.log_statistics(self.services)

    def _watch(self) -> None:
        """Gauges of what others count for themselves."""
        services, text, metrics = self.services, self._text, self.services.metrics
        gate, line = services.gate, services.loudspeaker.line
        metrics.watch("speakd_sockets", "Sockets inside", lambda: gate.sockets)
        metrics.watch("speakd_contexts_open", "Contexts open", lambda: gate.contexts)
        metrics.watch("speakd_connections", "Connections of any kind", lambda: gate.connections)
        metrics.watch("speakd_tasks", "Tasks of the event loop", lambda: len(asyncio.all_tasks(self._loop)))
        if text is not None:
            metrics.watch("speakd_text_worker_deaths", "Text workers that died, in all", lambda: text.deaths)
        metrics.watch("speakd_loudspeaker_waiting", "Contexts that wait for the loudspeaker", lambda: line.waiting)
        metrics.watch_parts(services.pools, self._models)

    def _models(self) -> tuple[VoiceModel, ...]:
        return self.services.voices.models if self.services.voices is not None else ()

    async def _open_voices(self) -> None:
        config, text_pool = self.services.config, self.services.pools.text
        patience = asyncio.ensure_future(self._ask_for_patience())
        try:
            if config.server.build_plans == "wait":
                await self._plans.build_missing(bundles_of(config))
            models = [await self.services.open_model(bundle, config, text_pool) for bundle in bundles_of(config)]
        finally:
            patience.cancel()
        self.services.voices = VoiceTable(models, config.voice.speaker, config.voice.language)
        spare_collections()
        self.notify.ready(self.pulse.summary())
        if server_path(config.server.socket) is not None or config.security.loudspeaker_over_tcp:
            self.services.loudspeaker.open()
        self.ready.set()
        _log.info("ready", voices=self.services.voices.names)
        if self._changed:
            self.reload()

    async def _ask_for_patience(self) -> None:
        while True:
            self.notify.extend_timeout(PATIENCE_S)
            self.notify.status(self.pulse.opening)
            await asyncio.sleep(PATIENCE_S / 4)

    async def _reload(self) -> None:
        while self._changed:
            self._changed = False
            await self._read_again()

    async def _read_again(self) -> None:
        self.notify.reloading()
        try:
            async with self._plans.changing:
                skipped = await reload_services(self.services, self._file)
            with contextlib.suppress(OSError):  # somebody removed the file: nobody comes through it any more
                await self.server.guard_unix()
        except Exception as error:  # whatever it was: the service manager waits for a last word
            unforeseen = not isinstance(error, SpeechError)
            _log.error("the configuration was refused; the old one stands", error=str(error), exc_info=unforeseen)
            self.services.metrics.reloaded("refused")
            self.pulse.refused = str(error)
        else:
            logs.set_up(self.services.config.log)
            if self._text is not None:
                self._text.patience_s = self.services.config.server.stall_s / 2
            self.services.metrics.reloaded("done")
            self.pulse.refused = ""
            voices = self.services.voices
            _log.info("reloaded", voices=voices.names if voices else [], need_a_restart=skipped)
        self.notify.ready(self.pulse.summary())

    async def _end(self, work: list[asyncio.Future[Any]]) -> None:
        services = self.services
        self.notify.stopping("ending what is being spoken")
        self.notify.extend_timeout(services.config.server.grace_s + 5.0)
        _log.info("stopping", contexts=services.gate.contexts)
        until = self._loop.time() + services.config.server.grace_s + _CLOSE_MOST_S
        await self.server.close(services.config.server.grace_s)
        await services.loudspeaker.close()
        for task in (*work, *([self._reloading] if self._reloading else [])):
            task.cancel()
        for pool in (*services.pools, self._figures):
            pool.shutdown(cancel_futures=True, wait=False)
        ends = {model.path: model.engine.close for model in self._models()}
        ends |= {"the text worker": self._text.end} if self._text else {}
        closing = {asyncio.ensure_future(in_thread("closing", end)): what for what, end in ends.items()}
        if closing:
            left_s = min(max(until - self._loop.time(), _CLOSE_LEAST_S), _CLOSE_MOST_S)
            _, late = await asyncio.wait(closing, timeout=left_s)
            if late:
                _log.warning("not all has ended yet; the process ends without it", late=[closing[one] for one in late])
        self.notify.close()
        _log.info("stopped")


def main() -> NoReturn:
    """Run `speakd` with the arguments of this process."""
    hold_open()
    try:
        code = _run(sys.argv[1:])
    except SpeechError as error:
        print(f"speakd: {error}", file=sys.stderr)
        code = 2 if isinstance(error, ConfigError) else 1
    logging.shutdown()
    with contextlib.suppress(OSError, AttributeError):  # it may be closed
        sys.stdout.flush()
    os._exit(code)  # a thread that hangs on a device must not keep the process


def _run(words: list[str]) -> int:
    """Do what the command line says; returns the exit code."""
    if words[:1] == ["build"]:
        build_command.run(words[1:])
    parser = argparse.ArgumentParser(
        prog="speakd",
        description="Speak for clients on a WebSocket and a Unix socket.",
        epilog="`speakd build` builds TensorRT plans for a voice: see `speakd build --help`.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    parser.add_argument("--check", action="store_true", help="check the configuration, look for its voices, and end")
    parser.add_argument("--version", action="version", version=f"speakd {metadata.version('speakd')}")
    arguments = parser.parse_args(words)
    config = load_config(arguments.config)
    logs.set_up(config.log)
    if arguments.check:
        check(config)
        check_voices(config)
        print("speakd: the configuration is good")
        sys.exit(0)
    sys.setswitchinterval(config.server.switch_interval_us / 1e6)
    be_prompt()

    async def serve() -> int:
        return await Daemon(config, arguments.config).run()

    return asyncio.run(serve())


if __name__ == "__main__":
    main()
