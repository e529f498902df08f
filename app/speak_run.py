"""One run of `speak`, from wishes to sound.

Purpose: put the pieces together (front end, engine, sink, session), open what takes time side by side, hear signals,
and report. Knows: which part needs which, in what order they begin and end. Does not know: options, text rules,
containers, devices, how speech is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from app.codes_file import CodesFile
from app.config import Config
from app.engine_client import EngineClient
from app.executor import BoundedExecutor
from app.file_sink import STDOUT, FileSink, format_for
from app.loudspeaker import Loudspeaker
from app.pools import open_pools
from app.progress import Progress
from app.run_stats import print_stats
from app.session import SpeechSession, all_codes
from app.sink import Sink
from app.socket_path import client_paths
from app.speaker import SpeakerSink
from app.text_room import NOTHING_TO_READ
from app.text_source import from_descriptor, from_words
from app.wishes import Wishes
from engines.contract import End, Pace, SpeechRequest, VoiceInfo
from engines.errors import SpeechError
from engines.voice_files import reads_while_speaking, voice_info

if TYPE_CHECKING:
    from app.daemon_client import RemoteSession
    from app.front_end import TextFrontEnd
    from engines.engine import SpeechEngine

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_WISH_S: Final = 0.5
"""Signals so near to the first say the same: `timeout` sends two, wrappers pass on what the terminal sent as well."""


def run_speak(wishes: Wishes, config: Config) -> int:
    """Speak, and return the exit code. Raises `SpeechError`, or `BrokenPipeError` when the reader of stdout left."""
    info = voice_info(wishes.bundle)
    if wishes.instruct and not info.takes_instruct:  # as the official package does, but not in silence
        print("speak: this voice takes no --instruct; it speaks without", file=sys.stderr)
        wishes = replace(wishes, instruct="")
    return asyncio.run(_Run(wishes, config, info).speak())


class _Run:
    """What one run holds while it lasts."""

    def __init__(self, wishes: Wishes, config: Config, info: VoiceInfo) -> None:
        self._wishes = wishes
        self._config = config
        self._info = info
        self._engine: SpeechEngine | None = None
        self._session: SpeechSession | RemoteSession | None = None
        self._signal: signal.Signals | None = None
        self._stopped_at = 0.0
        self._seed = secrets.randbits(31) if wishes.seed is None else wishes.seed
        self._pace = Pace.REALTIME if wishes.output in {None, STDOUT} else Pace.FAST  # a pipe may lead to ears
        self._device = wishes.device or config.playback.device or None
        self._written = False
        """Text with letters or digits came."""

    async def speak(self) -> int:
        """The whole run."""
        wishes = self._wishes
        codes_file = CodesFile(wishes.save_codes) if wishes.save_codes else None
        pools = open_pools(self._config)
        sink: Sink | None = None
        ends = contextlib.AsyncExitStack()
        try:
            with self._signals():
                if wishes.output is None:
                    await ends.enter_async_context(Loudspeaker(self._device, now=wishes.now))
                sink = self._sink(pools.audio)
                session = await self._through_daemon(sink) or await self._here(sink, pools.text)
                self._session = session
                with Progress(session.report, self._info.sample_rate_hz):
                    report = await session.run(self._noticed(self._text()))
        except BaseException:
            if sink is not None:
                await sink.abort()
            raise
        finally:
            await ends.aclose()
            if self._engine is not None:
                self._engine.close()
            for pool in pools:
                pool.shutdown(cancel_futures=True)
        if codes_file is not None:
            codes_file.write(all_codes(report, self._info.codebooks))
        if wishes.stats:
            stream = sys.stderr if wishes.output == STDOUT else sys.stdout
            print_stats(report, sink, self._info, self._seed, stream)
        if self._written and report.outcome is End.END and not report.frames:
            known = ", ".join(self._info.languages) or "auto"
            raise SpeechError(f"{NOTHING_TO_READ}; it speaks {known}")
        return 128 + self._signal if self._signal else 0

    async def _noticed(self, texts: AsyncIterator[str]) -> AsyncIterator[str]:
        async for text in texts:
            self._written = self._written or any(map(str.isalnum, text))
            yield text

    async def _through_daemon(self, sink: Sink) -> RemoteSession | None:
        """A session with a daemon that runs and can do all this, if there is one."""
        if not self._wishes.daemon or not any(path.exists() for path in client_paths()):
            return None
        from app.daemon_client import RemoteSession, find_daemon

        socket = await find_daemon(self._wishes)
        if socket is None:
            return None
        return RemoteSession(socket, sink, self._wishes, self._seed, self._pace)

    async def _here(self, sink: Sink, text: BoundedExecutor) -> SpeechSession:
        """A session with an engine of this process."""
        self._engine, front_end = await self._open(text)
        sizes = self._config.engine
        client = EngineClient(self._engine, max_active=sizes.slots, max_waiting=sizes.max_waiting)
        request = self._request(front_end)
        self._engine.check(request)  # at once, for the text may be long in coming
        return SpeechSession(client=client, front_end=front_end, executor=text, sink=sink, request=request)

    def _sink(self, audio: BoundedExecutor) -> Sink:
        wishes, rate_hz = self._wishes, self._info.sample_rate_hz
        if wishes.output is None:
            return SpeakerSink(rate_hz, self._config.playback, device=self._device)
        file_format = format_for(wishes.output, wishes.file_format)
        sink = FileSink(wishes.output, file_format, rate_hz, audio)
        sink.check()
        return sink

    async def _open(self, text: BoundedExecutor) -> tuple[SpeechEngine, TextFrontEnd]:
        """Engine and front end, side by side: each spends most of its opening outside the interpreter's lock."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._open_engine))
        try:
            front_end = await text.run(self._open_front_end)
        except BaseException:
            with contextlib.suppress(Exception):
                (await opening).close()
            raise
        return await opening, front_end

    def _open_engine(self) -> SpeechEngine:
        from engines.engine import SpeechEngine

        engine = SpeechEngine.open(self._wishes.bundle, self._config.engine.opened_with())
        if engine.falls_back:
            print(f"speak: {engine.sentence}", file=sys.stderr)
        return engine

    def _open_front_end(self) -> TextFrontEnd:
        from app.front_end import TextFrontEnd

        wishes = self._wishes
        return TextFrontEnd.open(
            wishes.bundle,
            language=wishes.language,
            normalize=wishes.normalize,
            words=reads_while_speaking(wishes.bundle, wishes.layout),
        )

    def _request(self, front_end: TextFrontEnd) -> SpeechRequest:
        wishes = self._wishes
        return SpeechRequest(
            voice=wishes.voice,
            language=wishes.language,
            instruct_ids=front_end.instruct_ids(wishes.instruct),
            layout=wishes.layout,
            sampling=wishes.sampling,
            seed=self._seed,
            max_frames=wishes.max_frames,
            pace=self._pace,
            keep_codes=wishes.save_codes is not None,
        )

    def _text(self) -> AsyncIterator[str]:
        if self._wishes.words is not None:
            return from_words(self._wishes.words)
        if sys.stdin is None:
            return from_words([])
        if sys.stdin.isatty():
            print("speak: type text; Ctrl-D ends it", file=sys.stderr)
        return from_descriptor(sys.stdin.fileno(), "standard input")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """While this lasts, the first stop signal ends the session in good order, and the second ends the process.

        What the process was told to ignore (by nohup, for instance) stays ignored.
        """
        loop = asyncio.get_running_loop()
        heard = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in heard:
            loop.add_signal_handler(number, self._stop, number)
        try:
            yield
        finally:
            for number in heard:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

    def _stop(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._session is None or (self._signal is not None and now - self._stopped_at > _ONE_WISH_S):
            os._exit(128 + number)  # nothing begun that could be saved, or asked for the second time
        if self._signal is None:
            self._signal, self._stopped_at = number, now
            self._session.cancel()
