"""The limit on open files, which follows the bound on sockets."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from app import open_files
from app.config import ConfigError
from app.reload import reload_services
from tests.daemon_rig import ServedFakeEngine, play, serving, settings

UNLIMITED = resource.RLIM_INFINITY


class Limits:
    """The kernel's, for one process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, *, fixed: bool = False) -> None:
        self.soft, self.hard = soft, hard
        self.fixed = fixed
        monkeypatch.setattr(resource, "getrlimit", lambda _: (self.soft, self.hard))
        monkeypatch.setattr(resource, "setrlimit", self._set)

    def _set(self, _which: int, limits: tuple[int, int]) -> None:
        if self.fixed:
            raise PermissionError("not here")
        self.soft, self.hard = limits


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [
        (1024, 4096, 2544),
        (1024, 2544, 2544),
        (1024, UNLIMITED, 2544),
        (4096, 4096, 4096),
        (UNLIMITED, UNLIMITED, UNLIMITED),
    ],
)
def test_it_is_raised_as_far_as_needed(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, then: int) -> None:
    limits = Limits(monkeypatch, soft, hard)
    open_files.allow_for(settings(limits={"sockets": 2000}))
    assert (limits.soft, limits.hard) == (then, hard)


@pytest.mark.parametrize(("hard", "fixed", "most"), [(2048, False, 2048), (4096, True, 1024)])
def test_what_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch, hard: int, fixed: bool, most: int) -> None:
    limits = Limits(monkeypatch, 1024, hard, fixed=fixed)
    with pytest.raises(ConfigError, match=rf"limits\.sockets is 2000.* needs 2544 open files, and it may have {most}"):
        open_files.allow_for(settings(limits={"sockets": 2000}))
    assert limits.soft == 1024


def test_the_daemon_asks_at_its_start_and_when_it_is_configured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits = Limits(monkeypatch, 100, 2048)

    async def scenario() -> None:
        file = tmp_path / "speakd.toml"
        file.write_text('[server]\nport = 0\nsocket = ""\n[limits]\nsockets = 2000\n')
        async with serving(settings(), ServedFakeEngine()) as daemon:
            assert limits.soft == 800
            with pytest.raises(ConfigError, match=r"limits\.sockets is 2000"):
                await reload_services(daemon.services, file)
            assert daemon.services.config.limits.sockets == 256

    play(scenario())
