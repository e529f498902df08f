"""The voices a daemon speaks with: models that are open, and the table of names.

Purpose: `VoiceModel`, a bundle with its engine and its text front end, in use by any number of contexts and closed when
the last has left; `VoiceTable`, an unchanging table that is replaced as a whole, so that whoever holds one sees one
truth. Knows: bundles, how an engine and a front end are opened. Does not know: sockets, messages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import structlog

from app.bundle_reader import BundleReader, Reader
from app.client_places import fingerprint
from app.config import Config
from app.engine_client import Engine, EngineClient
from app.executor import BoundedExecutor
from app.promptness import be_ordinary
from app.threads import in_thread
from engines.contract import EngineStatistics, SpeechRequest, VoiceInfo
from engines.engine_config import EngineConfig
from engines.errors import SpeechError

_log: Final = structlog.stdlib.get_logger("speakd")


class VoiceError(SpeechError):
    """There is no such voice or language; the message says which there are."""


class ServedEngine(Engine, Protocol):
    """What the daemon needs of an engine."""

    def check(self, request: SpeechRequest) -> None:
        """Whether the voice can do what is asked, before there is text. Raises `RequestError`."""
        ...

    def statistics(self) -> EngineStatistics:
        """A snapshot."""
        ...

    def device_runs_at(self, speed: float) -> None:
        """What the device says of itself: the share of its full speed, above 0 to 1."""
        ...

    def close(self) -> None:
        """Cancel what is left and end; idempotent."""
        ...


class VoiceModel:
    """An open bundle. Its counts belong to the event loop."""

    def __init__(self, path: str, engine: ServedEngine, reader: Reader, client: EngineClient) -> None:
        self.path = path
        self.fingerprint = fingerprint(path)
        self.engine = engine
        self.reader = reader
        self.client = client
        self.info: VoiceInfo = engine.info
        self.users = 0
        """Contexts that speak with it."""
        self._left = asyncio.Event()
        self._left.set()

    def enter(self) -> None:
        """A context begins to use it."""
        self.users += 1
        self._left.clear()

    def leave(self) -> None:
        """A context is done with it."""
        self.users -= 1
        if not self.users:
            self._left.set()

    async def retire(self) -> None:
        """Wait for those who use it, then close it."""
        await self._left.wait()
        await self.close()

    async def close(self) -> None:
        """Close it, whoever uses it."""
        self.reader.close()
        await in_thread("closing", self.engine.close)


class OpenModel(Protocol):
    """How a bundle is opened; `open_model` is the one."""

    async def __call__(self, bundle: str, config: Config, text: BoundedExecutor, /) -> VoiceModel:
        """Open and warm up. Raises `SpeechError`."""
        ...


@dataclass(frozen=True, slots=True)
class Voice:
    """A name a client may ask for."""

    name: str
    speaker: str | None
    """Of the bundle."""
    model: VoiceModel


class VoiceTable:
    """Names of voices, and which is the default."""

    def __init__(self, models: Iterable[VoiceModel], default_speaker: str = "", default_language: str = "auto") -> None:
        """The first model's speakers have plain names, the others' have `model/speaker`. Raises `VoiceError`."""
        self.models = tuple(models)
        self.voices: dict[str, Voice] = {}
        for place, model in enumerate(self.models):
            prefix = f"{model.info.name}/" if place else ""
            for speaker in model.info.speakers:
                self._add(Voice(prefix + speaker, speaker, model))
            if not model.info.speakers:
                self._add(Voice(model.info.name, None, model))
        self.default = next(iter(self.voices.values()))
        wanted = default_speaker.lower()
        if wanted and wanted not in self.voices:
            raise VoiceError(f"there is no speaker '{default_speaker}'; choose {', '.join(self.names)}")
        if wanted:
            self.default = self.voices[wanted]
        self._language = default_language.lower() or "auto"
        if self.language_of(self.default) != self._language:
            known = ", ".join(self.default.model.info.language_choices)
            raise VoiceError(f"'{self.default.name}' speaks {known}, not '{default_language}'")

    @property
    def names(self) -> list[str]:
        """What `ready` says: the default first."""
        return list(dict.fromkeys(voice.name for voice in (self.default, *self.voices.values())))

    @property
    def languages(self) -> list[str]:
        """Of all models together."""
        return list(dict.fromkeys(name for model in self.models for name in model.info.language_choices))

    def language_of(self, voice: Voice) -> str:
        """The language of a text of which nobody said one."""
        return self._language if self._language in voice.model.info.language_choices else "auto"

    def find(self, name: str | None) -> Voice:
        """A voice by its name, whatever its case. Raises `VoiceError`."""
        if name is None:
            return self.default
        voice = self.voices.get(name.lower())
        if voice is None:
            raise VoiceError(f"there is no voice '{name}'; choose {', '.join(self.names)}")
        return voice

    def _add(self, voice: Voice) -> None:
        if voice.name.lower() in self.voices:
            raise VoiceError(f"two voices are called '{voice.name}'; rename the directory of one model")
        self.voices[voice.name.lower()] = voice


def names_of(models: Iterable[VoiceModel]) -> list[tuple[str, VoiceModel]]:
    """What figures and the log call them: by name, or by path where two have one (two directories called `bundle`)."""
    models = tuple(models)
    names = Counter(model.info.name for model in models)
    return [(model.info.name if names[model.info.name] == 1 else model.path, model) for model in models]


async def open_model(
    bundle: str, config: Config, text: BoundedExecutor, open_reader: Callable[[Path], Reader] = BundleReader
) -> VoiceModel:
    """Open a bundle and warm it up, off the loop; `open_reader` is called on the text pool. Raises `SpeechError`."""
    opening = asyncio.ensure_future(in_thread("opening", lambda: _open_engine(Path(bundle), config)))
    try:
        reader = await text.run(open_reader, Path(bundle))
    except BaseException:
        with contextlib.suppress(SpeechError):
            (await opening).close()
        raise
    try:
        engine = await opening
    except BaseException:
        reader.close()
        raise
    client = EngineClient(engine, max_active=config.server.slots, max_waiting=config.server.max_contexts)
    return VoiceModel(bundle, engine, reader, client)


def engine_config(config: Config) -> EngineConfig:
    """What a daemon's engines are opened with."""
    return config.engine.opened_with(slots=config.server.slots, max_waiting=config.server.max_contexts)


def _open_engine(bundle: Path, config: Config) -> ServedEngine:
    from engines.engine import SpeechEngine

    be_ordinary()  # as the engine's threads are then: begun here, not by the loop's
    engine = SpeechEngine.open(bundle, engine_config(config))
    (_log.warning if engine.falls_back else _log.info)(engine.sentence, model=bundle.name)
    try:
        engine.warm_up()
    except BaseException:
        engine.close()
        raise
    return engine
