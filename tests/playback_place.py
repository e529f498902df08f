"""A place where a person calls `speak`: a checkout of the test's own, a daemon, devices that keep what they play.

Purpose: what tests of the daemon's own loudspeaker stand on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.daemon import Daemon
from app.sink import to_pcm16
from tests.audio_world import file_devices, find_in, missing_for_playback
from tests.daemon_rig import ServedFakeEngine, serving, settings
from tests.fake_engine import sine

REPOSITORY = Path(__file__).parent.parent
WHOLE = """import sys
def main():
    with open("{root}/whole", "w") as file:
        print(*sys.argv[1:], sep="\\n", file=file)
    sys.exit(5)
"""


@dataclass
class Place:
    """A checkout of the test's own, whose whole command only notes that it was called."""

    root: Path
    socket: Path

    @property
    def whole(self) -> list[str] | None:
        """The arguments with which the whole command was called, if it was."""
        file = self.root / "whole"
        return file.read_text().splitlines() if file.exists() else None

    def played(self) -> Any:
        return np.fromfile(self.root / "tofile24.raw", "<i2")

    @contextlib.asynccontextmanager
    async def speak(self, *arguments: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
        given: dict[str, Any] = {"stdin": asyncio.subprocess.DEVNULL, **options}
        process = await asyncio.create_subprocess_exec(
            self.root / "scripts/speak", *arguments, stderr=asyncio.subprocess.PIPE, **given
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

    @contextlib.asynccontextmanager
    async def daemon(self, engine: ServedFakeEngine, **sections: Any) -> AsyncIterator[Daemon]:
        bundle, server = str(self.root / "voice"), {"socket": str(self.socket), **sections.pop("server", {})}
        config = settings(voice={"bundle": bundle}, server=server, **sections)
        async with serving(config, engine) as daemon:
            player = daemon.services.loudspeaker.player
            await player._present.wait()
            yield daemon


def make_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place in an empty folder, for this process's children too; skips the test where nothing can be played."""
    if missing := missing_for_playback():
        pytest.skip(missing)
    made = Place(root, root / "speakd.sock")
    for folder in ("scripts", ".venv/bin", "voice", "app"):
        (root / folder).mkdir(parents=True)
    for part in ("engines", *(f"app/{file.name}" for file in (REPOSITORY / "app").glob("*.py"))):
        (root / part).symlink_to(REPOSITORY / part)
    (root / "scripts/speak").write_bytes((REPOSITORY / "scripts/speak").read_bytes())
    (root / "scripts/setup").write_text("#!/bin/sh\n")
    (root / "app/cli.py").unlink()
    (root / "app/cli.py").write_text(WHOLE.format(root=root))
    for script in ("scripts/speak", "scripts/setup"):
        (root / script).chmod(0o755)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / "voice/manifest.json").write_text("{}")
    (root / "config.toml").write_text('[voice]\nbundle = "voice"\n')
    use(file_devices(root), monkeypatch)
    monkeypatch.setenv("SPEAKD_SOCKET", str(made.socket))
    return made


def use(world: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let children live in this world."""
    for name in set(os.environ) - set(world):
        monkeypatch.delenv(name)
    for name, value in world.items():
        monkeypatch.setenv(name, value)


def stretches(samples: Any, silence: int = 2400) -> list[Any]:
    """The pieces of sound between silences of a tenth of a second, or as many samples as said."""
    loud = np.flatnonzero(samples)
    cuts = np.flatnonzero(np.diff(loud) > silence) + 1
    return [samples[piece[0] : piece[-1] + 1] for piece in np.split(loud, cuts) if len(piece)]


def is_sine(samples: Any, frames: int) -> bool:
    """Its first and last sample may be zero, and then not be seen."""
    whole = to_pcm16(sine(frames))
    return len(whole) - len(samples) <= 60 and find_in(whole, samples) is not None
