"""SIGHUP: the configuration read again while clients are being served.

Purpose: check a new configuration as a whole, open the voices it adds, and put it in place at once; or raise, and
nothing has changed. Voices it no longer names are closed when their last context has ended. Knows: which settings can
change under way. Does not know: signals, systemd.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec

from app import open_files, security
from app.config import Config, ConfigError, load_config
from app.config_check import check
from app.services import Services, bundles_of
from app.threads import in_thread
from app.voices import VoiceModel, VoiceTable
from engines.errors import SpeechError

_FIXED: Final = (
    "engine", "text", "audio", "playback",
    "server.host", "server.port", "server.socket", "server.slots", "server.max_contexts", "server.offload",
    "server.switch_interval_us", "server.build_plans", "limits.message_bytes", "limits.handshake_s",
    "limits.write_buffer_bytes", "security.tls_certificate", "security.tls_key",
)  # fmt: skip
"""Settings that shape what is built once."""
_retiring: Final[set[asyncio.Task[None]]] = set()


async def reload_services(services: Services, file: Path | None) -> list[str]:
    """Put a new configuration in place; gives the settings that need a restart to change. Raises `SpeechError`."""
    old = services.config
    config = await in_thread("reload", lambda: load_config(file))
    check(config)
    open_files.allow_for(config)
    skipped = [name for name in _FIXED if _setting(config, name) != _setting(old, name)]
    config = _keep(config, old)
    guard = _guard_as_it_listens(config)
    table = await _open_table(services, config)
    present = services.voices.models if services.voices else ()
    try:
        if services.tls is not None and not any(name.startswith("security.tls_") for name in skipped):
            security.renew_tls(services.tls, config)  # the last that may fail: what it has taken over stays
    except BaseException:
        for model in table.models:
            if model not in present:
                await model.close()
        raise
    retired = [model for model in present if model not in table.models]
    services.config, services.guard, services.voices = config, guard, table
    services.gate.configure(config)
    for model in retired:
        _retire(model)
    return skipped


async def renew_model(services: Services, bundle: str) -> None:
    """Open a voice's bundle again and let new contexts speak with that; the old one ends with its last context.

    Not while the configuration is being read again. Raises `SpeechError`, and nothing has changed.
    """
    model = await services.open_model(bundle, services.config, services.pools.text)
    table = services.voices
    old = [one for one in table.models if one.path == bundle] if table else []
    if table is None or not old:  # nobody wants it any more
        await model.close()
        return
    models = [model if one in old else one for one in table.models]
    voice = services.config.voice
    try:
        services.voices = VoiceTable(models, voice.speaker, voice.language)
    except SpeechError:  # another bundle has come there meanwhile, with other speakers
        await model.close()
        raise
    for one in old:
        _retire(one)


def _retire(model: VoiceModel) -> None:
    task = asyncio.ensure_future(model.retire())
    _retiring.add(task)
    task.add_done_callback(_retiring.discard)


def _guard_as_it_listens(config: Config) -> security.Guard:
    """The guard of the address that stays open until a restart, whatever the file says of it by now."""
    try:
        return security.open_guard(config)
    except ConfigError as error:
        raise ConfigError(f"{error}; this daemon listens there until it is restarted") from None


async def _open_table(services: Services, config: Config) -> VoiceTable:
    """The voices of a configuration, with the models that are open already."""
    present = {model.path: model for model in services.voices.models} if services.voices else {}
    opened: list[VoiceModel] = []
    models = []
    try:
        for bundle in bundles_of(config):
            if bundle not in present:
                opened.append(await services.open_model(bundle, config, services.pools.text))
            models.append(present[bundle] if bundle in present else opened[-1])
        return VoiceTable(models, config.voice.speaker, config.voice.language)
    except BaseException:
        for model in opened:
            await model.close()
        raise


def _setting(config: Config, name: str) -> Any:
    section, _, key = name.partition(".")
    part = getattr(config, section)
    return getattr(part, key) if key else part


def _keep(config: Config, old: Config) -> Config:
    """The new configuration with the old one's fixed settings."""
    for name in _FIXED:
        section, _, key = name.partition(".")
        part = getattr(old, section)
        if key:
            part = msgspec.structs.replace(getattr(config, section), **{key: getattr(part, key)})
        config = msgspec.structs.replace(config, **{section: part})
    return config
