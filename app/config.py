"""The configuration: one frozen tree, read from TOML.

Purpose: every setting that is not a wish for one utterance, with its bounds; a key nobody knows is refused by name.
Knows: names, units, bounds, defaults. Does not know: what the settings do; `config.toml` gives the reasons.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

from app import voice_section
from app.server_config import LimitsConfig, LogConfig, Section, SecurityConfig, ServerConfig
from engines.engine_config import EngineConfig
from engines.errors import SpeechError

DEFAULT_PATH: Final = Path(__file__).resolve().parent.parent / "config.toml"
"""Read where no other file is named, if it is there."""

_ENGINE: Final = EngineConfig()  # the owner of the engine's defaults

Milliseconds = Annotated[int, Meta(ge=0, le=60_000)]


class ConfigError(SpeechError):
    """The configuration cannot be used; the message names the file, the key, and what it may be."""


class VoiceConfig(Section, frozen=True):
    """What is spoken with where the command does not say."""

    bundle: str = voice_section.BUNDLE
    """Directory; relative to the directory of the configuration file."""
    speaker: str = voice_section.SPEAKER
    """Name of a speaker of the bundle; empty: its first."""
    language: str = voice_section.LANGUAGE


class EngineSection(Section, frozen=True):
    """The engine's places, threads, memory and switches; keys and defaults are those of `EngineConfig`."""

    slots: Annotated[int, Meta(ge=1, le=64)] = 1  # the command speaks one
    max_waiting: Annotated[int, Meta(ge=0, le=1024)] = _ENGINE.max_waiting
    positions: Annotated[int, Meta(ge=128, le=32768)] = 1024  # TOML has no word for EngineConfig's None
    prefill_rows: Annotated[int, Meta(ge=1, le=4096)] = _ENGINE.prefill_rows
    talker_threads: Annotated[int, Meta(ge=1, le=64)] = _ENGINE.talker_threads
    codec_threads: Annotated[int, Meta(ge=1, le=64)] = _ENGINE.codec_threads
    codec_chunk_frames: Annotated[int, Meta(ge=1, le=100)] = _ENGINE.codec_chunk_frames
    pcm_ring_s: Annotated[float, Meta(ge=0.5, le=60.0)] = _ENGINE.pcm_ring_s
    underrun_margin_ms: Annotated[float, Meta(ge=0.0, le=1000.0)] = _ENGINE.underrun_margin_ms
    comfortable_s: Annotated[float, Meta(ge=0.1, le=60.0)] = _ENGINE.comfortable_s
    runaway_loop_s: Annotated[float, Meta(ge=0.0, le=600.0)] = _ENGINE.runaway_loop_s
    runaway_silence_s: Annotated[float, Meta(ge=0.0, le=600.0)] = _ENGINE.runaway_silence_s
    admission: bool = _ENGINE.admission
    async_chunks: bool = _ENGINE.async_chunks
    codec_batching: bool = _ENGINE.codec_batching
    adaptive_chunks: bool = _ENGINE.adaptive_chunks
    async_scheduling: bool | Literal["auto"] = _ENGINE.async_scheduling
    backend: Literal["auto", "tensorrt", "cuda", "cpu"] = "auto"
    precision: Literal["auto", "int4", "int8", "fp8", "fp16", "fp32"] = "auto"
    plans: str = _ENGINE.plans

    def opened_with(self, **sizes: int) -> EngineConfig:
        """What an engine of these settings is opened with; `sizes` instead of the section's own."""
        return EngineConfig(**(msgspec.structs.asdict(self) | sizes))


class TextConfig(Section, frozen=True):
    """The pool of the text front end."""

    workers: Annotated[int, Meta(ge=1, le=1)] = 1
    max_waiting: Annotated[int, Meta(ge=0, le=1024)] = 64


class AudioConfig(Section, frozen=True):
    """The pool that encodes and writes sound files."""

    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    max_waiting: Annotated[int, Meta(ge=0, le=1024)] = 64


class PlaybackConfig(Section, frozen=True):
    """Live playback through a sound device."""

    device: str = ""
    sample_rate_hz: Annotated[int, Meta(ge=0, le=384_000)] = 0
    buffer_ms: Annotated[int, Meta(ge=100, le=60_000)] = 2000
    start_ms: Milliseconds = 160
    lead_in_ms: Milliseconds = 40
    tail_ms: Milliseconds = 250
    period_ms: Annotated[int, Meta(ge=5, le=1000)] = 100
    stall_timeout_ms: Annotated[int, Meta(ge=100, le=600_000)] = 10_000
    release_s: Annotated[float, Meta(ge=0.0, le=86_400.0)] = 10.0


class Config(Section, frozen=True):
    """The whole tree."""

    voice: VoiceConfig = VoiceConfig()
    engine: EngineSection = EngineSection()
    text: TextConfig = TextConfig()
    audio: AudioConfig = AudioConfig()
    playback: PlaybackConfig = PlaybackConfig()
    server: ServerConfig = ServerConfig()
    limits: LimitsConfig = LimitsConfig()
    security: SecurityConfig = SecurityConfig()
    log: LogConfig = LogConfig()


def load_config(path: Path | None = None) -> Config:
    """Read a configuration file; without one, `config.toml` beside the program, or the built-in defaults.

    Relative names of files in it come back absolute. Raises `ConfigError`.
    """
    file = path or DEFAULT_PATH
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if path is not None:
            raise ConfigError(f"there is no configuration file '{path}'") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration file '{file}': {error}") from error
    config = parse_config(text, str(file))
    return _with_places(config, file)


def _with_places(config: Config, file: Path) -> Config:
    """The names of files made absolute, from the directory of the configuration file. Raises `ConfigError`."""
    directory = file.resolve().parent

    def place(key: str, name: str) -> str:
        try:
            return str((directory / Path(name).expanduser()).resolve()) if name else ""
        except (RuntimeError, ValueError) as error:  # a user nobody knows, links in a circle, a null
            raise ConfigError(f"{file}: {key}: '{name}' leads nowhere: {error}") from None

    place("server.socket", config.server.socket)  # stays as it is: `server_path` knows what it means
    security = config.security
    return msgspec.structs.replace(
        config,
        voice=msgspec.structs.replace(config.voice, bundle=place("voice.bundle", config.voice.bundle)),
        engine=msgspec.structs.replace(config.engine, plans=place("engine.plans", config.engine.plans)),
        server=msgspec.structs.replace(
            config.server, bundles=[place("server.bundles", name) for name in config.server.bundles]
        ),
        security=msgspec.structs.replace(
            security,
            token_file=place("security.token_file", security.token_file),
            tls_certificate=place("security.tls_certificate", security.tls_certificate),
            tls_key=place("security.tls_key", security.tls_key),
        ),
    )


def parse_config(text: str, name: str) -> Config:
    """Check a configuration's text; `name` is what errors call it. Raises `ConfigError`."""
    try:
        raw = msgspec.toml.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}") from error
    _refuse_unknown(raw, Config, name, "")
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        place = where.strip(".`")
        hint = f"; it may be {', '.join(_words(place))}" if "enum value" in reason else ""
        raise ConfigError(f"{name}: {place or 'the file'}: {reason}{hint}") from error


def _words(place: str) -> list[str]:
    """The words a setting takes, as TOML writes them."""
    type_: Any = Config
    for key in place.split("."):
        [type_] = [field.type for field in msgspec.structs.fields(type_) if field.encode_name == key]
    either = get_args(type_)
    words = ["true", "false"] if bool in either else []
    return words + [f'"{word}"' for one in either for word in get_args(one) or (one,) if isinstance(word, str)]


def _refuse_unknown(raw: Any, part: type[msgspec.Struct], name: str, prefix: str) -> None:
    """Name the first key the tree does not have, with those it has."""
    if not isinstance(raw, dict):
        return
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(part)}
    for key, value in raw.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            place = f"[{prefix.rstrip('.')}]" if prefix else "the file"
            raise ConfigError(f"{name}: unknown key '{prefix}{key}'{hint}; {place} knows: {', '.join(fields)}")
        if isinstance(fields[key], type) and issubclass(fields[key], msgspec.Struct):
            _refuse_unknown(value, fields[key], name, f"{prefix}{key}.")
